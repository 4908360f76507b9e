"""Long lines of Layer 1 folded at the width: only rows near the view are folded, whatever the size of the spool.

In: whole rows by number. Out: which rows and parts of them a view holds, and those some lines further. Nobody has to know how
high the rows above are. Must not know: widgets, files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from agentclip.ui.wrap import fold

Place = tuple[int, int]
"""A row, and the part of it, 0 for the first."""
_KEPT = 8
"""Rows whose parts are kept, in views."""


class Folding:
    """Of one pane; `forget` when its rows or its size change."""

    def __init__(self, whole_at: Callable[[int], Strip], gutter: int) -> None:
        self._whole_at = whole_at
        self._gutter = gutter
        """Cells, and characters, of signs before each row."""
        self.width = 1
        """Cells of a line, signs included."""
        self.height = 1
        """Lines in view."""
        self._edges: dict[int, list[int]] = {}
        self._in_view: tuple[tuple[Place, int], list[Place]] | None = None
        """First place and count of rows, and the places from there."""
        self._end: tuple[int, Place] | None = None
        """Count of rows, and the place at the top when one is at the end."""

    def forget(self, width: int, height: int) -> None:
        """Rows or size are other ones."""
        self.width, self.height = width, height
        self._edges.clear()
        self._in_view = self._end = None

    def high(self, row: int) -> int:
        """Lines of a row."""
        return len(self._edges_of(row)) - 1

    def places(self, first: Place, total: int) -> list[Place]:
        """What stands on the lines of the view when a place is at its top."""
        key = (first, total)
        if self._in_view is None or self._in_view[0] != key:
            found: list[Place] = []
            row, part = first
            while len(found) < self.height and row < total:
                found += [(row, each) for each in range(part, self.high(row))]
                row, part = row + 1, 0
            self._in_view = (key, found[: self.height])
        return self._in_view[1]

    def moved(self, place: Place, lines: int, total: int) -> Place:
        """The place so many lines below, above when they are negative; the first or the last one when there are not as many."""
        row, part = place[0], place[1] + lines
        if part < 0:
            self._whole_at(max(0, row + part))  # what stands together is read together
        while part < 0 and row > 0:
            row -= 1
            part += self.high(row)
        while part >= self.high(row) and row + 1 < total:
            part -= self.high(row)
            row += 1
        return row, min(max(0, part), self.high(row) - 1)

    def end(self, total: int) -> Place:
        """What is at the top when the last line of the last row is at the bottom."""
        if self._end is None or self._end[0] != total:
            last = max(0, total - 1)
            self._end = (total, self.moved((last, self.high(last) - 1), 1 - self.height, total))
        return self._end[1]

    def character(self, place: Place) -> int:
        """Where a part begins, in characters of the whole row."""
        row, part = place
        return self._edges_of(row)[min(part, self.high(row) - 1)]

    def part_of(self, row: int, character: int) -> int:
        """The part that a character of the whole row is in."""
        return max(0, min(bisect_right(self._edges_of(row), character), self.high(row)) - 1)

    def cut(self, row: int, strip: Strip, part: int) -> Strip:
        """One part of a row with its signs; the strip is the whole row, in whatever colours."""
        if part >= self.high(row):
            return Strip([])
        start, end = self._edges_of(row)[part : part + 2]
        signs = list(strip.crop(0, self._gutter)) if part == 0 else [Segment("↳ ")]
        return Strip([*signs, *_characters(strip, start, end)])

    def shift(self, row: int, part: int) -> int:
        """Cells of a whole row, behind its signs, before a part of it."""
        return cell_len(self._whole_at(row).text[self._gutter : self.character((row, part))])

    def _edges_of(self, row: int) -> list[int]:
        """Where each part of a row begins, in characters of the whole row, and where the last one ends."""
        if row not in self._edges:
            if len(self._edges) > _KEPT * self.height:
                self._edges.clear()
            self._edges[row] = self._fold(self._whole_at(row))
        return self._edges[row]

    def _fold(self, strip: Strip) -> list[int]:
        if strip.cell_length <= self.width:
            return [self._gutter, max(self._gutter, len(strip.text))]
        parts = fold(list(strip.crop(self._gutter)), max(1, self.width - self._gutter))
        return list(accumulate((sum(len(segment.text) for segment in part) for part in parts), initial=self._gutter))


def _characters(strip: Strip, start: int, end: int) -> list[Segment]:
    """What stands from one character to another."""
    found: list[Segment] = []
    position = 0
    for text, style, _ in strip:
        if position >= end:
            break
        if piece := text[max(0, start - position) : end - position]:
            found.append(Segment(piece, style))
        position += len(text)
    return found
