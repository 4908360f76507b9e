"""A terminal that takes text and nothing else: prints lines, reads lines, sends no control code ever.

The terminal's own line editing is all there is, so it works in `script`, an Emacs shell, on a serial console and with a screen
reader. A line that ends with a backslash goes on in the next one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Sequence

from agentclip.errors import ConfigError
from agentclip.line.front import Desk
from agentclip.line.output import Tty
from agentclip.line.text import Line, plain

PROMPT, CONTINUED = "> ", ". "
_READ = 64 * 1024


class PlainTerminal:
    """Standard input and output as they are."""

    echoes = True
    edits = False

    def __init__(self, tty: Tty) -> None:
        self._tty = tty
        self._asking = False
        """A prompt stands at the beginning of the last line."""
        self._begun: list[str] = []
        """Lines that ended with a backslash."""
        self._desk: Desk | None = None
        self._ended = asyncio.Event()

    @property
    def width(self) -> int:
        """Cells of a line."""
        return self._tty.size()[0]

    def show(self, shown: Sequence[Line]) -> None:
        """Print lines."""
        if shown:
            text = "".join(plain(each) + "\n" for each in shown)
            self._tty.write("\n" + text if self._asking else text)
            self._asking = False
            self._ask_soon()

    def refresh(self) -> None:
        """A prompt once nothing runs."""
        if not self._asking and self._desk is not None and not self._desk.busy and not self._ended.is_set():
            self._asking = True
            self._tty.write(CONTINUED if self._begun else PROMPT)

    def load(self, text: str) -> None:
        """Nothing can be put into the terminal's own line."""

    def use_theme(self, name: str) -> None:
        """There are no colours. Raises ConfigError."""
        raise ConfigError(f"no colours on this terminal; {name} is for others", hint="start with TERM=xterm if it knows them")

    async def serve(self, desk: Desk) -> None:
        """Take lines until the input ends."""
        self._desk = desk
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        try:
            # A daemon, and no Python file: it may wait for a line for ever.
            reader = threading.Thread(target=_read, args=[_caller(loop, self._entered, self._input_over)], daemon=True)
            reader.start()
            self.refresh()
            await self._ended.wait()
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def close(self) -> None:
        """End `serve`."""
        if self._asking:
            self._tty.write("\n")
            self._asking = False
        self._ended.set()

    def _ask_soon(self) -> None:
        asyncio.get_running_loop().call_soon(self.refresh)

    def _entered(self, text: str) -> None:
        assert self._desk is not None
        self._asking = False
        text = text.removesuffix("\r")
        if text.endswith("\\"):
            self._begun.append(text[:-1])
        else:
            whole = "\n".join([*self._begun, text])
            self._begun.clear()
            self._desk.entered(whole)
        self._ask_soon()

    def _interrupted(self) -> None:
        assert self._desk is not None
        self._begun.clear()
        self._asking = False
        self._tty.write("\n")  # behind the ^C that the terminal wrote
        self._desk.interrupted()
        self._ask_soon()

    def _input_over(self) -> None:
        assert self._desk is not None
        if os.isatty(0):
            self._desk.quit()
        else:
            self._desk.quit_when_idle()


def _caller(
    loop: asyncio.AbstractEventLoop, entered: Callable[[str], None], over: Callable[[], None]
) -> Callable[[str | None], bool]:
    """From the reading thread to the loop; False when the loop is gone."""

    def call(text: str | None) -> bool:
        try:
            loop.call_soon_threadsafe(over) if text is None else loop.call_soon_threadsafe(entered, text)
        except RuntimeError:
            return False
        return True

    return call


def _read(call: Callable[[str | None], bool]) -> None:
    rest = b""
    going_on = True
    while going_on:
        try:
            data = os.read(0, _READ)
        except OSError:
            data = b""
        *ended, rest = (rest + data).split(b"\n")
        if not data:
            if rest:
                call(rest.decode("utf-8", "replace"))
            call(None)
            return
        for each in ended:
            going_on = call(each.decode("utf-8", "replace"))
