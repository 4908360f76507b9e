"""Random keys, bytes, torn escapes, mouse, pastes and sizes on a real pseudo-terminal while commands run.

Whatever comes: no crash, the terminal is given back, nothing is left running. `FUZZ_SEED=N` gives the same keys again.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key
from typing_extensions import override

from agentclip.ui.terminal import KeyParser
from tests.shell.runs import marked, wait_until
from tests.ui.pty_session import PATIENCE_S, PtySession
from tests.ui.screens import make_app, until
from tests.ui.scripted import ScriptedAgent
from tests.ui.test_terminal import PASTE_END, PASTE_START, restored

KEPT = 1 << 20
"""Bytes of what the program sent that are kept."""
ENDED = {0, 128 + signal.SIGINT, -signal.SIGINT, 128 + signal.SIGTERM}
"""Quit by a key that happened to come (also by a Ctrl+C when the terminal was given back already), or by us."""
LETTERS = "abcdefghijklmnopqrstuvwxyzABC 0123456789/@.,:-_日本語é😀\t"
WORDS = ("hello", "!echo hi", "!seq 100", "/theme nord", "/theme", "/help", "/find e", "/layers", "/resume", "/model", "a\nb")
CONTROLS = "\r\r\r\r\x01\x02\x05\x06\x07\x08\x0a\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1d\x1e\x1f\x7f\x00"
"""Enter more often. Ctrl+C and Ctrl+D come seldom; Ctrl+Z would stop an editor that has the terminal."""
SEQUENCES = (
    *(f"\x1b[{letter}" for letter in "ABCDFHZ"),
    *(f"\x1b[1;{modifier}{letter}" for modifier in (2, 3, 5, 6) for letter in "ABCDHF"),
    *(f"\x1b[{number}~" for number in (2, 3, 5, 6, 11, 15, 17, 18, 19, 20, 21, 23, 24)),
    *(f"\x1bO{letter}" for letter in "PQRS"),
    *(f"\x1b{letter}" for letter in "\r\x7fbdfuy"),
    *(
        "\x1b[I",
        "\x1b[O",
        "\x1b[27u",
        "\x1b[13;2u",
        "\x1b[97;5u",
        "\x1b[?2026;2$y",
        "\x1b[12;40R",
        "\x1b]11;rgb:ffff/ffff/ffff\x07",
    ),
)


class Watched(PtySession):
    """A session that is not drawn, only looked through for crashes."""

    total = 0
    """Bytes the program sent."""
    crashed = False

    @override
    def take(self, data: bytes) -> None:
        self.total += len(data)
        self.sent = (self.sent + data)[-KEPT:]
        if not self.crashed and b"Traceback" in self.sent[-len(data) - 20 :]:
            self.crashed = True
            while self.read(1.0):  # all it has to say
                pass
            raise AssertionError(re.sub(r"\x1b\[[0-9;]*m", "", self.sent[-60_000:].decode("utf-8", "replace")))

    def press(self, data: bytes) -> None:
        """Send it, and wait until the program took it: what comes at once is a paste."""
        self.type(data)
        began = time.monotonic()
        while self.process.poll() is None and self._waiting():
            self._let_print()
            assert time.monotonic() - began < PATIENCE_S, f"it reads no keys any more: {self.sent[-3000:]!r}"
            self.read(0.001)

    def _let_print(self) -> None:
        """Where the program has given the terminal back, a Ctrl+S of ours stops it for whatever it still has to say."""
        if termios.tcgetattr(self._slave)[tty.LFLAG] & termios.ICANON:
            os.write(self.master, b"\x11")

    @override
    def read(self, wait_s: float) -> bool:
        something = super().read(wait_s)
        if not something:
            self._let_print()
        return something

    def _waiting(self) -> int:
        return int.from_bytes(fcntl.ioctl(self._slave, termios.FIONREAD, bytes(4)), sys.byteorder)

    def settle(self, patience_s: float) -> None:
        """Until it draws no more; what runs may draw for ever."""
        began = time.monotonic()
        while self.read(0.3) and time.monotonic() - began < patience_s:
            pass

    def asks(self) -> bool:
        assert self.process.poll() is None, self.sent[-3000:].decode("utf-8", "replace")
        return b"ype here" in self.sent


class Monkey:
    """Makes input out of a seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._kinds: tuple[tuple[Callable[[], bytes], int], ...] = (
            (self._letter, 30),
            (self._control, 12),
            (self._sequence, 25),
            (self._word, 4),
            (self._mouse, 12),
            (self._torn, 6),
            (self._bytes, 4),
            (self._paste, 1),
        )

    def piece(self) -> bytes:
        (kind,) = self._chance.choices([kind for kind, _ in self._kinds], [weight for _, weight in self._kinds])
        return kind()

    def size(self) -> tuple[int, int]:
        return self._chance.choice([(120, 40), (140, 40), (80, 24), (100, 30), (40, 12), (20, 5), (1, 1), (250, 70)])

    def now_and_then(self, one_in: int) -> bool:
        return self._chance.randrange(one_in) == 0

    def _letter(self) -> bytes:
        return self._chance.choice(LETTERS).encode()

    def _control(self) -> bytes:
        return self._chance.choice(CONTROLS).encode()

    def _sequence(self) -> bytes:
        return self._chance.choice(SEQUENCES).encode()

    def _word(self) -> bytes:
        return self._chance.choice(WORDS).encode() + b"\r" * self._chance.randrange(2)

    def _mouse(self) -> bytes:
        button = self._chance.choice([0, 0, 1, 2, 32, 35, 64, 65, 66, 99, 1000])
        x, y = (self._chance.choice([self._chance.randrange(1, 140), 0, -3, 9999]) for _ in range(2))
        return f"\x1b[<{button};{x};{y}{self._chance.choice('Mm')}".encode()

    def _torn(self) -> bytes:
        whole = self._chance.choice(
            [self._sequence(), self._mouse(), b"\x1b]11;rgb:12/34/56\x1b\\", b"\x1bP1$r0m\x1b\\", b"\xf0\x9f\x98\x80"]
        )
        cut = self._chance.randrange(1, len(whole) + 1)
        return whole[:cut] if self._chance.random() < 0.5 else whole[cut:]

    def _bytes(self) -> bytes:
        unsafe = b"!`$;&|<>()\x03\x04\x1a\x1c"  # nobody knows what a shell would make of it
        return bytes(byte for byte in self._chance.randbytes(self._chance.randrange(1, 9)) if byte not in unsafe)

    def _paste(self) -> bytes:
        lines = self._chance.choice([1, 2, 40])
        body = b"\r".join(
            self._chance.choice([b"pasted text", b"\x1b[31mred", b"\xff\xfe", "中文".encode()]) for _ in range(lines)
        )
        return PASTE_START + body + (PASTE_END if self._chance.random() < 0.8 else b"")


def recording(folder: Path, mark: str) -> Path:
    """Hundreds of turns; every one runs something that floods, waits, fails or draws."""
    commands = (
        "yes flood | head -c 3000000",
        f"bash -c 'exec -a {mark} sleep 1000'",
        r"printf '\033[31mred\033[2J\033]0;t\007\n'; false",
        "seq 1 400 | grep 7 | tail -n 20",
        f"bash -c 'exec -a {mark} sleep 1000' & while :; do echo tick; sleep 0.02; done",
        "head -c 300 /dev/urandom",
    )
    path = folder / "recording.jsonl"
    replies = [
        reply
        for number in range(600)
        for reply in (
            {"calls": [{"command": commands[number % len(commands)]}]},
            {"text": f"# Turn {number}\n\n| a | b |\n|--|--|\n| `1` | 日本 |\n\n```python\nx = 1\n```\n"},
        )
    ]
    path.write_text("".join(json.dumps(reply) + "\n" for reply in replies), encoding="utf-8")
    return path


def fuzz(folder: Path, seed: int, pieces: int) -> None:
    print(f"FUZZ_SEED={seed}")  # noqa: T201  pytest shows it when the test fails
    monkey = Monkey(seed)
    mark = f"ac_fuzz_{os.getpid()}_{seed % 1000}"
    argv = [sys.executable, "-m", "agentclip", "--model", f"replay:{recording(folder, mark)}"]
    environment = {"VISUAL": "true", "EDITOR": "true", "PAGER": "true"}
    left, starts = pieces, 0
    while left > 0:
        session = Watched(argv, (120, 40), environment)
        try:
            session.wait_for(session.asks)
            left -= torment(session, monkey, left)
            end(session)
            starts += 1
            print(starts, left, session.total)  # noqa: T201  same
        finally:
            session.close()
        wait_until(lambda: not marked(mark))


def torment(session: Watched, monkey: Monkey, pieces: int) -> int:
    """Send so many; how many it took until the program ended by itself."""
    for sent in range(1, pieces + 1):
        session.press(monkey.piece())
        if monkey.now_and_then(200):
            session.settle(1.0)
        if monkey.now_and_then(60):
            session.press(PASTE_END)
        if monkey.now_and_then(100):
            session.resize(*monkey.size())
        if monkey.now_and_then(500):
            session.process.send_signal(signal.SIGSTOP)
            session.process.send_signal(signal.SIGCONT)
        if monkey.now_and_then(700):
            session.press(b"\x03" if monkey.now_and_then(2) else b"\x04")
        if session.process.poll() is not None:
            return sent
    return pieces


def end(session: Watched) -> None:
    """It still draws; then it ends and gives the terminal back."""
    if session.process.poll() is None:
        session.press(PASTE_END)
        session.settle(5.0)
        before = session.sent[-100:]
        session.resize(90, 33)
        session.wait_for(lambda: session.process.poll() is not None or session.sent[-100:] != before)
        session.process.send_signal(signal.SIGTERM)
    assert session.wait_for_end() in ENDED, session.sent[-3000:].decode("utf-8", "replace")
    assert restored(session, 0)


async def test_no_letter_or_sign_is_taken_for_a_method_of_a_pane(agent: ScriptedAgent) -> None:
    """Textual calls `key_NAME` of a widget: `@` is named `at`."""
    names = {f"key_{_character_to_key(chr(code))}" for code in range(0x20, 0x7F)}
    app = make_app(agent)
    for widget in (app, *app.board.panes.values(), app.board.prompt, app.board.cancel):
        own = {name for kind in type(widget).__mro__ if kind.__module__.startswith("agentclip") for name in vars(kind)}
        assert own & names == set()


async def test_help_that_is_closed_before_it_was_drawn_is_closed(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(140, 40)) as pilot:
        for _ in range(5):
            app.action_help()
            app.action_escape()
            await pilot.press("f1", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_help_comes_to_rest_when_two_sizes_come_at_once(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1")
        page = app.screen
        page.post_message(events.Resize(Size(40, 12), Size(40, 12)))
        page.call_later(lambda: None)  # so that one does not replace the other
        page.post_message(events.Resize(Size(90, 33), Size(90, 33)))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


@given(st.text(alphabet="0123456789;:?<>=$'uABMmRZ~\x1b[]OP", max_size=20))
def test_no_report_of_a_key_stops_the_reader(report: str) -> None:
    parser = KeyParser()
    for piece in filter(None, ("\x1b[", report, "u", "x")):
        list(parser.feed(piece))


@pytest.mark.parametrize("report", ["\x1b[97:65;2u", "\x1b[2:u", "\x1b[99999999u", "\x1b[9999999999999u", "\x1b[1;2:u"])
def test_a_report_of_a_key_whose_numbers_are_none_is_no_key(report: str) -> None:
    assert [event.key for event in KeyParser().feed(report + "x") if isinstance(event, events.Key)] == ["x"]


async def test_what_takes_lines_away_before_they_were_drawn_is_undone(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(60, 24)) as pilot:
        app.board.prompt.put_in("two\nlines")
        app.board.prompt.show_vertical_scrollbar = True
        app.board.prompt.undo()
        await pilot.pause()
        assert app.board.prompt.text == ""


async def test_a_frame_that_comes_after_the_end_is_none(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(140, 40)):
        agent.run("seq 3", b"1\n2\n3\n")
    app.draw_now()
    assert app.board.model.run is None


async def test_at_the_end_no_key_does_anything(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(60, 24)) as pilot:
        app.end(3)
        for key in ("f1", "ctrl+p", "ctrl+f", "f6", "f5"):
            pilot.app.post_message(events.Key(key, None))
        await pilot.pause()
        assert len(app.screen_stack) <= 1
        assert not app.board.find.opened
    assert app.return_value == 3


@pytest.mark.parametrize("seed", [7])
def test_six_hundred_random_keys_while_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz(tmp_path, seed, 600)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_twenty_thousand_random_keys_while_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz(tmp_path, int(os.environ.get("FUZZ_SEED", time.time_ns() % 1_000_000)), 20_000)
