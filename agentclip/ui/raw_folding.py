"""Long lines of Layer 1 folded at the width: only rows in view are folded, whatever the size of the spool.

In: whole rows by number. Out: which rows and parts of them a view holds. One scrolls by rows, so that nobody has to know how
high the rows above are. Must not know: widgets, files.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from textual.strip import Strip

from agentclip.ui.wrap import fold

Place = tuple[int, int]
"""A row, and the part of it, 0 for the first."""


class Folding:
    """Of one pane; `forget` when its rows or its size change."""

    def __init__(self, whole_at: Callable[[int], Strip], gutter: int) -> None:
        self._whole_at = whole_at
        self._gutter = gutter
        """Cells of signs before each row."""
        self.width = 1
        """Cells of a line, signs included."""
        self.height = 1
        """Lines in view: no row has more parts."""
        self._heights: dict[int, int] = {}
        self._in_view: tuple[Place, list[Place]] | None = None
        """First row and count of rows, and the places from there."""

    def forget(self, width: int, height: int) -> None:
        """Rows or size are other ones."""
        self.width, self.height = width, height
        self._heights.clear()
        self._in_view = None

    def parts(self, strip: Strip) -> list[list[Segment]]:
        """The text of a whole row, line by line, without its signs."""
        room = max(1, self.width - self._gutter)
        if strip.cell_length <= self.width:
            return [list(strip.crop(self._gutter))]
        return fold(list(strip.crop(self._gutter)), room) or [[]]

    def high(self, row: int) -> int:
        """Lines of a row."""
        if row not in self._heights:
            self._heights[row] = min(self.height, len(self.parts(self._whole_at(row))))
        return self._heights[row]

    def places(self, first: int, total: int) -> list[Place]:
        """What stands on the lines of the view when a row is at its top."""
        key = (first, total)
        if self._in_view is None or self._in_view[0] != key:
            found: list[Place] = []
            row = first
            while len(found) < self.height and row < total:
                found += [(row, part) for part in range(self.high(row))]
                row += 1
            self._in_view = (key, found[: self.height])
        return self._in_view[1]

    def top_for(self, last: int, lines: int) -> int:
        """The row at the top when `last` ends at most so many lines below; at least that row itself."""
        self._whole_at(max(0, last - lines))  # what stands together is read together
        row, left = last, lines - self.high(last)
        while row > 0 and left >= self.high(row - 1):
            row -= 1
            left -= self.high(row)
        return row

    def cut(self, strip: Strip, part: int) -> Strip:
        """One part of a whole row with its signs; the last one in view says when there is more."""
        parts = self.parts(strip)
        if part >= len(parts):
            return Strip([])
        signs = list(strip.crop(0, self._gutter)) if part == 0 else [Segment("↳ ")]
        found = Strip([*signs, *parts[part]])
        if part == self.height - 1 and part + 1 < len(parts):
            return Strip([*found.crop(0, self.width - 1), Segment("»")])
        return found

    def shift(self, strip: Strip, part: int) -> int:
        """Cells of a whole row before a part of it."""
        return sum(segment.cell_length for row in self.parts(strip)[:part] for segment in row)
