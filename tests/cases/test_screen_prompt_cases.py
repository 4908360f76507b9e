"""Cases of the prompt (B63, B65) and of input methods, through the whole program on a terminal against the strict server.

Ctrl+C does the first of these that is possible: copy what is selected, end a search, cancel what runs, clear the prompt, quit
when it comes twice. A paste without marks stays a text: its line ends do not send.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentclip.history import history_file, read_history, remember
from agentclip.store.log import read_log
from tests.fake_model.script import run, text
from tests.fake_model.server import FakeModel
from tests.ui.pty_session import PATIENCE_S, PtySession, on_terminal

CTRL_C, ESC, CTRL_R, F1, F9 = "\x03", "\x1b", "\x12", "\x1bOP", "\x1b[20~"
START, END = b"\x1b[200~", b"\x1b[201~"


@pytest.fixture
def server() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        yield fake


@contextlib.contextmanager
def talking(server: FakeModel) -> Iterator[PtySession]:
    with on_terminal("-m", "agentclip", "--api-base", server.url, "--model", "fake-1") as session:
        session.wait_for("type here")
        yield session


def working(session: PtySession) -> None:
    """A command of the model runs."""
    session.type("do it\r")
    session.wait_for("begun-42")


RUNNING = [run("echo begun-$((40+2)); sleep 300"), text("after that")]


def prompts(server: FakeModel) -> list[str]:
    """What the person said, as the model got it last."""
    return [str(message["content"]) for message in server.requests[-1].body["messages"] if message["role"] == "user"]


def test_b63_ctrl_c_cancels_then_clears_then_asks_then_quits_and_nothing_is_lost(server: FakeModel) -> None:
    server.script = list(RUNNING)
    with talking(server) as session:
        working(session)
        session.type("half a thought")
        session.wait_for("half a thought")
        session.type(CTRL_C)  # a: cancels only
        session.wait_for("cancelled")
        session.wait_for(" idle ")
        assert "half a thought" in session.text
        session.type(CTRL_C)  # b: clears only
        session.wait_for(lambda: b"cleared; Up brings the text back" in session.sent)
        session.wait_for("type here")
        session.type("\x1b[A")
        session.wait_for("half a thought")
        session.type(CTRL_C)
        session.wait_for("type here")
        session.type(CTRL_C)  # c: says what comes next
        session.wait_for(lambda: b"Ctrl+C again to quit" in session.sent)
        ends = time.monotonic() + PATIENCE_S
        while session.process.poll() is None and time.monotonic() < ends:
            session.type(CTRL_C)  # d: quits; on a slow machine not the first one comes in time
            waited = time.monotonic() + 1
            while session.process.poll() is None and "ending…".encode() not in session.sent and time.monotonic() < waited:
                session.read(0.05)
        assert session.wait_for_end() == 0
        assert session.mode() == session.mode_before
        assert b"agentclip --resume " in session.sent
    (log,) = (history_file().parent / "sessions").glob("*/events.jsonl")
    assert "begun-42" in json.dumps([repr(each.event) for each in read_log(log).events])
    assert read_history(history_file()) == ["do it", "half a thought"]


@pytest.mark.parametrize(
    ("opens", "shows"),
    [
        ("/sna", "the snapshot that the model reads"),
        (CTRL_R, "history: 1 of"),
        (F1, "In the prompt"),
        (F9, "What to do"),
    ],
)
def test_b63_esc_closes_what_lies_on_top_and_only_then_cancels(server: FakeModel, opens: str, shows: str) -> None:
    server.script = list(RUNNING)
    with talking(server) as session:
        working(session)
        session.type(opens)
        session.wait_for(shows)
        session.type(ESC)  # e: the menu only
        session.wait_for(lambda: shows not in session.text)
        assert " running " in session.text
        assert "cancelled" not in session.text
        session.type(ESC)
        session.wait_for("cancelled")
        if opens.isprintable():
            assert f"┃ {opens} " in session.text, "text is never cleared by Esc"


def test_b63_ctrl_c_in_a_search_gives_back_the_text_and_quits_nothing(server: FakeModel) -> None:
    remember(history_file(), "from before")
    with talking(server) as session:
        session.type("half a thought")
        session.wait_for("half a thought")
        session.type(CTRL_R)
        session.wait_for("> from before")
        session.type(CTRL_C)
        session.wait_for("half a thought")
        session.type(CTRL_C)
        session.wait_for(lambda: b"cleared; Up" in session.sent)
        assert session.process.poll() is None


@pytest.mark.parametrize("marks", [True, False])
def test_b65_a_large_paste_is_one_message_and_is_sent_by_enter_alone(server: FakeModel, *, marks: bool) -> None:
    server.script = [text("got it")]
    lines = [f"line {number} 中文 /help @x !y" for number in range(8000)]
    pasted = "\r".join(lines).encode()
    assert len(pasted) > 200_000
    with talking(server) as session:
        session.type(START + pasted + END if marks else pasted)
        session.wait_for("[paste 1: 8,000 lines")
        session.type(" and more")
        session.wait_for("] and more")
        assert server.requests == []
        assert " idle " in session.text
        session.type("\r")
        session.wait_for("got it")
        assert prompts(server) == ["\n".join(lines) + " and more"]
        assert server.violations == []


def test_what_an_input_method_commits_arrives_whole_and_enter_sends_it(server: FakeModel) -> None:
    """An input method sends whole words at once, and the Enter that follows at once too."""
    server.script = [text("first answer"), text("second answer")]
    words = "日本語の入力と한국어와中文输入法👩\u200d🔬می\u200cخواهم"
    with talking(server) as session:
        for sign in words:
            session.type(sign.encode())
        session.type("\r")
        session.wait_for("first answer")
        session.type(f"{words}\r".encode())
        session.wait_for("second answer")
        assert prompts(server)[-2:] == [words, words]


def test_a_sign_that_arrives_byte_by_byte_is_one_sign(server: FakeModel) -> None:
    server.script = [text("an answer")]
    with talking(server) as session:
        for byte in "日本".encode():
            session.type(bytes([byte]))
        session.wait_for(lambda: "日本" in session.text.replace(" ", ""))
        session.type("\r")
        session.wait_for("an answer")
        assert prompts(server) == ["日本"]


def test_wide_letters_are_searched_for_and_completed_too(
    server: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "日本語.txt").touch()
    monkeypatch.chdir(tmp_path)
    remember(history_file(), "以前の文")
    with talking(server) as session:
        session.type("@本語".encode())
        session.wait_for(lambda: ">@日本語.txt" in session.text.replace(" ", ""))
        session.type(b"\t")
        session.wait_for(lambda: "┃@日本語.txt" in session.text.replace(" ", ""))
        session.type(CTRL_R)
        session.type("前の".encode())
        session.wait_for(lambda: ">以前の文" in session.text.replace(" ", ""))
