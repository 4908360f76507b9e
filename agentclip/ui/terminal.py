"""The terminal: Textual's driver with a tolerant input and an output that survives a vanished terminal.

While the screen is up, whatever writes to file descriptor 2 (native libraries do) goes to a file instead of the screen, and its
end is printed afterwards.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import tempfile
import termios
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType
from typing import IO, Any, BinaryIO, cast

from textual import events
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys
from textual.message import Message
from typing_extensions import override

from agentclip.descriptor import DescriptorFile
from agentclip.ui.background import QUESTION
from agentclip.ui.first_picture import ALTERNATE, held
from agentclip.ui.intake import Background, Intake, Pasted, Piece

READ = 64 * 1024
MAX_BURST = 4 * 1024 * 1024
BURST_PAUSE_S = 0.02
LOOK_S = 0.1
"""How often the thread that reads looks whether the screen has ended."""
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
MAX_WAITING = 2
"""Pieces that wait to be written, about one a frame; beyond it no frame is drawn."""
SAME_S = 1.0
"""A second signal this soon is the first one again."""
PATIENCE_S = 8.0
"""How long an orderly end may take before the terminal is restored by force."""
STDERR_TAIL = 4096
PLAIN = "\x1b(B\x0f\x1b[r\x1b[?6l\x1b[4l\x1b[?1l\x1b>\x1b[0m"
"""ASCII, the whole screen scrolls, origin, inserting, keypad, colours: as usual, whoever was here before."""
RESTORE = (
    b"\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2048l\x1b[?1004l\x1b[?2004l"
    b"\x1b[<u\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"
)
"""Mouse, resize reports, focus reports, paste marks, key protocol, wrapping, alternate screen, cursor, colours."""


class HungUp(Message):
    """The terminal is gone."""


class BackgroundTold(Message):
    """The terminal answered what its background is."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


class KeyParser(XTermParser):
    """Textual's, which fails on reports of keys whose numbers are none (`CSI 97:65 u`, `CSI 99999999 u`): no keys to us."""

    @override
    def _parse_extended_key(self, sequence: str) -> list[events.Key] | None:  # type: ignore[override]  # there it is cached
        try:
            return super()._parse_extended_key(sequence)
        except (ValueError, OverflowError):
            return [events.Key(Keys.Ignore, None)]


class TerminalDriver(LinuxDriver):
    """Textual's driver for Unix terminals, hardened."""

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._terminal = os.dup(2)
        weakref.finalize(self, os.close, self._terminal)
        self._file = cast("Any", DescriptorFile(self._terminal))
        self._aside: IO[bytes] | None = None
        self._opened = False
        self._listening = threading.Event()
        self._caught_up = threading.Event()

    def listen(self) -> None:
        """The screen is whole: take what was typed before, so that the first frame has it, and what is typed from now on."""
        self._listening.set()
        self._caught_up.wait(LOOK_S)

    def start_application_mode(self) -> None:
        """Take the terminal, set descriptor 2 aside. After a stop that nobody could catch, take it again."""
        mode, again = self.attrs_before, self._aside is not None
        if again:
            self._stop_reading()
            self.close()
        else:
            mode = held.take_over()
            self._opened = mode is not None
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual annotates no result here
        if mode is not None:  # what the terminal was before is not the mode we left it in
            self.attrs_before = mode
        self.write(PLAIN)
        if self._aside is None:
            self._aside = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the screen
            os.dup2(self._aside.fileno(), 2)

    def settle(self) -> None:
        """Another program had the terminal, and may have been killed in any mode."""
        if self.attrs_before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)

    def _stop_reading(self) -> None:
        """As `disable_input`, but what is typed meanwhile is not thrown away."""
        self.exit_event.set()
        if self._key_thread is not None:
            self._key_thread.join()
        self.exit_event.clear()

    def write(self, data: str) -> None:
        """Send it. Where the first picture stands, the alternate screen is taken: taking it again would clear it."""
        if not self._has_writer:
            return
        if self._opened and data == ALTERNATE:
            self._opened = False
        else:
            super().write(data)

    def _sigcont_application(self, *_: object) -> None:
        # A signal may come between any two steps, also while the terminal is being taken: the loop does one after the other.
        if self._auto_restart and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        if self._app.return_code is None:  # not ended, whether it runs already or not
            self.resume_application_mode()
            self._app.refresh(layout=True)

    def stop_application_mode(self) -> None:
        """Give the terminal back, then show what went to descriptor 2 meanwhile."""
        super().stop_application_mode()
        if self._aside is None:
            return
        os.dup2(self._terminal, 2)
        with self._aside as aside:
            aside.seek(max(0, aside.seek(0, os.SEEK_END) - STDERR_TAIL))
            left = aside.read().decode("utf-8", "replace")
        self._aside = None
        if left.strip():
            self.write("".join(sign for sign in left if sign == "\n" or sign.isprintable()).replace("\n", "\r\n"))

    def close(self) -> None:
        """End the writer, once."""
        if self._has_writer:
            super().close()

    @property
    def _has_writer(self) -> bool:
        """Without one another program has the terminal: nothing of ours is drawn, nothing waits for ever in the queue."""
        return self._writer_thread is not None and self._writer_thread.is_alive()

    def call_attention(self, signal_codes: str) -> None:
        """A bell or a notification of `notify.py`, whole between two frames: the one writer of the screen sends it."""
        self.write(signal_codes)
        self.flush()

    def run_input_thread(self) -> None:
        """Read keys and pastes until the screen ends, once it is whole: a key must not meet half a screen."""
        parser = KeyParser(self._debug)
        intake = Intake(expecting=self._asks)
        while not self._listening.wait(LOOK_S):
            if self.exit_event.is_set():
                return
        came = time.monotonic()
        wait_s = 0.0
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(wait_s):
                    data = self._read(selector)
                    if not data:
                        self.send_message(HungUp())
                        break
                    came = time.monotonic()
                    self._take(parser, intake.feed(data))
                else:
                    self._take(parser, intake.nothing_came(time.monotonic() - came))
                for event in parser.tick():
                    self.process_message(event)
                self._caught_up.set()
                wait_s = LOOK_S
        with contextlib.suppress(EOFError, ParseError):
            for _ in parser.feed(""):
                pass

    @property
    def behind(self) -> bool:
        """Whether the terminal has not taken yet what was drawn some frames ago."""
        writer = self._writer_thread
        return writer is not None and writer._queue.qsize() > MAX_WAITING  # noqa: SLF001  no public way to ask

    @property
    def _asks(self) -> bool:
        # The Linux console would print the question.
        return self.input_tty and os.environ.get("TERM") != "linux"

    def _request_terminal_sync_mode_support(self) -> None:
        if self._asks:
            self.write(QUESTION)
        super()._request_terminal_sync_mode_support()

    def _take(self, parser: XTermParser, pieces: list[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Pasted):
                self.process_message(events.Paste(piece.text))
            elif isinstance(piece, Background):
                self.send_message(BackgroundTold(dark=piece.dark))
            elif piece:
                for event in parser.feed(piece):
                    self.process_message(event)

    def _read(self, selector: selectors.SelectSelector) -> bytes:
        """What is there; a burst as one piece."""
        parts: list[bytes] = []
        try:
            while part := os.read(self.fileno, READ):
                parts.append(part)
                taken = sum(map(len, parts))
                if taken < 1024 or taken > MAX_BURST or not selector.select(BURST_PAUSE_S):
                    break
        except OSError:
            return b""
        return b"".join(parts)


def shell_waits() -> bool:
    """Whether a shell with job control started us: what stops without one never goes on."""
    parent, session = os.getppid(), os.getsid(0)
    try:
        group, same = os.getpgid(parent), os.getsid(parent) == session
    except OSError:
        return False
    return same and (group != os.getpgrp() or parent != session)


class EndingSignals:
    """SIGTERM, SIGHUP and SIGINT end the screen in order; asked again later, or after too long a wait, by force.

    A thread of its own hears of them through the wakeup descriptor: the main thread may be blocked, and a signal that the
    kernel gives to another thread does not wake it. For any other one (SIGWINCH, SIGCONT) it wakes the main thread.
    """

    def __init__(self, end: Callable[[int], None], wake: Callable[[], None]) -> None:
        self._end = end
        """Called on the thread with the signal's number; returns at once."""
        self._wake = wake
        """The same, without a number: handlers run when the main thread does anything."""
        self.lent = False
        """Another program has the terminal: Ctrl+C there is meant for it."""
        self._old: dict[int, Any] = {}
        self._old_wakeup = -1
        self._write_end = -1
        self._thread: threading.Thread | None = None
        self._attributes = held.mode
        """The terminal's own mode, taken before the screen changes it."""
        if self._attributes is None:
            with contextlib.suppress(termios.error):
                self._attributes = termios.tcgetattr(0)

    def install(self) -> None:
        """From the main thread."""
        read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._old_wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in ENDING:
            self._old[number] = signal.signal(number, _heard_elsewhere)
        self._thread = threading.Thread(target=self._watch, args=[read_end], name="ending signals", daemon=True)
        self._thread.start()

    def remove(self) -> None:
        """Put the earlier handlers back."""
        if self._thread is None:
            return
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self._write_end)
        self._thread.join()
        self._thread = None

    def _watch(self, read_end: int) -> None:
        with open(read_end, "rb", buffering=0) as numbers:
            while came := numbers.read(64):
                ending = [number for number in came if number in ENDING and not (self.lent and number == signal.SIGINT)]
                if not ending:
                    self._wake()
                    continue
                self._end(ending[0])
                if not self._ended_in_order(numbers):
                    self._force(ending[0])

    def _ended_in_order(self, numbers: BinaryIO) -> bool:
        """Wait until `remove`; False when patience is over or a person asks again."""
        began = time.monotonic()
        while (left := began + PATIENCE_S - time.monotonic()) > 0:
            if not select.select([numbers], [], [], left)[0]:
                break
            came = numbers.read(64)
            if not came:
                return True
            # A closed terminal sends the same signal by several ways at once: that is not asking again.
            if any(number in ENDING for number in came) and time.monotonic() - began > SAME_S:
                break
        return False

    def _force(self, number: int) -> None:
        with contextlib.suppress(OSError, termios.error):
            if self._attributes is not None:
                termios.tcsetattr(0, termios.TCSANOW, self._attributes)
            os.write(1, RESTORE)
        os._exit(128 + number)


def _heard_elsewhere(_number: int, _frame: FrameType | None) -> None:
    """Keep the signal from ending the process; the wakeup descriptor has its number."""
