"""Styled text broken into rows of a width, between words and never inside a character as a person sees it.

In: spans of cleaned text with styles. Out: rows of segments. Must not know: widgets, Markdown.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from agentclip.ui.foreign import cut_at

_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff"
    "\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_JOINED = "\u0300-\u036f\u3099\u309a\ufe00-\ufe0f"


Span = tuple[str, Style]
Row = list[Segment]


def wrap(spans: Iterable[Span], width: int, first: Sequence[Segment] = (), rest: Sequence[Segment] = ()) -> list[Row]:
    """Break at words. `first` and `rest` are put before the first row and the following ones and count into the width."""
    rows = _Rows(max(1, width), list(first), list(rest))
    for text, style in spans:
        for piece in _pieces().findall(text):
            rows.add(piece, style)
    return rows.finish()


def fold(found: Sequence[Segment], width: int) -> list[Row]:
    """Break exactly at the width, losing nothing: for text that is shown byte for byte."""
    width = max(1, width)
    rows: list[Row] = [[]]
    room = width
    for segment in found:
        text, at = segment.text, 0
        while at < len(text):
            end = cut_at(text, at, room)
            if end > at:
                rows[-1].append(Segment(text[at:end], segment.style))
                room -= cell_len(text[at:end])
            elif room == width:  # one character wider than the row
                rows[-1].append(Segment("…", segment.style))
                end = at + 1
            at = end
            if at < len(text):
                rows.append([])
                room = width
    return rows


@functools.cache
def _pieces() -> re.Pattern[str]:
    """Chinese and Japanese break between any two characters; all others at blanks. 3 ms, when there is text to wrap."""
    return re.compile(f"\\s+|[{_WIDE}][{_JOINED}]*|[^\\s{_WIDE}]+")


class _Rows:
    """Rows being filled."""

    def __init__(self, width: int, first: Row, rest: Row) -> None:
        self._width = width
        self._rest = rest
        self._rows: list[Row] = [first]
        self._used = _cells(first)
        self._start = self._used
        """Cells of the row's indent: where nothing has been added yet."""
        self._blank: Segment | None = None
        """White space that is only drawn when a word follows on the same row."""

    def add(self, piece: str, style: Style) -> None:
        if piece.isspace():
            if self._used > self._start or len(self._rows) == 1:
                room = self._width - self._used - 1
                self._blank = Segment(" " * min(len(piece), max(0, room)), style)
            return
        size = cell_len(piece)
        gap = len(self._blank.text) if self._blank else 0
        if self._used + gap + size > self._width and self._used > self._start:
            self._break()
        elif self._blank:
            self._put(self._blank.text, self._blank.style)
        self._blank = None
        at = 0
        while at < len(piece):
            end = cut_at(piece, at, max(0, self._width - self._used))
            if end == at and self._used == self._start:
                end += 1
            if end > at:
                self._put(piece[at:end], style)
            at = end
            if at < len(piece):
                self._break()

    def finish(self) -> list[Row]:
        return self._rows

    def _put(self, text: str, style: Style | None) -> None:
        row = self._rows[-1]
        if row and row[-1].style == style and self._used > self._start:
            row[-1] = Segment(row[-1].text + text, style)
        else:
            row.append(Segment(text, style))
        self._used += cell_len(text)

    def _break(self) -> None:
        self._rows.append(list(self._rest))
        self._used = self._start = _cells(self._rest)


def _cells(row: Sequence[Segment]) -> int:
    return sum(cell_len(segment.text) for segment in row)
