"""The picture before the screen: the same cells as the screen's own, a terminal that is given back, keys that wait."""

from __future__ import annotations

import contextlib
import signal
from functools import partial
from pathlib import Path

import pyte
import pytest
from pyte.screens import Char

from agentclip import paths
from agentclip.events import TurnStarted
from agentclip.messages import UserMessage
from agentclip.store.session import Session
from agentclip.ui.first_picture import ALTERNATE, NORMAL, color_system, palette, picture
from agentclip.ui.themes import Themes
from tests.ui.pty_session import PtySession, on_terminal

SIZES = ((140, 40), (141, 41), (119, 33), (100, 30), (91, 21), (80, 24), (61, 15), (60, 12), (45, 12), (44, 12), (30, 8))
HELD = """
import os, sys, time
from agentclip.ui.first_picture import first_picture
with first_picture("dark", os.environ):
    {then}
print("after")
"""


def drawn(codes: str, size: tuple[int, int]) -> pyte.Screen:
    screen = pyte.Screen(*size)
    pyte.ByteStream(screen).feed(codes.encode())
    return screen


def agrees(ours: Char, real: Char) -> bool:
    """A blank of the picture may be filled later."""
    return ours == real or (ours.data == " " and (real.data != " " or ours.bg == real.bg))


def same(ours: pyte.Screen, real: pyte.Screen) -> bool:
    return all(agrees(ours.buffer[y][x], real.buffer[y][x]) for y in range(ours.lines) for x in range(ours.columns))


def compare(theme: str, sizes: tuple[tuple[int, int], ...], environment: dict[str, str]) -> None:
    told = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "AGENTCLIP_MODEL": "replay:demo", **environment}
    colours = palette(theme, {})
    assert colours is not None
    with on_terminal("-m", "agentclip", "--theme", theme, size=sizes[0], environment=told) as session:
        for size in sizes:
            if size != sizes[0]:
                session.resize(*size)
            ours = drawn(picture(size, colours, color_system(told)), size)
            assert "type here" in "".join(ours.display)
            if size == sizes[0]:
                session.wait_for("idle")  # what stands there now is the screen's own
            session.wait_for(partial(same, ours, session.screen))


def test_every_cell_is_what_the_screen_shows_there() -> None:
    compare("dark", SIZES, {})


@pytest.mark.parametrize(
    "environment", [{"COLORTERM": ""}, {"COLORTERM": "", "TERM": "xterm"}], ids=["256 colours", "16 colours"]
)
def test_with_as_few_colours_as_the_terminal_has(environment: dict[str, str]) -> None:
    compare("light", SIZES[:1], environment)


@pytest.mark.parametrize("theme", sorted(set(Themes.load().by_name) - {"dark", "light"}))
def test_in_every_theme(theme: str) -> None:
    compare(theme, SIZES[3:4], {})


def test_a_screen_that_cannot_begin_leaves_the_terminal_as_it_was() -> None:
    with held("raise SystemExit(3)") as session:
        assert session.wait_for_end() == 3
        assert given_back(session)
        assert "after" not in session.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_before_the_screen_finds_its_way(number: signal.Signals) -> None:
    with held("time.sleep(60)") as session:
        session.wait_for("type here")
        session.process.send_signal(number)
        assert session.wait_for_end() == 128 + number
        assert given_back(session)


def test_what_is_typed_meanwhile_is_neither_echoed_nor_lost() -> None:
    with held("time.sleep(0.5); typed = os.read(0, 99)\n    os.write(1, typed.hex().encode())") as session:
        session.wait_for("type here")
        session.type(b"typed\x03\x1a")
        session.wait_for_end()
        assert b"typed\x03\x1a".hex().encode() in session.sent
        assert b"typed" not in session.sent


def test_the_screen_takes_the_terminal_over_without_clearing_it() -> None:
    with on_terminal("-m", "agentclip", environment={"AGENTCLIP_MODEL": "replay:demo"}) as session:
        session.wait_for("type here")
        session.type("soon")  # whoever draws now, it comes to the box
        session.wait_for("idle")
        session.wait_for("soon")
        assert session.sent.count(ALTERNATE.encode()) == 1
        session.type("\x03\x04")
        assert session.wait_for_end() == 0
        assert given_back(session)


def test_nothing_of_it_vanishes_while_the_screen_comes() -> None:
    with on_terminal("-m", "agentclip", environment={"AGENTCLIP_MODEL": "replay:demo"}) as session:
        session.wait_for("type here")
        while "idle" not in session.text:
            session.read(0.05)
            assert "agentclip" in session.screen.display[0]
            assert "no run yet" in session.text
            assert "raw stream" in session.text


def test_a_misspelt_session_is_said_without_any_picture() -> None:
    with on_terminal("-m", "agentclip", "--resume", "nosuch") as session:
        assert session.wait_for_end() == 2
        assert b"no session 'nosuch'" in session.sent
        assert b"?1049" not in session.sent


def test_what_keeps_the_screen_from_coming_is_said_on_the_usual_screen() -> None:
    open_here = Session.create(paths.sessions_dir(), str(Path.cwd()), "m", "0")
    open_here.append(TurnStarted(UserMessage("hello")))
    with on_terminal("-m", "agentclip", "--continue", environment={"AGENTCLIP_MODEL": "replay:demo"}) as session:
        assert session.wait_for_end() != 0
        assert given_back(session)
        said = session.sent[session.sent.rindex(NORMAL.encode()) :]
        assert b"is open in another agentclip" in said
        assert b"Traceback" not in said
    open_here.close()


@pytest.mark.parametrize(
    "text",
    [
        'name = "dark"\n[palette]\nsurface = 7\n',
        "[palette",
        '[palette]\nname = "dark"\n',
        "\x00",
        'palette = "no"\nvariables = []\n',
    ],
)
def test_a_theme_file_that_is_none_costs_the_picture_and_is_said_once(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "agentclip" / "themes"
    folder.mkdir(parents=True)
    (folder / "dark.toml").write_text(text)
    told = {"AGENTCLIP_MODEL": "replay:demo", "XDG_CONFIG_HOME": str(tmp_path)}
    with on_terminal("-m", "agentclip", "--theme", "dark", environment=told) as session:
        session.wait_for("dark.toml")
        session.wait_for("idle")


def test_no_colour_no_picture() -> None:
    with on_terminal("-m", "agentclip", environment={"AGENTCLIP_MODEL": "replay:demo", "NO_COLOR": "1"}) as session:
        session.wait_for("idle")
        assert b"38;2;" not in session.sent


def held(then: str) -> contextlib.AbstractContextManager[PtySession]:
    return on_terminal("-c", HELD.format(then=then))


def given_back(session: PtySession) -> bool:
    shown, hidden = session.sent.rfind(b"\x1b[?25h"), session.sent.rfind(b"\x1b[?25l")
    wraps = session.sent.rfind(b"\x1b[?7h") > session.sent.rfind(b"\x1b[?7l")
    return NORMAL.encode() in session.sent and shown > hidden and wraps and session.mode() == session.mode_before
