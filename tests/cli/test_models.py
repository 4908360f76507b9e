"""Providers as a person uses them: `models`, `run` with keys, key files, a model without tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_model.server import FakeModel, run, text

SECRET = "ac-secret-222"


def agentclip(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentclip", *words]
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_the_models_of_an_endpoint_are_listed(tmp_path: Path) -> None:
    with FakeModel(models=["small", "large"], windows={"large": 131072}) as server:
        done = agentclip("models", "--api-base", server.url, cwd=tmp_path)
        assert done.stdout.splitlines()[0] == "small"
        assert done.stdout.splitlines()[1].split() == ["large", "131,072", "tokens"]
        document = json.loads(agentclip("models", "--json", "--api-base", server.url, cwd=tmp_path).stdout)
    assert document["models"][1] == {"name": "large", "context_window": 131072, "images": None}


def test_without_an_endpoint_the_list_says_what_was_looked_for(tmp_path: Path) -> None:
    done = agentclip("models", cwd=tmp_path)
    assert done.returncode == 78
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_an_endpoint_that_is_away_is_one_clear_line(tmp_path: Path) -> None:
    with FakeModel() as server:
        url = server.url
    done = agentclip("models", "--api-base", url, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (69, "")
    assert "refuses the connection" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_command_of_the_model_finds_no_key_anywhere(tmp_path: Path) -> None:
    look = "tr '\\0' '\\n' < /proc/$PPID/environ; env; echo looked"
    with FakeModel([run(look), text("done")], key=SECRET) as server:
        done = agentclip(
            "run", "look", "--api-base", server.url, "--model", "fake-model", cwd=tmp_path, AGENTCLIP_API_KEY=SECRET
        )
        assert (done.returncode, done.stdout) == (0, "done\n")
        shown = server.last.messages[-1]["content"]
    assert "looked" in shown
    assert SECRET not in server.last.raw.decode()
    state = Path(os.environ["XDG_STATE_HOME"])
    assert [file for file in state.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()] == []


def test_a_key_file_is_used_only_when_nobody_else_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o640)
    with FakeModel([text("done")], key=SECRET) as server:
        words = ("run", "hi", "--api-base", server.url, "--model", "fake-model")
        refused = agentclip(*words, cwd=tmp_path, AGENTCLIP_API_KEY_FILE=str(file))
        assert refused.returncode == 78
        assert "open to others (mode 640)" in refused.stderr
        assert f"chmod 600 {file}" in refused.stderr
        assert server.requests == []
        file.chmod(0o600)
        assert agentclip(*words, cwd=tmp_path, AGENTCLIP_API_KEY_FILE=str(file)).stdout == "done\n"
        assert agentclip(*words, cwd=tmp_path, AGENTCLIP_API_KEY_FILE=str(tmp_path / "none")).returncode == 78


def test_a_model_without_tool_calling_runs_commands_by_blocks(tmp_path: Path) -> None:
    answers = [
        text("Counting.\n```run\nprintf 'a\\nb\\n' | wc -l\n```"),
        text("```run\ntouch x\n```\n```run\ntouch y\n```"),
        text("Two."),
    ]
    with FakeModel(answers) as server:
        words = ("run", "count", "--json", "--api-base", server.url, "--model", "small")
        done = agentclip(*words, cwd=tmp_path, AGENTCLIP_TOOL_PROTOCOL="text")
        document = json.loads(done.stdout)
        assert (document["text"], [entry["command"] for entry in document["commands"]]) == (
            "Two.",
            ["printf 'a\\nb\\n' | wc -l"],
        )
        assert server.violations == []
        assert not any("tools" in request.body for request in server.requests)
        assert server.requests[1].messages[-1]["content"].startswith("2\n[exit:0 | ")
        assert "several run blocks in one message, none was run" in server.requests[2].messages[-1]["content"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("AGENTCLIP_PROVIDER", "magic", "`model.provider` is 'magic'"),
        ("AGENTCLIP_TOOL_PROTOCOL", "xml", "`model.tool_protocol` is 'xml'"),
        ("AGENTCLIP_PRICES", "input=2", "`model.prices` needs"),
        ("AGENTCLIP_PRICES", "input=-1,output=3", "`model.prices` holds 'input=-1'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_is_sent(
    tmp_path: Path, variable: str, value: str, said: str
) -> None:
    done = agentclip("run", "hi", "--api-base", "http://127.0.0.1:9/v1", cwd=tmp_path, **{variable: value})
    assert done.returncode == 78
    assert said in done.stderr


def test_configured_prices_give_the_cost(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    with FakeModel([text("a", usage=usage)]) as server:
        words = ("run", "hi", "--json", "--api-base", server.url, "--model", "m")
        done = agentclip(*words, cwd=tmp_path, AGENTCLIP_PRICES="input=3, output=15, cached=0.3")
    assert json.loads(done.stdout)["usage"]["cost_usd"] == pytest.approx(0.00342)


def test_litellm_serves_a_whole_run_and_prints_nothing(tmp_path: Path) -> None:
    with FakeModel([run("echo hi"), text("done")], key=SECRET) as server:
        words = ("run", "hi", "--provider", "litellm", "--api-base", server.url, "--model", "anthropic/fake-model")
        done = agentclip(*words, cwd=tmp_path, AGENTCLIP_API_KEY=SECRET)
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
        assert [request.path for request in server.requests] == ["/v1/messages"] * 2
        assert server.violations == []
