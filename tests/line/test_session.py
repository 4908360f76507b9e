"""Whole sessions on a pseudo-terminal, against the strict server."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentclip.history import history_file, read_history
from tests.fake_model.server import FakeModel, run, text
from tests.shell.runs import marked, wait_until
from tests.ui.pty_session import PtySession, on_terminal

TERMS = ("dumb", "xterm-256color")
TOOLBAR = "no sandbox"


@pytest.fixture(autouse=True)
def _work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Person:
    """Types, and looks at everything that was ever shown."""

    def __init__(self, session: PtySession, term: str) -> None:
        self.session = session
        self.enter = "\n" if term == "dumb" else "\r"

    def send(self, line: str) -> None:
        self.session.type(line + self.enter)

    def sees(self, words: str, times: int = 1) -> None:
        self.session.wait_for(lambda: self.session.sent.count(words.encode()) >= times)


@contextlib.contextmanager
def talking(
    server: FakeModel, term: str, *more: str, size: tuple[int, int] = (80, 24), environment: dict[str, str] | None = None
) -> Iterator[Person]:
    arguments = ["-m", "agentclip", "--line", "--api-base", server.url, "--model", "fake-1", *more]
    with on_terminal(*arguments, size=size, environment={"TERM": term, **(environment or {})}) as session:
        session.wait_for("> ")
        yield Person(session, term)


def ended(person: Person, status: int = 0) -> None:
    assert person.session.wait_for_end() == status
    assert person.session.mode() == person.session.mode_before
    assert b"To come back: agentclip --resume " in person.session.sent


@pytest.mark.parametrize("term", TERMS)
def test_a_whole_session_task_live_output_cancel_queue_resume(term: str, tmp_path: Path) -> None:
    mark = f"ac_line_{term.partition('-')[0]}_{os.getpid()}"
    sleeping = f"bash -c 'exec -a {mark} sleep 100' & bash -c 'exec -a {mark} sleep 100'; wait"
    script = [
        run("echo begun; while [ ! -e go ]; do sleep 0.05; done; echo bad >&2; ls nofile"),
        text("# Result\nThe **file** is not there."),
        run(sleeping),
        text("Now the queue."),
        text("Here again."),
    ]
    with FakeModel(script) as server:
        with talking(server, term) as person:
            person.send("do it")
            person.sees("│ begun") if term == "dumb" else person.sees("begun")
            (tmp_path / "go").touch()
            person.sees("! ")
            person.sees("[exit:2 | ")
            person.sees("file** is not there.")
            person.send("!echo my own | cat")
            person.sees("[exit:0 | ")
            person.send("sleep")
            wait_until(lambda: len(marked(mark)) == 2)
            person.send("queued message")
            person.sees("waits as 1: queued message")
            person.send("never mind")
            person.sees("waits as 2: never mind")
            person.send("/queue drop 2")
            person.sees("dropped: never mind")
            person.session.type(b"\x03")
            person.sees("cancelled]")
            assert marked(mark) == []
            person.sees("Now the queue.")
            person.session.type(b"\x04")
            ended(person)
        with talking(server, term, "--continue") as person:
            for words in ("do it", "[exit:2 | ", "file** is not there.", "cancelled]", "Now the queue."):
                person.sees(words)
            person.send("hello again")
            person.sees("Here again.")
            person.send("/layer1 1")
            person.sees("cmd-1.txt")
            person.send("/quit")
            ended(person)
    assert server.violations == []
    assert "never mind" not in str(server.last.messages)
    assert "queued message" in str(server.last.messages)


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_running_and_the_session_saved(term: str, number: signal.Signals) -> None:
    mark = f"ac_line_end_{os.getpid()}"
    with FakeModel([run(f"bash -c 'exec -a {mark} sleep 100'")]) as server, talking(server, term) as person:
        person.send("sleep")
        wait_until(lambda: len(marked(mark)) == 1)
        person.session.process.send_signal(number)
        ended(person, 128 + number)
        assert marked(mark) == []


@pytest.mark.parametrize("term", TERMS)
def test_a_terminal_that_goes_away_ends_it(term: str) -> None:
    mark = f"ac_line_gone_{os.getpid()}"
    with FakeModel([run(f"bash -c 'exec -a {mark} sleep 100'")]) as server, talking(server, term) as person:
        person.send("sleep")
        wait_until(lambda: len(marked(mark)) == 1)
        person.session.hang_up()
        assert person.session.process.wait(30) in {0, 129}
        assert marked(mark) == []


ALLOWED = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
NEVER = (b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1b[?1049", b"\x1b[6n", b"\x1b[c", b"\x07", b"\xc2\x9b", b"\xe2\x80\xae")
HOSTILE = r"printf '\033]52;c;aGk=\a\033[?1049h\033[6n\033[31mred\302\2332J\342\200\256\033P1\033\\\n'; echo end-$((40+2))"


@pytest.mark.parametrize("term", TERMS)
def test_what_a_command_or_a_model_sends_never_acts_on_the_terminal(term: str) -> None:
    script = [run(HOSTILE, HOSTILE.replace("; echo", " >&2; echo")), text("a \x1b]0;title\x07 and \x9b2J b, said.")]
    with FakeModel(script) as server, talking(server, term, "--theme", "dark") as person:
        person.send("hurt me")
        person.sees("b, said.")
        person.send("/layer1")
        person.send("/layer2")
        person.sees("end-42", 4)
        person.session.type(b"\x04")
        ended(person)
        sent = person.session.sent
    assert [each for each in NEVER if each in sent] == []
    left = sent if term == "dumb" else ALLOWED.sub(b"", sent)
    assert b"\x1b" not in left


def test_a_plain_terminal_gets_no_control_code_at_all() -> None:
    with FakeModel([run("seq 300"), text("Done.")]) as server, talking(server, "dumb") as person:
        person.send("count")
        person.sees("Done.")
        person.send("/help")
        person.sees("backslash")
        person.session.type(b"\x04")
        ended(person)
        assert re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", person.session.sent) is None
        assert "│ … 100 more lines (cmd-1.txt)".encode() in person.session.sent


@pytest.mark.parametrize("term", TERMS)
def test_forty_columns_are_enough(term: str) -> None:
    words = "This answer has more words than fit into one line of forty columns."
    with FakeModel([run("echo hi"), text(words)]) as server, talking(server, term, size=(40, 12)) as person:
        person.send("a prompt that is itself longer than forty columns are wide")
        person.session.wait_for("forty columns.")
        shown = " ".join(line.strip() for line in person.session.text.splitlines())
        assert words in shown
        if term != "dumb":
            person.session.wait_for("idle  no sandbox")
        person.session.type(b"\x04")
        ended(person)


def test_two_lines_are_one_message_and_the_history_is_shared() -> None:
    with FakeModel([text("One."), text("Two.")]) as server, talking(server, "xterm") as person:
        person.session.type("first\x1b\rsecond\x0athird\r")
        person.sees("One.")
        assert server.requests[0].messages[-1]["content"] == "first\nsecond\nthird"
        assert read_history(history_file()) == ["first\nsecond\nthird"]
        assert stat.S_IMODE(history_file().stat().st_mode) == 0o600
        person.session.type("\x1b[A\r")
        person.sees("Two.")
        assert server.requests[1].messages[-1]["content"] == "first\nsecond\nthird"
    with FakeModel([text("Plain.")]) as server, talking(server, "dumb") as person:
        person.send("first\\")
        person.send("second")
        person.sees("Plain.")
        assert server.requests[0].messages[-1]["content"] == "first\nsecond"


def test_what_waits_comes_back_to_be_edited() -> None:
    with FakeModel([run("while [ ! -e go ]; do sleep 0.05; done"), text("End.")]) as server, talking(server, "xterm") as person:
        person.send("start")
        person.sees("running 1")
        person.send("wait for me")
        person.sees("1 waiting")
        person.session.type("\x1b[A")
        person.session.type(" now\r")
        person.sees("waits as 1: wait for me now")
        person.send("/queue edit 1 changed")
        person.sees("1  changed")
        Path("go").touch()
        person.sees("End.")
        assert server.last.messages[-1]["content"] == "changed"


@pytest.mark.parametrize("term", TERMS)
def test_a_line_of_the_person_is_told_to_the_model_on_request(term: str) -> None:
    with FakeModel([text("I see.")]) as server, talking(server, term) as person:
        person.send("/tell")
        person.sees("nothing has run")
        person.send("!echo mine-$((40+2))")
        person.sees("mine-42")
        person.sees("[exit:0")
        person.send("/tell 7")
        person.sees("no run 7 has ended")
        person.send("/tell 1 what is it?")
        person.sees("I see.")
        said = str(server.last.messages[-1]["content"])
        assert said.startswith("what is it?\n\nI ran this:\n\necho mine-$((40+2))\n\nand it showed:\n\nmine-42\n[exit:0")
        person.send("/quit")
        ended(person)


def test_no_color_means_no_colour() -> None:
    script = [run("false"), text("`x`")]
    with FakeModel(script) as server, talking(server, "xterm-256color", environment={"NO_COLOR": "1"}) as person:
        person.send("hi")
        person.sees("`x`")
        coloured = re.compile(rb"\x1b\[[0-9;]*(?<![0-9])(3[0-8]|4[0-8]|9[0-7])[;m]")
        assert coloured.search(person.session.sent) is None


def test_without_a_terminal_lines_come_from_a_pipe_and_it_ends_when_all_is_done() -> None:
    with FakeModel([text("Piped.")]) as server:
        words = [sys.executable, "-m", "agentclip", "--line", "--api-base", server.url, "--model", "fake-1"]
        done = subprocess.run(words, input=b"hi\n!sleep 0.2; echo late", capture_output=True, check=True, timeout=60)
    assert b"Piped." in done.stdout
    assert "│ late".encode() in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("term", [*TERMS, "no-such-terminal"])
def test_textual_is_never_loaded(term: str) -> None:
    code = (
        "import sys; from agentclip.cli import main; main(sys.argv[1:]); "
        "print('loaded', sorted({'textual', 'rich', 'httpx', 'litellm', 'prompt_toolkit'} & set(sys.modules)))"
    )
    line = ["--line"] if term.startswith("xterm") else []  # the others get it by themselves
    with on_terminal("-c", code, "--model", "replay:demo", *line, environment={"TERM": term}) as session:
        session.wait_for("> ")
        session.type(b"\x04")
        assert session.wait_for_end() == 0
        assert b"loaded ['prompt_toolkit']" in session.sent


def test_a_theme_is_shown_in_its_colours_and_a_wrong_one_is_one_line() -> None:
    with FakeModel([text("hi")]) as server, talking(server, "xterm", "--theme", "nosuch") as person:
        person.sees("no theme nosuch")
        person.send("/theme light")
        person.sees("theme light")
        person.send("/theme")
        person.sees("themes: ")
        person.session.type(b"\x04")
        assert person.session.wait_for_end() == 0


def test_ctrl_c_at_an_empty_prompt_quits_when_it_comes_twice() -> None:
    for term in TERMS:
        with FakeModel([]) as server, talking(server, term) as person:
            person.session.type(b"\x03")
            person.sees("again to quit")
            person.session.type(b"\x03")
            assert person.session.wait_for_end() == 0
            assert person.session.mode() == person.session.mode_before


def test_a_program_that_ignores_the_cancel_is_killed_by_the_second(tmp_path: Path) -> None:
    mark = f"ac_line_stubborn_{os.getpid()}"
    line = f"bash -c 'trap \"\" TERM INT HUP; touch begun; exec -a {mark} sleep 100'"
    with FakeModel([run(line), text("Next.")]) as server, talking(server, "xterm") as person:
        person.send("stubborn")
        wait_until((tmp_path / "begun").exists)
        person.session.type(b"\x03")
        person.sees("cancelling")
        person.session.type(b"\x03")
        person.sees("cancelled]")
        assert marked(mark) == []
        person.send("next")
        person.sees("Next.")
