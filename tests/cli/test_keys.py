"""`agentclip keys`: a stored key is used, goes after the environment's, and is seen nowhere else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.program import agentclip
from tests.fake_model.server import FakeModel, run, text
from tests.ui.pty_session import on_terminal

SECRET = "ac-secret-222"
LOOK = "tr '\\0' '\\n' < /proc/$PPID/environ; env; echo looked"
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def folder() -> Path:
    """Where keys are stored."""
    return Path(os.environ["XDG_STATE_HOME"]) / "agentclip" / "keys"


def keep(name: str, key: str, cwd: Path) -> None:
    done = agentclip("keys", "set", name, cwd=cwd, stdin=f"{key}\n".encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert key.encode() not in done.stdout


def sources(cwd: Path, **env: str) -> dict[str, tuple[str, str]]:
    document = json.loads(agentclip("keys", "list", "--json", cwd=cwd, env=env).stdout)
    return {each["variable"]: (each["source"], each["problem"]) for each in document["keys"]}


def asked(server: FakeModel, cwd: Path, **env: str) -> tuple[int, str]:
    """The status of a turn with a well-known provider whose address is the server's, and what it says."""
    done = agentclip("run", "hi", "--model", "openai/fake-model", cwd=cwd, env={"OPENAI_BASE_URL": server.url, **env})
    return done.returncode, (done.stdout + done.stderr).decode()


def test_a_stored_key_is_used(tmp_path: Path, folder: Path) -> None:
    keep("openai", SECRET, tmp_path)
    with FakeModel([text("done")], key=SECRET) as server:
        assert asked(server, tmp_path) == (0, "done\n")
    assert sources(tmp_path)["OPENAI_API_KEY"] == (str(folder / "OPENAI_API_KEY"), "")


def test_a_key_of_the_environment_goes_before_a_stored_one(tmp_path: Path) -> None:
    keep("OPENAI_API_KEY", "ac-stored", tmp_path)
    with FakeModel([text("done", repeat=True)], key=SECRET) as server:
        assert asked(server, tmp_path, OPENAI_API_KEY=SECRET) == (0, "done\n")
        status, said = asked(server, tmp_path, OPENAI_API_KEY=" ")
    assert status == 78
    assert "refuses the key" in said
    assert "ac-stored" not in said
    assert sources(tmp_path, OPENAI_API_KEY=SECRET)["OPENAI_API_KEY"] == ("environment", "")
    done = agentclip("keys", "set", "openai", cwd=tmp_path, stdin=b"other", env={"OPENAI_API_KEY": SECRET})
    assert b"goes before it" in done.stdout


def test_a_stored_key_that_others_may_read_is_refused(tmp_path: Path, folder: Path) -> None:
    keep("openai", SECRET, tmp_path)
    (folder / "OPENAI_API_KEY").chmod(0o644)
    with FakeModel([text("done")], key=SECRET) as server:
        status, said = asked(server, tmp_path)
        assert server.requests == []
    assert (status, f"chmod 600 {folder / 'OPENAI_API_KEY'}" in said) == (78, True)
    assert "chmod 600" in sources(tmp_path)["OPENAI_API_KEY"][1]


def test_a_removed_key_is_gone(tmp_path: Path, folder: Path) -> None:
    keep("groq", SECRET, tmp_path)
    assert agentclip("keys", "remove", "groq", cwd=tmp_path).returncode == 0
    assert list(folder.iterdir()) == []
    assert sources(tmp_path)["GROQ_API_KEY"] == ("", "")
    again = agentclip("keys", "remove", "groq", cwd=tmp_path)
    assert (again.returncode, b"no key is stored" in again.stderr) == (1, True)


@pytest.mark.parametrize(("name", "said"), [("ollama", b"needs no key"), ("PATH", b"no provider"), ("../x", b"no provider")])
def test_only_what_can_have_a_key_gets_one(tmp_path: Path, folder: Path, name: str, said: bytes) -> None:
    done = agentclip("keys", "set", name, cwd=tmp_path, stdin=SECRET.encode())
    assert (done.returncode, said in done.stderr) == (2, True)
    assert not folder.exists()


def test_the_list_names_providers_and_variables_of_ones_own(tmp_path: Path) -> None:
    keep("CORP_TOKEN", SECRET, tmp_path)
    keep("cerebras", SECRET, tmp_path)
    shown = agentclip("keys", "list", cwd=tmp_path).stdout.decode()
    assert SECRET not in shown
    rows = {line.split()[0]: line.split()[-1] for line in shown.splitlines()}
    assert rows["ANTHROPIC_API_KEY"] == "none"
    assert rows["CORP_TOKEN"].endswith("/keys/CORP_TOKEN")
    assert rows["CEREBRAS_API_KEY"].endswith("/keys/CEREBRAS_API_KEY")
    assert "AZURE_API_KEY" not in rows


@linux
def test_commands_find_no_stored_key_around_them(tmp_path: Path) -> None:
    keep("AGENTCLIP_API_KEY", SECRET, tmp_path)
    for words in (("exec", LOOK), ("exec", "--raw", LOOK)):
        shown = agentclip(*words, cwd=tmp_path).stdout.decode()
        assert "looked" in shown
        assert SECRET not in shown
        assert "AGENTCLIP_API_KEY" not in shown
    with FakeModel([run(LOOK), text("done")], key=SECRET) as server:
        endpoint = ("--api-base", server.url, "--model", "fake-model")
        assert agentclip("run", "look", *endpoint, cwd=tmp_path).stdout == b"done\n"
        assert "looked" in server.last.messages[-1]["content"]
        assert SECRET not in server.last.raw.decode()
    state = Path(os.environ["XDG_STATE_HOME"])
    holding = [file.name for file in state.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]
    assert holding == ["AGENTCLIP_API_KEY"]


def test_a_key_that_is_typed_is_not_shown(folder: Path) -> None:
    with on_terminal("-m", "agentclip", "keys", "set", "xai") as session:
        session.wait_for("XAI_API_KEY (not shown)")
        session.type(f"{SECRET}\r")
        assert session.wait_for_end() == 0
        assert SECRET.encode() not in session.sent
    assert (folder / "XAI_API_KEY").read_text() == f"{SECRET}\n"


def test_nothing_typed_stores_nothing(folder: Path) -> None:
    with on_terminal("-m", "agentclip", "keys", "set", "xai") as session:
        session.wait_for("not shown")
        session.type("\r")
        assert session.wait_for_end() == 2
    assert not folder.exists()
