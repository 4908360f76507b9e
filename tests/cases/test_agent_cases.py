"""Cases of the loop, the provider and the session (B41-B50, B55-B60, B67), through the whole program.

Each ends with INV: the next prompt is accepted by the strict server and answered, in a new process that resumes the session.
What is tested closer to its cause is not repeated here:

| case | where its variants are |
|---|---|
| B41, B42 | tests/agent/test_broken_calls.py: BROKEN, 25 forms of arguments, each also through the loop |
| B43, B44, B47 | tests/agent/test_broken_calls.py: encoded twice, unknown tools, calls as text and talk about them |
| B45 | tests/model/test_openai.py: test_two_streamed_calls_stay_two; tests/model/test_assemble.py |
| B46 | tests/agent/test_failures.py: cut in four ways, always cut, text before the cut |
| B48, B49 | tests/agent/test_cancel.py: before the first token, white text, in a run, between calls, at any moment |
| B49, second part | tests/model/test_wire.py: test_a_call_without_text_has_content_null_and_reasoning_is_never_sent |
| B50 | tests/agent/test_failures.py: waits as long as asked, too long; tests/agent/test_cancel.py: test_in_a_retry_wait |
| B55 | tests/model/test_openai.py: four refusals of pictures, one that is about this picture only |
| B56 | tests/store/test_session.py: files that were readable by others before |
| B57 | tests/store/test_session.py: the lock, and a child of a dead holder that still has it |
| B58 | tests/store/test_session.py: every cut of the last line |
| B59 | tests/cli/test_sessions.py: the directory is missing, or only the last one |
| B60 | tests/agent/test_resume.py: 75 named points of a session |
| B67 | tests/cli/test_run.py: silent pipe, piped text, nothing, no key |
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentclip.events import TurnStarted
from agentclip.store.log import read_log
from tests.cases.program import AGENTCLIP, PATIENCE_S, Home, home
from tests.commands.pictures import png
from tests.fake_model.script import ScriptItem, call, run, text
from tests.fake_model.server import FakeModel


@pytest.fixture
def here(tmp_path: Path) -> Home:
    return home(tmp_path)


@pytest.fixture
def server() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        yield fake


def words(server: FakeModel, *more: str) -> tuple[str, ...]:
    return ("--api-base", server.url, "--model", "fake-model", "--json", *more)


def task(here: Home, server: FakeModel, prompt: str, script: list[ScriptItem], *more: str) -> dict[str, Any]:
    """One turn in a process of its own; its document."""
    server.script[:] = script
    done = here.call("run", prompt, *words(server, *more))
    assert done.stderr == b"", done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit_code"] == done.returncode
    return found


def begun(here: Home, server: FakeModel, script: list[ScriptItem], *more: str) -> subprocess.Popen[bytes]:
    """A turn that goes on in the background."""
    server.script[:] = script
    return here.start("run", "go", *words(server, *more))


def still_works(here: Home, server: FakeModel, session: str) -> None:
    """INV."""
    for answer in ("pong", "pong again"):
        found = task(here, server, "ping", [text(answer)], "--resume", session)
        assert (found["ok"], found["text"]) == (True, answer)
    assert server.violations == []


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def session_of(here: Home) -> Path:
    (folder,) = (here.state / "sessions").iterdir()
    return folder


def answers(server: FakeModel) -> list[str]:
    return [message["content"] for message in server.last.messages if message["role"] == "tool"]


def roles(server: FakeModel) -> list[str]:
    return [message["role"] for message in server.last.messages]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([call('{"command": "touch ac_ran')], "not valid JSON"),
        ([call("x" * 50_000)], "not valid JSON"),
        ([call(arguments) for arguments in ("null", "[]", '"touch ac_ran"', "3", '{"command":null}')], "`command` is null"),
        ([call('{"command":"touch ac_ran"}', name=name) for name in ("bash", "a b", "x" * 300, "工具")], "unknown tool"),
    ],
    ids=["b41_cut", "b41_rubbish", "b42_no_object", "b44_unknown_tool"],
)
def test_b41_b42_b44_a_broken_call_is_answered_and_nothing_runs(
    here: Home, server: FakeModel, script: list[ScriptItem], told: str
) -> None:
    found = task(here, server, "go", [*script, text("ok")])
    assert (found["ok"], found["text"], found["commands"]) == (True, "ok", [])
    assert len(answers(server)) == len(script)
    assert told in answers(server)[-1]
    assert all(len(answer) < 1000 for answer in answers(server))
    assert os.listdir(here.work) == []
    still_works(here, server, found["session"])


def test_b43_arguments_encoded_twice_run_once(here: Home, server: FakeModel) -> None:
    found = task(here, server, "go", [call(json.dumps('{"command": "echo hi | tee -a ran"}')), text("ok")])
    assert [each["command"] for each in found["commands"]] == ["echo hi | tee -a ran"]
    assert (here.work / "ran").read_text() == "hi\n"
    still_works(here, server, found["session"])


def test_b45_two_calls_with_one_index_stay_two(here: Home, server: FakeModel) -> None:
    parts = [
        {
            "index": 0,
            "id": name,
            "type": "function",
            "function": {"name": "run", "arguments": f'{{"command":"echo {name.upper()}"}}'},
        }
        for name in ("a", "b")
    ]
    chunks = [{"tool_calls": [part]} for part in parts]
    found = task(here, server, "go", [{"chunks": chunks, "finish": "tool_calls"}, text("ok")])
    sent = [
        (message["tool_call_id"], message["content"].split("\n")[0])
        for message in server.last.messages
        if message["role"] == "tool"
    ]
    assert sent == [("a", "A"), ("b", "B")]
    still_works(here, server, found["session"])


@pytest.mark.parametrize("how", [True, "reset"])
def test_b46_half_a_command_never_runs(here: Home, server: FakeModel, how: object) -> None:
    (here.work / "keep").mkdir()
    chunk = {
        "index": 0,
        "id": "a",
        "type": "function",
        "function": {"name": "run", "arguments": '{"command":"touch half && rm -rf keep'},
    }
    found = task(
        here, server, "go", [{"chunks": [{"tool_calls": [chunk]}], "finish": None, "done": False, "cut": how}, text("ok")]
    )
    assert (found["text"], found["commands"]) == ("ok", [])
    assert os.listdir(here.work) == ["keep"]
    still_works(here, server, found["session"])


def test_b47_a_call_as_text_is_asked_for_twice_at_most_and_never_run(here: Home, server: FakeModel) -> None:
    markup = text('<tool_call>{"name":"run","arguments":{"command":"touch ac_txt"}}</tool_call>')
    found = task(here, server, "go", [markup, markup, markup])
    assert (len(server.requests), found["commands"]) == (3, [])
    fenced = f"Such a call looks like this:\n```\n{markup['text']}\n```\nThat is all."
    found = task(here, server, "explain", [text(fenced)], "--resume", found["session"])
    assert (len(server.requests), found["text"]) == (4, fenced)
    assert os.listdir(here.work) == []
    still_works(here, server, found["session"])


def test_b48_a_cancel_during_a_command_answers_every_call(here: Home, server: FakeModel) -> None:
    with begun(here, server, [run("echo begun; touch there; sleep 60", "echo second")]) as process:
        until((here.work / "there").exists)
        process.send_signal(signal.SIGINT)
        found = json.loads(process.communicate(timeout=PATIENCE_S)[0])
    assert (found["exit_code"], found["error"]["code"]) == (130, "CANCELLED")
    task(here, server, "hi", [text("ok")], "--resume", found["session"])
    assert roles(server) == ["system", "user", "assistant", "tool", "tool", "user"]
    first, second = answers(server)
    assert first.startswith("begun\n")
    assert "cancelled" in first
    assert second.startswith("[cancelled: not run]")
    still_works(here, server, found["session"])


@pytest.mark.parametrize("white", [None, "\n\n"], ids=["nothing", "white"])
def test_b49_a_cancel_before_the_first_word_leaves_no_message(here: Home, server: FakeModel, white: str | None) -> None:
    reply = {"hang": "start"} if white is None else {"chunks": [{"content": white}], "hang": True}
    with begun(here, server, [reply]) as process:
        until(lambda: server.requests)
        time.sleep(0.2)  # what is white has been read or not: both must do
        process.send_signal(signal.SIGINT)
        found = json.loads(process.communicate(timeout=PATIENCE_S)[0])
    assert found["exit_code"] == 130
    task(here, server, "hi", [run("true"), text("ok")], "--resume", found["session"])
    assert roles(server) == ["system", "user", "assistant", "tool"]
    assert server.last.messages[2].get("content") is None
    still_works(here, server, found["session"])


def test_b50_429_is_waited_out_and_the_prompt_is_in_the_history_once(here: Home, server: FakeModel) -> None:
    limit: dict[str, Any] = {"status": 429, "headers": {"Retry-After": "1"}, "body": {"error": {"message": "slow down"}}}
    began = time.monotonic()
    found = task(here, server, "only once", [limit, limit, text("ok")])
    assert time.monotonic() - began > 2
    assert found["text"] == "ok"
    assert [message["content"] for message in server.last.messages if message["role"] == "user"] == ["only once"]
    still_works(here, server, found["session"])


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "No endpoints found that support image input"), (400, "ac-model is not a multimodal model")],
)
def test_b55_a_model_of_text_only_gets_a_note_instead_of_the_picture(
    here: Home, server: FakeModel, status: int, message: str
) -> None:
    (here.work / "small.jpg").write_bytes(png(4, 3))

    def no_pictures(body: dict[str, Any]) -> dict[str, Any]:
        if "image_url" in json.dumps(body["messages"]):
            return {"status": status, "body": {"error": {"message": message}}}
        return text("I cannot see it")

    found = task(here, server, "look", [run("see small.jpg"), no_pictures, no_pictures])
    assert (found["ok"], found["text"], len(server.requests)) == (True, "I cannot see it", 3)
    assert "[picture small.jpg (4x3) left out" in json.dumps(server.last.messages)
    found = task(here, server, "again", [no_pictures, no_pictures], "--resume", found["session"])
    assert found["text"] == "I cannot see it"
    found = task(here, server, "now with a model that sees", [text("a picture")], "--resume", found["session"])
    assert "image_url" in json.dumps(server.last.messages)
    assert server.violations == []


def test_b56_nothing_in_the_state_folder_is_readable_by_others(here: Home, server: FakeModel) -> None:
    (here.work / "p.png").write_bytes(png(4, 3))
    before = os.umask(0o002)
    try:
        found = task(
            here,
            server,
            "go",
            [run("seq 100000; echo trouble >&2", "see p.png", "cd /; export A=1", "head -c 9000 /dev/urandom"), text("ok")],
        )
        task(here, server, "on", [run("for f in 1; do see p.png; done"), text("ok")], "--resume", found["session"])
        assert here.call("sessions", "fork", found["session"]).returncode == 0
        assert here.call("exec", "seq 5000").returncode == 0
    finally:
        os.umask(before)
    files = [here.state, *here.state.rglob("*")]
    assert len([path for path in files if path.is_file()]) > 10
    wide = [path for path in files if not path.is_symlink() and path.stat().st_mode & 0o077]
    assert wide == []


def test_b57_a_second_program_is_refused_with_the_pid_until_the_first_is_dead(here: Home, server: FakeModel) -> None:
    with begun(here, server, [{"hang": "start"}]) as first:
        until(lambda: server.requests)
        session = session_of(here)
        before = (session / "events.jsonl").read_bytes()
        found = task(here, server, "me too", [], "--resume", session.name)
        assert (found["exit_code"], found["error"]["code"]) == (69, "SESSION_BUSY")
        assert f"(pid {first.pid})" in found["error"]["message"]
        assert (session / "events.jsonl").read_bytes() == before
        first.kill()
        first.communicate()
    still_works(here, server, session.name)


def test_b58_a_torn_last_line_costs_that_line_only(here: Home, server: FakeModel) -> None:
    found = task(here, server, "one", [text("1")])
    for prompt in ("two", "three"):
        task(here, server, prompt, [text(prompt)], "--resume", found["session"])
    log = session_of(here) / "events.jsonl"
    whole = log.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in (1, 2, last // 2, last - 1, last):
        log.write_bytes(whole[:-cut])
        server.script[:] = [text("ok")]
        done = here.call("run", "after-cut", "--resume", found["session"], "--api-base", server.url, "--model", "fake-model")
        assert (done.returncode, done.stdout) == (0, b"ok\n")
        assert done.stderr.count(b"the last line of the session") == (0 if cut == last else 1)
        content = read_log(log)
        prompts = [r.event.message.text for r in content.events if isinstance(r.event, TurnStarted)]
        assert (content.skipped, content.torn, prompts) == (0, b"", ["one", "two", "three", "after-cut"])
        user = [message["content"] for message in server.last.messages if message["role"] == "user"]
        assert user == ["one", "two", "three", "after-cut"]
    assert server.violations == []


def test_b59_a_session_goes_on_in_its_own_directory(here: Home, server: FakeModel, tmp_path: Path) -> None:
    other = tmp_path / "ac_b"
    other.mkdir()
    in_a = task(here, server, "in a", [text("a")])["session"]
    server.script[:] = [text("b")]
    with subprocess.Popen(
        [str(AGENTCLIP), "run", "in b", *words(server)],
        cwd=other,
        env=dict(here.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        in_b = json.loads(process.communicate(timeout=PATIENCE_S)[0])["session"]
    assert task(here, server, "newest here", [text("ok")], "--continue")["session"] == in_a
    task(here, server, "where", [run("pwd"), text("ok")], "--resume", in_b)
    assert answers(server)[-1].startswith(f"{other}\n")
    shutil.move(other, tmp_path / "renamed")
    found = task(here, server, "where", [run("touch ran"), text("ok")], "--resume", in_b)
    assert found["exit_code"] == 2
    assert f"is gone: {other}" in found["error"]["message"]
    assert os.listdir(here.work) == []


def test_b60_killed_during_a_command_it_goes_on_without_running_it_again(here: Home, server: FakeModel) -> None:
    with begun(here, server, [run("echo $$ >> pids; echo begun; exec sleep 60")]) as process:
        pids = here.work / "pids"
        until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        process.kill()
        process.communicate()
    os.kill(int(pids.read_text()), signal.SIGKILL)
    session = session_of(here).name
    task(here, server, "go on", [text("ok")], "--resume", session)
    assert roles(server) == ["system", "user", "assistant", "tool", "user"]
    assert "interrupted" in answers(server)[0]
    assert len(pids.read_text().split()) == 1
    still_works(here, server, session)
