"""The program in a real terminal against the strict server, as a person uses it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.terminal import Terminal, needs_tmux
from tests.fake_model.server import FakeModel, run, text
from tests.shell.runs import marked, wait_until

pytestmark = needs_tmux


def chat(server: FakeModel, *more: str) -> list[str]:
    return ["--api-base", server.url, "--model", "fake-1", *more]


def session_folder() -> Path:
    (folder,) = (Path(os.environ["XDG_STATE_HOME"]) / "agentclip" / "sessions").iterdir()
    return folder


def test_a_turn_of_twenty_commands_runs_and_both_layers_are_seen(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> dict[str, Any]:
        number = 1 + sum(message["role"] == "tool" for message in body["messages"])
        if "tools" not in body:  # somebody asks whether there is progress
            return text("yes")
        return run(f"echo out-{number}; echo err-{number} >&2") if number <= 20 else text("All twenty are done.")

    with FakeModel(reply) as server, Terminal(chat(server), cwd=tmp_path) as terminal:
        terminal.wait_for("type here")
        terminal.type("do twenty things")
        screen = terminal.wait_for("All twenty are done.")
        assert "Layer 1" in screen
        assert "out-20" in screen
        assert "[stderr] err-20" in screen
        assert "[exit:0 |" in screen
        assert "no sandbox" in screen
        assert server.violations == []
        assert sum("tools" in request.body for request in server.requests) == 21


def test_esc_during_a_command_leaves_nothing_alive_and_the_next_prompt_is_taken(tmp_path: Path) -> None:
    mark = f"ac_esc_{os.getpid()}"
    line = f"touch begun; bash -c 'exec -a {mark} sleep 100' & bash -c 'exec -a {mark} sleep 100'; wait"
    with FakeModel([run(line), text("Going on.")]) as server, Terminal(chat(server), cwd=tmp_path) as terminal:
        terminal.wait_for("type here")
        terminal.type("sleep")
        wait_until(lambda: len(marked(mark)) == 2)
        terminal.keys("Escape")
        terminal.wait_for("cancelled")
        wait_until(lambda: not marked(mark))
        terminal.type("hi")
        terminal.wait_for("Going on.")
        assert server.violations == []
        answer = server.requests[-1].body["messages"][-2]
        assert answer["role"] == "tool"
        assert "cancelled]" in answer["content"]


@pytest.mark.parametrize("press", ["F8", "Tab Enter"])
def test_the_cancel_button_has_more_than_one_way(tmp_path: Path, press: str) -> None:
    with (
        FakeModel([run("touch begun; sleep 100"), text("Going on.")]) as server,
        Terminal(chat(server), cwd=tmp_path) as terminal,
    ):
        terminal.wait_for("type here")
        terminal.type("sleep")
        wait_until((tmp_path / "begun").exists)
        for key in press.split():
            terminal.keys(key)
        terminal.wait_for("cancelled")


def test_a_kill_in_the_middle_loses_nothing_and_the_session_goes_on(tmp_path: Path) -> None:
    script = [
        run("echo first-output"),
        text("First is done."),
        run("echo half-output; touch begun; sleep 100"),
        text("Going on."),
    ]
    with FakeModel(script) as server:
        with Terminal(chat(server), cwd=tmp_path) as terminal:
            terminal.wait_for("type here")
            terminal.type("one")
            terminal.wait_for("First is done.")
            terminal.type("two")
            wait_until((tmp_path / "begun").exists)
            terminal.wait_for("half-output")
            os.kill(terminal.pid, signal.SIGKILL)
            terminal.wait_for("[ended ")
        with Terminal(chat(server, "--resume", session_folder().name[:9]), cwd=tmp_path) as terminal:
            screen = terminal.wait_for("half-output")
            for expected in ("> one", "First is done.", "> two", "interrupted"):
                assert expected in screen
            terminal.keys("M-Up")
            screen = terminal.wait_for("first-output")
            terminal.type("go on")
            terminal.wait_for("Going on.")
        assert server.violations == []
        assert "interrupted" in json.dumps(server.requests[-1].body["messages"])
        assert len(server.requests) == 4
    kill_left_behind("sleep 100", tmp_path)


def kill_left_behind(command: str, cwd: Path) -> None:
    """End what the killed program left: only in this test's folder."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            argv = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").strip()
            if argv == command.encode() and os.readlink(f"/proc/{name}/cwd") == str(cwd):
                os.kill(int(name), signal.SIGKILL)


def test_a_terminal_that_is_too_small_says_so_and_recovers(tmp_path: Path) -> None:
    with FakeModel([text("hello")]) as server, Terminal(chat(server), cwd=tmp_path, size=(20, 5)) as terminal:
        terminal.wait_for("too small")
        terminal.resize(100, 30)
        terminal.wait_for("type here")
        terminal.resize(80, 24)
        terminal.type("hi")
        terminal.wait_for("hello")


def test_without_a_key_the_first_screen_says_what_was_looked_for_and_lines_run(tmp_path: Path) -> None:
    with Terminal([], cwd=tmp_path) as terminal:
        terminal.wait_for("needs a key: OPENAI_API_KEY")
        terminal.keys("Escape")
        screen = terminal.wait_for("agentclip demo")
        assert "OPENAI_API_KEY" in screen
        terminal.type("!echo $((6*7)) | cat")
        terminal.wait_for("42")
        terminal.type("hello")
        terminal.wait_for("no model is configured")
        terminal.keys("C-d")
        terminal.wait_for("agentclip --resume ")


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ({"status": 401, "body": {"error": {"message": "bad key"}}}, "key"),
        ({"status": 404, "body": {"error": {"message": "no such model"}}}, "model"),
        ({"status": 500, "headers": {"Retry-After": "0"}, "body": "oops", "repeat": True}, "500"),
        ({"text": "half an ans", "cut": True, "repeat": True}, "connection lost"),
    ],
)
def test_a_failing_provider_is_one_line_and_the_prompt_stays_usable(
    tmp_path: Path, reply: dict[str, object], shown: str
) -> None:
    with FakeModel([reply]) as server, Terminal(chat(server), cwd=tmp_path) as terminal:
        terminal.wait_for("type here")
        terminal.type("hi")
        screen = terminal.wait_for(shown)
        assert "Traceback" not in screen
        terminal.type("!echo still-$((40+2))")
        terminal.wait_for("still-42")
        assert server.violations == []


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def test_twenty_million_lines_leave_the_keys_and_the_memory_alone(tmp_path: Path) -> None:
    with FakeModel([text("unused")]) as server, Terminal(chat(server), cwd=tmp_path) as terminal:
        terminal.wait_for("type here")
        terminal.type("!echo warm")
        terminal.wait_for("[exit:0")
        before = memory_mb(terminal.pid)
        terminal.type("!seq 1 20000000")
        slowest = 0.0
        for number in range(10):
            began = time.monotonic()
            terminal.keys(str(number))
            terminal.wait_for("0123456789"[: number + 1])
            slowest = max(slowest, time.monotonic() - began)
        terminal.wait_for("20,000,000 lines")
        assert memory_mb(terminal.pid) - before < 60
        assert slowest < 3
        (spool,) = session_folder().glob("cmd-output/cmd-2.txt")
        assert spool.stat().st_size == 168888897
