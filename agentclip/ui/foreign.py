"""Foreign text (commands, files, models, the network, names) on its way to the screen.

In: any string or raw bytes. Out: segments without control characters: SGR colours become styles, everything else that could act
on a terminal becomes a visible mark. Every text of the screen passes here; `ForeignFilter` is the last guard for what widgets
draw by themselves.
Must not know: widgets, events, themes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile

from rich.ansi import SGR_STYLE_MAP
from rich.cells import cell_len, split_graphemes
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as ScreenColor
from textual.filter import LineFilter

from agentclip.foreign import FOREIGN, FOREIGN_OR_TAB, FOREIGN_RUN, decode, mark, one_line, visible

__all__ = [
    "ForeignFilter", "cut_at", "decode", "expand_tabs", "fit", "mark", "one_line", "segments", "tabs_as_blanks",
    "take_cells", "terminal_segments", "visible", "without_colours",
]  # fmt: skip

TAB = 8
_LOOK = 8
"""Code points looked at per cell: enough for families and flags; a longer heap of joined signs may be cut inside."""
_SGR = re.compile(r"\x1b\[([0-9;:]{0,64})m")
_HIDING = frozenset({5, 6, 8})
"""Blinking and concealed text would not be readable all the time: shown plainly."""
_UNDERLINES = range(6)
"""Second number of 4: none, single, double, curly, dotted, dashed; all but none are shown as a single one."""
_NOT_UNDERLINED = Style(underline=False, underline2=False)


def segments(text: str, style: Style, mark_style: Style) -> list[Segment]:
    """Plain text as segments, marks in their own style, tabs kept."""
    if FOREIGN.search(text) is None:
        return [Segment(text, style)] if text else []
    parts = FOREIGN_RUN.split(text)
    return [Segment(visible(part), style + mark_style if index % 2 else style) for index, part in enumerate(parts) if part]


def terminal_segments(text: str, style: Style, mark_style: Style) -> list[Segment]:
    """One line of terminal output as segments: colours (SGR) become styles, other escapes become marks, tabs become blanks."""
    if FOREIGN_OR_TAB.search(text) is None:
        return [Segment(text, style)] if text else []
    found: list[Segment] = []
    current = style
    position = 0
    for match in _SGR.finditer(text):
        found += segments(text[position : match.start()], current, mark_style)
        current = _next_style(style, current, match.group(1))
        position = match.end()
    found += segments(text[position:], current, mark_style)
    return expand_tabs(found)


def without_colours(text: str) -> str:
    """The text without SGR codes; other escapes stay."""
    return _SGR.sub("", text)


def expand_tabs(found: Iterable[Segment]) -> list[Segment]:
    """Tabs as blanks up to the next stop, counted in cells."""
    expanded: list[Segment] = []
    column = 0
    for segment in found:
        text = tabs_as_blanks(segment.text, column)
        column += cell_len(text)
        expanded.append(Segment(text, segment.style))
    return expanded


def tabs_as_blanks(text: str, column: int = 0) -> str:
    """Visible text whose tabs are blanks up to the next stop; it begins at `column` (cells)."""
    if "\t" not in text:
        return text
    first, *others = text.split("\t")
    pieces = [first]
    column += cell_len(first)
    for other in others:
        blanks = " " * (TAB - column % TAB)
        column += len(blanks) + cell_len(other)
        pieces += [blanks, other]
    return "".join(pieces)


def fit(text: str, width: int) -> str:
    """At most `width` cells of a line, cut between characters as a person sees them, with an ellipsis when cut."""
    if cell_len(text) <= width:
        return text
    return take_cells(text, max(0, width - 1))[0] + "…" if width > 0 else ""


def take_cells(text: str, width: int) -> tuple[str, str]:
    """Split after at most `width` cells, never inside a character as a person sees it."""
    end = cut_at(text, 0, width)
    return text[:end], text[end:]


def cut_at(text: str, start: int, width: int) -> int:
    """Where to cut so that `text[start:cut]` has at most `width` cells. Looks only at what may fit, however long the text."""
    if text.isascii():
        return min(len(text), start + width)
    piece = text[start : start + _LOOK * (width + 8)]
    spans, _ = split_graphemes(piece)
    used = 0
    for begin, end, told in spans:
        size = told or cell_len(piece[begin:end])  # joiners without anything to join hide a letter from the splitter
        if used + size > width:
            return start + begin
        used += size
    return start + len(piece)


@lru_cache(maxsize=1024)
def _next_style(base: Style, current: Style, parameters: str) -> Style:
    """The style behind an SGR code. `;` parts parameters, `:` the subparameters of one (ITU T.416); unknown ones count not."""
    style = current
    left = [[int(value or 0) for value in parameter.split(":")] for parameter in parameters.split(";")]
    while left:
        match left.pop(0):
            case [38 | 48 | 58 as code, *own]:
                colour, used = _extended_colour(_without_space(own) if own else _plain(left))
                del left[: 0 if own else used]
                style += _coloured(code, colour)
            case [0]:
                style = base
            case [4, shape, *_] if shape in _UNDERLINES:
                style += _sgr(base, 4 if shape else 24)
            case [code] if code not in _HIDING and code in SGR_STYLE_MAP:
                style += _sgr(base, code)
    return style


def _sgr(base: Style, code: int) -> Style:
    match code:
        case 24:
            return _NOT_UNDERLINED
        case 39:
            return Style(color=base.color)
        case 49:
            return Style(bgcolor=base.bgcolor)
        case _:
            return Style.parse(SGR_STYLE_MAP[code])


def _coloured(code: int, colour: Color | None) -> Style:
    """The style of 38 or 48; the colour of an underline (58) is not shown."""
    if code == 38:
        return Style(color=colour)
    return Style(bgcolor=colour) if code == 48 else Style()


def _plain(parameters: list[list[int]]) -> list[int]:
    """The first parameters, as far as they are without subparameters."""
    return [parameter[0] for parameter in takewhile(lambda parameter: len(parameter) == 1, parameters)]


def _without_space(subparameters: list[int]) -> list[int]:
    """The colour of 38, 48 or 58 without the colour space that may stand before red, green and blue."""
    return [2, *subparameters[2:]] if subparameters[0] == 2 and len(subparameters) > 4 else subparameters


def _extended_colour(codes: list[int]) -> tuple[Color | None, int]:
    """The colour after 38, 48 or 58, and how many codes it took; all when it is of an unknown kind."""
    match codes:
        case [5, number, *_]:
            return (Color.from_ansi(number) if number < 256 else None), 2
        case [2, red, green, blue, *_]:
            valid = max(red, green, blue) < 256
            return (Color.from_rgb(red, green, blue) if valid else None), 4
        case _:
            return None, len(codes)


class ForeignFilter(LineFilter):
    """Last guard: whatever a widget renders, no acting character leaves for the terminal, and no hyperlink either."""

    def apply(self, segments: list[Segment], background: ScreenColor) -> list[Segment]:  # noqa: ARG002  the background is part of Textual's signature
        """Return the segments as they are, or with acting characters replaced one cell each."""
        if not any(_acts(segment) for segment in segments):
            return segments
        return [Segment(FOREIGN_OR_TAB.sub(_one_cell, text), style and style.update_link(None)) for text, style, _ in segments]


def _acts(segment: Segment) -> bool:
    return FOREIGN_OR_TAB.search(segment.text) is not None or bool(segment.style and segment.style.link)


def _one_cell(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == 9:
        return " "
    return chr(0x2400 + code) if code < 0x20 else "�"
