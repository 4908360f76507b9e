"""The empty screen before the screen: drawn in one piece while everything else is still being loaded.

In: a look, the terminal. Out: bytes for it. Every sign it draws is one that the screen then draws in the same place and in the
same colours: a test compares cell by cell. Must not know: Textual, which takes longer to load than this to draw.
"""

from __future__ import annotations

import os
import re
import signal
import termios
import tomllib
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import groupby
from types import FrameType
from typing import TYPE_CHECKING, Any

from agentclip import paths
from agentclip.ui.background import dark_by_environment
from agentclip.ui.layout import NAME, NAME_FROM_COLUMNS, NO_RUN, PLACEHOLDER, TITLES, Arrangement, PaneName, Split, arrange

if TYPE_CHECKING:
    from rich.color import ColorSystem

KEYBOARD, TERMINAL = 0, 2
"""The descriptors that the screen reads and draws on."""
ALTERNATE, NORMAL = "\x1b[?1049h", "\x1b[?1049l"
ROUND, HEAVY = "╭─╮│╰╯", "┏━┓┃┗┛"
HEAD_ROWS = 2
COLOURS = (
    "foreground", "background", "surface", "panel", "raw-bg", "model-bg", "frame", "frame-focus", "muted", "heading",
)  # fmt: skip
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
GROUNDS = {PaneName.CHAT: "surface", PaneName.RAW: "raw-bg", PaneName.MODEL: "model-bg"}

Cell = tuple[str, str]
"""A sign, and the codes of its look."""


class Held:
    """The terminal between the picture and the screen. There is one terminal, and so one of these."""

    def __init__(self) -> None:
        self.mode: list[Any] | None = None
        """What it was before; None while nothing is held."""

    def hold(self, picture: str) -> None:
        """Show a picture; what is typed from now on waits, unseen, for the screen."""
        with suppress(termios.error, OSError):
            self.mode = termios.tcgetattr(KEYBOARD)
            unseen = termios.tcgetattr(KEYBOARD)
            unseen[tty.IFLAG] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
            unseen[tty.LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            termios.tcsetattr(KEYBOARD, termios.TCSANOW, unseen)
            _write(ALTERNATE + "\x1b[?25l" + picture)

    def take_over(self) -> list[Any] | None:
        """The screen has it from now on; the mode it was in before, None when nothing was held."""
        mode, self.mode = self.mode, None
        return mode

    def give_back(self) -> None:
        """As it was, unless the screen has taken it."""
        mode = self.take_over()
        if mode is not None:
            with suppress(termios.error, OSError):
                termios.tcsetattr(KEYBOARD, termios.TCSANOW, mode)
                _write("\x1b[0m\x1b[?7h" + NORMAL + "\x1b[?25h")


held = Held()


@contextmanager
def first_picture(theme: str, environ: Mapping[str, str], *, new: bool = True) -> Iterator[None]:
    """Show the empty screen at once, unless it stands already. What comes instead of the screen finds the terminal as it was.

    `new`: of a session in which nothing has run yet.
    """
    before = {number: signal.signal(number, handler) for number, handler in _HANDLERS.items()}
    try:
        colours = None if environ.get("NO_COLOR") else palette(theme, environ)
        if colours is not None and held.mode is None:
            with suppress(OSError):  # no terminal to ask
                size = os.get_terminal_size(TERMINAL)
                held.hold(picture((size.columns, size.lines), colours, color_system(environ), new=new))
        yield
    finally:
        held.give_back()
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def palette(theme: str, environ: Mapping[str, str]) -> dict[str, str] | None:
    """COLOURS out of the theme's file, as `#1c1f28`; None when it is not where it usually is, or has not all of them so."""
    if theme == "auto":
        theme = "light" if dark_by_environment(environ.get("COLORFGBG", "")) is False else "dark"
    for folder in (paths.user_themes_dir(), paths.shipped_themes_dir()):
        with suppress(OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            table = tomllib.loads((folder / f"{theme}.toml").read_text(encoding="utf-8"))
            parts = [part for part in (table.get("palette"), table.get("variables")) if isinstance(part, dict)]
            found = {name: value for part in parts for name, value in part.items()}
            whole = all(isinstance(found.get(name), str) and _HEX.fullmatch(found[name]) for name in COLOURS)
            return {name: found[name] for name in COLOURS} if whole and table.get("name") == theme else None
    return None


def color_system(environ: Mapping[str, str]) -> ColorSystem:
    """How many colours the terminal has, by the rule of Rich, which the screen follows."""
    from rich.color import ColorSystem  # noqa: PLC0415  registered deferred import

    if environ.get("COLORTERM", "").strip().lower() in {"truecolor", "24bit"}:
        return ColorSystem.TRUECOLOR
    colors = environ.get("TERM", "").strip().lower().rpartition("-")[2]
    return ColorSystem.EIGHT_BIT if colors in {"kitty", "256color"} else ColorSystem.STANDARD


def picture(size: tuple[int, int], colours: Mapping[str, str], system: ColorSystem, *, new: bool = True) -> str:
    """The codes that draw the empty screen; none for a terminal that is too small."""
    found = arrange(size, Split.BOTH, PaneName.CHAT, None)
    if found.too_small:
        return ""
    drawing = _Drawing(size, colours, system)
    drawing.draw(found, new=new)
    return drawing.codes()


class _Drawing:
    """Rows of cells."""

    def __init__(self, size: tuple[int, int], colours: Mapping[str, str], system: ColorSystem) -> None:
        from rich.color import Color  # noqa: PLC0415  registered deferred import

        self._width, self._height = size
        found = {name: Color.parse(value).downgrade(system) for name, value in colours.items()}
        self._fore = {name: ";".join(color.get_ansi_codes()) for name, color in found.items()}
        self._back = {name: ";".join(color.get_ansi_codes(foreground=False)) for name, color in found.items()}
        self._rows: list[list[Cell]] = []
        self._fill(0, 0, self._width, self._height, "background")

    def codes(self) -> str:
        """All of it."""
        rows = (
            "".join(
                f"\x1b[0;{look}m{''.join(sign for sign, _ in cells)}" for look, cells in groupby(row, key=lambda cell: cell[1])
            )
            for row in self._rows
        )
        return "\x1b[?7l" + "".join(f"\x1b[{y};1H{row}" for y, row in enumerate(rows, 1)) + "\x1b[0m"

    def draw(self, found: Arrangement, *, new: bool) -> None:
        """What is in view of the empty screen."""
        top = 1 + bool(found.tabs)
        below = 1 if found.low else 4
        bottom = self._height - below
        self._fill(0, 0, self._width, 1, "panel")
        self._text(0, 0, NAME if self._width >= NAME_FROM_COLUMNS else "", self._look("heading", "panel", bold=True))
        left = self._width // 2 if found.right and PaneName.CHAT in found.panes else 0
        layers = [name for name in (PaneName.RAW, PaneName.MODEL) if name in found.panes]
        if PaneName.CHAT in found.panes:
            self._pane(PaneName.CHAT, (0, top, left or self._width, bottom - top), framed=not found.low)
        if layers:
            self._fill(left, top, self._width - left, HEAD_ROWS, "panel")
            self._text(left, top, NO_RUN if new else "", self._look("muted", "panel"))
            top += HEAD_ROWS
        for number, name in enumerate(layers, 1):
            until = top + (bottom - top) // (len(layers) - number + 1)
            self._pane(name, (left, top, self._width - left, until - top), framed=not found.low)
            top = until
        self._prompt(bottom, framed=not found.low)

    def _pane(self, name: PaneName, place: tuple[int, int, int, int], *, framed: bool) -> None:
        x, y, width, height = place
        ground = GROUNDS[name]
        self._fill(x, y, width, height, ground)
        self._fill(x + width - 1 - framed, y + framed, 1, height - 2 * framed, "panel")  # the bar that scrolls
        if framed:
            self._frame(place, ROUND, self._look("frame", ground))
            self._text(x + 2, y, f" {TITLES[name]} ", self._look("muted", ground))

    def _prompt(self, y: int, *, framed: bool) -> None:
        rows = 3 if framed else 1
        self._fill(0, y, self._width, rows, "surface")
        if framed:
            self._frame((0, y, self._width, rows), HEAVY, self._look("frame-focus", "surface"))
        x, y = 1 + framed, y + framed
        self._text(x, y, PLACEHOLDER, self._look("muted", "surface"))
        self._text(x, y, PLACEHOLDER[0], self._look("surface", "foreground"))

    def _look(self, fore: str, back: str, *, bold: bool = False) -> str:
        return f"{'1;' * bold}{self._fore[fore]};{self._back[back]}"

    def _fill(self, x: int, y: int, width: int, height: int, ground: str) -> None:
        cells = [(" ", self._look("foreground", ground))] * width
        if len(self._rows) < self._height:
            self._rows = [[] for _ in range(self._height)]
        for row in self._rows[y : y + height]:
            row[x : x + width] = cells

    def _text(self, x: int, y: int, text: str, look: str) -> None:
        room = self._rows[y][x : x + len(text)]
        self._rows[y][x : x + len(room)] = [(sign, look) for sign in text[: len(room)]]

    def _frame(self, place: tuple[int, int, int, int], signs: str, look: str) -> None:
        x, y, width, height = place
        self._text(x, y, signs[0] + signs[1] * (width - 2) + signs[2], look)
        for row in range(y + 1, y + height - 1):
            self._text(x, row, signs[3], look)
            self._text(x + width - 1, row, signs[3], look)
        self._text(x, y + height - 1, signs[4] + signs[1] * (width - 2) + signs[5], look)


def _write(codes: str) -> None:
    data = codes.encode()
    while data:
        data = data[os.write(TERMINAL, data) :]


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _stay(_number: int, _frame: FrameType | None) -> None:
    """Nothing here can be stopped and gone on with."""


_HANDLERS = {signal.SIGTERM: _end, signal.SIGHUP: _end, signal.SIGTSTP: _stay}
