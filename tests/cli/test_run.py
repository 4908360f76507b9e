"""`agentclip run`, as a person, a script or CI starts it: what stdout gets, exit statuses, expectations, stdin, signals."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cases.program import PATIENCE_S, Home, home
from tests.fake_model.server import FakeModel

OK = {"text": "pong"}


@pytest.fixture
def here(tmp_path: Path) -> Home:
    return home(tmp_path)


def recording(here: Home, *replies: dict[str, Any]) -> str:
    path = here.folder / "recording.jsonl"
    path.write_text("".join(f"{json.dumps(reply)}\n" for reply in replies), encoding="utf-8")
    return f"replay:{path}"


def run(here: Home, model: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    return here.call("run", "hi", "--model", model, *words)


def calls(*commands: str, **more: Any) -> dict[str, Any]:
    return {"calls": [{"command": command} for command in commands], **more}


def document(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one document; its exit code is the program's, and stderr is empty."""
    assert done.stdout.count(b"\n") == 1, done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit_code"] == done.returncode
    assert found["ok"] == (done.returncode == 0)
    assert done.stderr == b""
    return found


def test_the_answer_is_on_stdout_and_nothing_else(here: Home) -> None:
    done = run(here, recording(here, calls("echo noise; echo trouble >&2"), OK))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"pong\n", b"")


def test_json_is_one_document(here: Home) -> None:
    found = document(run(here, recording(here, calls("echo a", "exit 3"), OK), "--json"))
    assert (found["class"], found["text"], found["steps"], found["expectations"]) == ("ok", "pong", 2, [])
    assert [(each["command"], each["exit_code"]) for each in found["commands"]] == [("echo a", 0), ("exit 3", 3)]
    assert found["next"] == f"agentclip --resume {found['session']}"


def test_stream_json_is_one_line_per_event_and_the_result_last(here: Home) -> None:
    done = run(here, recording(here, calls("echo 'a\x1b[31m\u2028b'"), {"text": "pong \u2028 done"}), "--stream-json")
    lines = [json.loads(line) for line in done.stdout.split(b"\n")[:-1]]
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "TurnStarted"
    assert kinds[-2:] == ["TurnFinished", "result"]
    assert {"AssistantReplied", "CommandStarted", "CommandFinished", "TextDelta"} <= set(kinds)
    assert (lines[-1]["ok"], lines[-1]["text"], lines[-1]["exit_code"]) == (True, "pong \u2028 done", 0)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("flag", ["--json", "--stream-json"])
@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("run", "hi"), (78, "MISSING_KEY", "config")),
        (("run", "hi", "--model", "openai/gpt-x"), (78, "MISSING_KEY", "config")),
        (("run", "hi", "--model", "replay:/nowhere"), (78, "CONFIG", "config")),
        (("run",), (2, "USAGE", "invalid")),
        (("run", "hi", "--nope"), (2, "USAGE", "invalid")),
        (("run", " "), (2, "USAGE", "invalid")),
        (("run", "hi", "--max-cost", "0"), (2, "USAGE", "invalid")),
        (("run", "hi", "--model", "replay:demo", "--resume", "nope"), (2, "SESSION_NOT_FOUND", "invalid")),
    ],
)
def test_what_never_began_is_one_document_too(
    here: Home, flag: str, words: tuple[str, ...], error: tuple[int, str, str]
) -> None:
    done = here.call(*words, flag)
    found = document(done)
    assert (done.returncode, found["error"]["code"], found["class"]) == error
    assert found["error"]["hint"]
    assert found.get("type") == ("result" if flag == "--stream-json" else None)


def test_usage_errors_are_quick_and_for_people_too(here: Home) -> None:
    began = time.monotonic()
    for words in (("run",), ("run", "--nope"), ("-p",)):
        done = here.call(*words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"Usage: agentclip run" in done.stderr
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    ("reply", "words", "error"),
    [
        (calls("echo 1"), ("--max-steps", "1"), (3, "limit", "BUDGET")),
        (calls("echo 1", usage={"input_tokens": 50, "output_tokens": 50}), ("--max-tokens", "100"), (3, "limit", "BUDGET")),
        (
            calls("echo 1", usage={"input_tokens": 5, "output_tokens": 5, "cost_usd": 0.2}),
            ("--max-cost", "0.1"),
            (3, "limit", "BUDGET"),
        ),
        (calls("sleep 1000"), ("--max-time", "1"), (3, "limit", "BUDGET")),
        ({"error": {"code": "BAD_KEY", "message": "no"}}, (), (78, "config", "BAD_KEY")),
        ({"error": {"code": "CONTEXT_TOO_LONG", "message": "no"}}, (), (2, "invalid", "CONTEXT_TOO_LONG")),
        ({"error": {"code": "RATE_LIMIT", "message": "no", "retry_after_s": 3600}}, (), (75, "retry", "RATE_LIMIT")),
    ],
)
def test_each_end_has_its_class(here: Home, reply: dict[str, Any], words: tuple[str, ...], error: tuple[int, str, str]) -> None:
    done = run(here, recording(here, reply, OK), "--json", *words)
    found = document(done)
    assert (done.returncode, found["class"], found["error"]["code"]) == error
    assert found["error"]["retryable"] == (done.returncode == 75)
    assert found["next"]


def test_a_limit_says_to_a_person_how_to_go_on(here: Home) -> None:
    done = run(here, recording(here, calls("echo 1"), OK), "--max-steps", "1")
    assert done.returncode == 3
    assert b"1 step done, the limit of a turn (--max-steps, agent.max_steps)" in done.stderr
    assert b"Go on with: agentclip --resume " in done.stderr


def test_limits_can_be_configured(here: Home) -> None:
    config = here.folder / "config" / "agentclip" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[agent]\nmax_steps = 1\nmax_cost_usd = 5\n")
    assert run(here, recording(here, calls("echo 1"), OK)).returncode == 3
    assert b"agent.max_cost_usd = 5.0" in here.call("config", "show").stdout


def test_expected_files_must_be_made_or_changed_by_the_task(here: Home) -> None:
    for name in ("old", "kept"):
        (here.work / name).write_text("before")
    model = recording(here, calls("echo made > new; echo more >> old; mkdir folder; ln -s nowhere dangling"), OK)
    found = document(run(here, model, "--json", "--expect-file", "new", "--expect-file", "old"))
    assert [(each["value"], each["met"], each["detail"]) for each in found["expectations"]] == [
        ("new", True, "created"),
        ("old", True, "modified"),
    ]
    for name in ("kept", "none", "folder", "dangling"):
        done = run(here, recording(here, OK), "--json", "--expect-file", name)
        found = document(done)
        assert (done.returncode, found["class"], found["error"]["code"], found["text"]) == (
            1,
            "finding",
            "EXPECTATION_FAILED",
            "pong",
        )


def test_expected_lines_must_exit_0_where_the_program_was_started(here: Home) -> None:
    model = recording(here, calls("mkdir sub; cd sub; touch ../made; export X=1"), OK)
    good = ("--expect-cmd", "test -f made", "--expect-cmd", "ls | grep -c made", "--expect-cmd", 'test -z "$X"')
    assert [each["met"] for each in document(run(here, model, "--json", *good))["expectations"]] == [True] * 3
    done = run(here, recording(here, OK), "--json", "--expect-cmd", "echo seen; exit 7", "--expect-cmd", "true")
    found = document(done)
    assert (done.returncode, found["error"]["code"]) == (1, "EXPECTATION_FAILED")
    assert [each["met"] for each in found["expectations"]] == [False, True]
    assert "seen\n" in found["expectations"][0]["detail"]
    assert "echo seen; exit 7: [exit:7 | " in found["error"]["message"]


def test_what_is_expected_is_not_looked_at_after_a_failure(here: Home) -> None:
    done = run(here, recording(here, calls("echo 1"), OK), "--json", "--max-steps", "1", "--expect-cmd", "touch ran")
    assert document(done)["error"]["code"] == "BUDGET"
    assert not (here.work / "ran").exists()


def test_an_unmet_expectation_is_told_to_a_person(here: Home) -> None:
    done = run(here, recording(here, OK), "--expect-file", "none")
    assert (done.returncode, done.stdout) == (1, b"pong\n")
    assert b"not as expected: none: it does not exist" in done.stderr


def interrupted(here: Home, model: str, *words: str, wait_for: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Started, and interrupted once the file is there, or the session is."""
    with here.start("run", "hi", "--model", model, *words) as process:
        end = time.monotonic() + PATIENCE_S
        sessions = here.state / "sessions"
        while not (wait_for.exists() if wait_for else sessions.exists() and list(sessions.glob("*/events.jsonl"))):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    return subprocess.CompletedProcess((), process.returncode, out, err)


def test_one_interrupt_ends_a_silent_model_with_a_document(here: Home) -> None:
    done = interrupted(here, recording(here, {"hang": True}), "--json")
    found = document(done)
    assert (done.returncode, found["class"], found["error"]["code"]) == (130, "signal", "CANCELLED")


SLOW_IMPORT = """
import os, sys, time
open(os.environ["LOADING"], "w").close()
while not os.path.exists(os.environ["GO_ON"]):
    time.sleep(0.01)
sys.path.remove(os.path.dirname(__file__))
del sys.modules["difflib"]
import difflib
"""


@pytest.mark.parametrize("key", [{}, {"AGENTCLIP_API_KEY": "k"}], ids=["no key", "a key, so the process is replaced"])
def test_an_interrupt_while_the_program_is_being_loaded_has_a_document_too(here: Home, key: dict[str, str]) -> None:
    loading, go_on, slow = here.folder / "loading", here.folder / "go-on", here.folder / "slow"
    slow.mkdir()
    (slow / "difflib.py").write_text(SLOW_IMPORT)
    env = {"PYTHONPATH": str(slow), "LOADING": str(loading), "GO_ON": str(go_on), **key}
    with here.start("run", "hi", "--model", recording(here, OK), "--json", env=env) as process:
        end = time.monotonic() + PATIENCE_S
        while not loading.exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        go_on.touch()
        out, err = process.communicate(timeout=PATIENCE_S)
    found = document(subprocess.CompletedProcess((), process.returncode, out, err))
    assert (process.returncode, found["error"]["code"]) == (130, "CANCELLED")


def test_an_interrupt_keeps_what_a_command_printed(here: Home) -> None:
    model = recording(here, calls("echo begun; touch there; exec sleep 1000"), OK)
    found = document(interrupted(here, model, "--json", wait_for=here.work / "there"))
    assert Path(found["commands"][0]["spool"]).read_text() == "begun\n"


def test_a_second_interrupt_kills_what_will_not_go(here: Home) -> None:
    model = recording(here, calls("trap '' INT TERM; touch there; while :; do sleep 0.05; done"), OK)
    with here.start("run", "hi", "--model", model, "--json") as process:
        end = time.monotonic() + PATIENCE_S
        while not (here.work / "there").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - began < 5
    assert json.loads(out)["exit_code"] == process.returncode == 130


def test_an_interrupt_during_an_expected_line_is_a_cancel(here: Home) -> None:
    model = recording(here, OK)
    done = interrupted(here, model, "--json", "--expect-cmd", "touch there; exec sleep 1000", wait_for=here.work / "there")
    found = document(done)
    assert (done.returncode, found["error"]["code"]) == (130, "CANCELLED")


def test_b67_a_pipe_that_nobody_writes_to_is_not_waited_for(here: Home) -> None:
    with subprocess.Popen(["sleep", "1000"], stdout=subprocess.PIPE) as silent:
        assert silent.stdout is not None
        began = time.monotonic()
        with here.start("-p", "hi", "--model", recording(here, OK), stdin=silent.stdout.fileno()) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        silent.kill()
    assert (process.returncode, out) == (0, b"pong\n")
    assert b"stdin is open but nothing more came: nothing of it is used" in err
    assert time.monotonic() - began < 10


def test_b67_piped_text_is_used_and_none_is_fine(here: Home) -> None:
    model = recording(here, OK)
    assert here.call("-p", "hi", "--model", model).stdout == b"pong\n"
    for data, prompt in (
        (b"the text\n", "hi\n\n<stdin>\nthe text\n</stdin>"),
        (b" \n", "hi"),
        (b"\xff\0x", "hi\n\n<stdin>\n�"),
    ):
        with here.start("-p", "hi", "--model", model, "--stream-json", stdin=subprocess.PIPE) as process:
            out, _ = process.communicate(data, timeout=PATIENCE_S)
        first = json.loads(out.split(b"\n")[0])
        assert first["message"]["text"].startswith(prompt)
        assert json.loads(out.split(b"\n")[-2])["ok"]


def test_b67_without_a_key_it_fails_at_once_on_stderr(here: Home) -> None:
    began = time.monotonic()
    done = here.call("-p", "hi")
    assert (done.returncode, done.stdout) == (78, b"")
    assert b"No model is configured." in done.stderr
    assert time.monotonic() - began < 5


def test_twenty_commands_run_against_a_server_that_refuses_any_wrong_history(here: Home) -> None:
    def reply(body: dict[str, Any]) -> dict[str, Any]:
        done = sum(message["role"] == "tool" for message in body["messages"])
        if "tools" not in body:  # somebody asks whether there is progress
            return {"text": "yes"}
        return calls(f"echo out-{done}") if done < 20 else {"text": "All twenty."}

    with FakeModel(reply) as server:
        done = here.call("run", "hi", "--api-base", server.url, "--model", "fake-1", "--json")
        found = document(done)
        assert (found["text"], found["steps"], len(found["commands"])) == ("All twenty.", 21, 20)
        assert server.violations == []
