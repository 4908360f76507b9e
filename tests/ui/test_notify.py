"""Calling a person back: in the terminal's language, only when nobody looks, and nothing in it acts."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.ui.notify import BELL, MAX_CHARS, attention
from tests.ui.pty_session import PtySession, on_terminal

WEZ = {"TERM_PROGRAM": "WezTerm", "TERM": "xterm-256color"}
FOOT = {"TERM": "foot"}
PLAIN = {"TERM": "xterm-256color"}
FOCUS_OUT = b"\x1b[O"
NINE, SEVEN = "\x1b]9;agentclip: done\x1b\\", "\x1b]777;notify;agentclip;done\x1b\\"


@pytest.mark.parametrize(
    ("how", "environ", "codes"),
    [
        ("off", WEZ, ""),
        ("bell", WEZ, BELL),
        ("auto", PLAIN, BELL),
        ("auto", WEZ, NINE),
        ("auto", {**PLAIN, "KITTY_WINDOW_ID": "1"}, NINE),
        ("auto", FOOT, SEVEN),
        ("auto", {**PLAIN, "VTE_VERSION": "7600"}, SEVEN),
        ("osc", PLAIN, NINE),
        ("auto", {**WEZ, "TMUX": "/tmp/x"}, BELL),
        ("auto", {**WEZ, "STY": "1.x"}, BELL),
        ("osc", {**WEZ, "TMUX": "/tmp/x"}, "\x1bPtmux;\x1b\x1b]9;agentclip: done\x1b\x1b\\\x1b\\"),
    ],
)
def test_each_terminal_is_called_in_its_language(how: str, environ: Mapping[str, str], codes: str) -> None:
    assert attention(how, "done", environ) == codes


@given(st.text(alphabet=st.characters() | st.sampled_from("\x1b\a;\x9c\n\u202e]0;\\")), st.sampled_from([WEZ, FOOT]))
def test_whatever_the_text_is_the_terminal_sees_one_bounded_line(text: str, environ: Mapping[str, str]) -> None:
    codes = attention("auto", text, environ)
    body = re.fullmatch(r"\x1b\](?:9;agentclip: |777;notify;agentclip;)(.*)\x1b\\", codes)
    assert body is not None
    assert body[1].isprintable()
    assert ";" not in body[1]
    assert len(body[1]) <= MAX_CHARS
    codes.encode("utf-8")


@contextlib.contextmanager
def at_work(folder: Path, **environment: str) -> Iterator[tuple[PtySession, Path]]:
    """The program in a turn that ends once the file is there."""
    go_on, recording = folder / "go-on", folder / "recording.jsonl"
    waiting = f"until [ -e {go_on} ]; do sleep 0.05; done"
    replies = [{"calls": [{"command": waiting}]}, {"text": "turn over"}]
    recording.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    settings = {"AGENTCLIP_NOTIFY_AFTER_S": "0", "TMUX": "", "STY": "", **environment}
    with on_terminal("-m", "agentclip", "--model", f"replay:{recording}", environment=settings) as session:
        session.wait_for("type here")
        session.type("go\r")
        session.wait_for("running")
        yield session, go_on


def look_away(session: PtySession) -> None:
    session.type(FOCUS_OUT)
    session.wait_for(lambda: "┏" not in session.text)  # the prompt has lost its heavy frame


def test_a_turn_that_ends_while_nobody_looks_calls_once(tmp_path: Path) -> None:
    with at_work(tmp_path, TERM_PROGRAM="WezTerm") as (session, go_on):
        look_away(session)
        go_on.touch()
        session.wait_for("turn over")
        session.wait_for(" idle ")
        session.wait_for(lambda: b"\x1b]9;agentclip: go: answered\x1b\\" in session.sent)
        session.type("\x04")
        assert session.wait_for_end() == 0
        assert session.sent.count(b"\x1b]9;") == 1


@pytest.mark.parametrize(
    "settings",
    [{}, {"AGENTCLIP_NOTIFY": "off"}, {"AGENTCLIP_NOTIFY_AFTER_S": "1000"}],
    ids=["looking", "off", "short"],
)
def test_nobody_is_called_who_looks_or_does_not_want_it(tmp_path: Path, settings: dict[str, str]) -> None:
    with at_work(tmp_path, TERM_PROGRAM="WezTerm", **settings) as (session, go_on):
        if settings:
            look_away(session)
        go_on.touch()
        session.wait_for("turn over")
        session.wait_for(" idle ")
        session.type("\x04")
        assert session.wait_for_end() == 0
        assert b"\x1b]9;" not in session.sent
        assert BELL.encode() not in re.sub(rb"\x1b\][^\a\x1b]*\a", b"", session.sent)
