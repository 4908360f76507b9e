"""A program on a real pseudo-terminal, seen through a terminal emulator."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyte

PATIENCE_S = 30
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p")
"""Private sequences that pyte would print as text."""


class PtySession:
    """One program and its terminal."""

    def __init__(self, argv: Sequence[str], size: tuple[int, int], environment: dict[str, str]) -> None:
        columns, rows = size
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.mode_before: list[Any] = termios.tcgetattr(slave)
        self._slave = slave
        """Kept open: the mode of the terminal is read after the program's end."""
        self.sent = b""
        """Everything the program sent to the terminal."""
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  no threads here; the terminal must control it
        )

    def type(self, text: str | bytes) -> None:
        """Send keys, reading meanwhile so that neither side blocks."""
        data = text.encode() if isinstance(text, str) else text
        while data:
            self.read(0)
            _, writable, _ = select.select([], [self.master], [], 0.1)
            if writable:
                data = data[os.write(self.master, data[:4096]) :]

    def read(self, wait_s: float) -> bool:
        """Take what the program sent; False when there was nothing, or its terminal is closed."""
        ready, _, _ = select.select([self.master], [], [], wait_s)
        if not ready:
            return False
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.take(data)
        return bool(data)

    def take(self, data: bytes) -> None:
        """What the program sent: kept, and drawn by the emulator."""
        self.sent += data
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data))

    def resize(self, columns: int, rows: int) -> None:
        """Another size of the terminal."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def text(self) -> str:
        """What the screen shows. The second cell of a wide sign is empty: pyte's own way fails when half a frame has come."""
        cells = range(self.screen.columns)
        return "\n".join("".join(self.screen.buffer[y][x].data for x in cells) for y in range(self.screen.lines))

    def wait_for(self, condition: str | Callable[[], bool], patience_s: float = PATIENCE_S) -> float:
        """Until the text is on the screen, or the condition holds; the seconds it took."""
        began = time.monotonic()
        while not (condition in self.text if isinstance(condition, str) else condition()):
            assert time.monotonic() - began < patience_s, f"{condition!r} never came:\n{self.text}"
            self.read(0.05)
        return time.monotonic() - began

    def wait_for_end(self) -> int:
        """The exit status, once everything the program sent is read."""
        began = time.monotonic()
        while self.process.poll() is None:
            assert time.monotonic() - began < PATIENCE_S, f"still running:\n{self.text}"
            self.read(0.05)
        while self.read(0.1):
            pass
        return self.process.returncode

    def mode(self) -> list[Any]:
        """The terminal's mode now."""
        return termios.tcgetattr(self._slave)

    def hang_up(self) -> None:
        """Close the terminal, as a closed window does."""
        os.close(self._slave)
        os.close(self.master)
        self.master = self._slave = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)


@contextlib.contextmanager
def on_terminal(
    *arguments: str, size: tuple[int, int] = (120, 40), environment: dict[str, str] | None = None
) -> Iterator[PtySession]:
    """Python with these arguments on a terminal of its own."""
    session = PtySession([sys.executable, *arguments], size, environment or {})
    try:
        yield session
    finally:
        session.close()
