"""From session to session and from model to model in one program, on a real terminal, with the real processes behind it."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import pytest

from agentclip import paths
from agentclip.shell.descendants import read_process
from agentclip.store.listing import list_sessions
from tests.e2e.terminal import Terminal, needs_tmux
from tests.fake_model.server import FakeModel, text

pytestmark = [needs_tmux, pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")]


def chat(server: FakeModel, *more: str) -> list[str]:
    return ["--api-base", server.url, "--model", "fake-model", *more]


def children(pid: int) -> list[int]:
    """Living children of a process."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError):
            if Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1] == str(pid) and read_process(int(name)):
                found.append(int(name))
    return found


def sessions() -> dict[str, str]:
    return {facts.title: facts.id for facts in list_sessions(paths.sessions_dir())}


def shows(terminal: Terminal, *texts: str) -> bool:
    """The screen itself, without a list over it, shows all of them."""
    screen = terminal.screen()
    return "Sessions of" not in screen and all(text in screen for text in texts)


def test_new_back_with_f5_and_on_with_its_history(tmp_path: Path) -> None:
    script = [text("One is done."), text("Two is done."), text("One goes on.")]
    with FakeModel(script) as server, Terminal(chat(server), cwd=tmp_path) as terminal:
        terminal.wait_for("type here")
        pid = terminal.pid
        terminal.type("task one")
        terminal.wait_for("One is done.")
        terminal.type("/new")
        terminal.wait(lambda: "One is done." not in terminal.screen() and shows(terminal, "type here"))
        terminal.type("task two")
        terminal.wait_for("Two is done.")
        terminal.keys("F5")
        terminal.wait_for("> * task two")
        terminal.keys("Down")
        terminal.wait_for("One is done.")
        terminal.keys("Enter")
        terminal.wait(lambda: shows(terminal, "agentclip  task one", "One is done."))
        terminal.type("go on")
        terminal.wait_for("One goes on.")
        assert [message["content"] for message in server.last.messages[1:]] == ["task one", "One is done.", "go on"]
        assert terminal.pid == pid
        assert len(children(pid)) == 1, "one provider's process, those of the sessions before are gone"
        terminal.keys("C-d")
        terminal.wait_for("[ended 0]")
        assert f"To come back: agentclip --resume {sessions()['task one']}" in terminal.screen()
        assert server.violations == []
    assert set(sessions()) == {"task one", "task two"}


def test_resume_alone_begins_with_the_list(tmp_path: Path) -> None:
    with FakeModel([text("Saved."), text("Here again.")]) as server:
        with Terminal(chat(server), cwd=tmp_path) as terminal:
            terminal.wait_for("type here")
            terminal.type("remember me")
            terminal.wait_for("Saved.")
            terminal.keys("C-d")
            terminal.wait_for("[ended 0]")
        with Terminal(chat(server, "--resume"), cwd=tmp_path, size=(80, 24)) as terminal:
            terminal.wait_for("> remember me")
            terminal.keys("Enter")
            terminal.wait(lambda: shows(terminal, "agentclip  remember me", "Saved."))
            terminal.type("still there?")
            terminal.wait_for("Here again.")
            terminal.keys("C-d")
            terminal.wait_for("[ended 0]")
        assert server.violations == []
    assert len(sessions()) == 1


def test_another_model_answers_the_next_turn_and_the_old_process_is_gone(tmp_path: Path) -> None:
    with FakeModel(
        [text("First here."), text("Second here."), text("Me again.")], models=["fake-model", "other-model"]
    ) as server:
        with Terminal(chat(server), cwd=tmp_path) as terminal:
            terminal.wait_for("type here")
            terminal.type("hello")
            terminal.wait_for("First here.")
            (before,) = children(terminal.pid)
            terminal.keys("F7")
            terminal.wait_for("> * fake-model")
            terminal.wait_for("other-model")
            terminal.keys("Down")
            terminal.wait_for("> other-model")
            terminal.keys("Enter")
            terminal.wait_for("other-model answers from here on")
            terminal.type("and now?")
            terminal.wait_for("Second here.")
            assert [request.body["model"] for request in server.requests] == ["fake-model", "other-model"]
            terminal.wait(lambda: before not in children(terminal.pid))
            assert len(children(terminal.pid)) == 1
            terminal.type("/new")
            terminal.wait(lambda: shows(terminal, "type here") and "Second here." not in terminal.screen())
            terminal.type("you again?")
            terminal.wait_for("Me again.")
            assert server.last.body["model"] == "other-model", "a new session keeps the choice"
            terminal.keys("C-d")
            terminal.wait_for("[ended 0]")
        assert server.violations == []
    assert [facts.model for facts in list_sessions(paths.sessions_dir())] == ["other-model"] * 2
