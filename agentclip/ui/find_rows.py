"""Searches in the rows of the panes: the spools of a run, the text the model reads.

In: what the panes draw from. Out: hits as rows. Must not know: widgets.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from agentclip.ui.find import Hit, Pending, Words
from agentclip.ui.find_spool import StreamHits
from agentclip.ui.spool_rows import SpoolRows


class SpoolSearch:
    """Layer 1: every line of every stream of a run. Lines are counted, not places in them."""

    unit = "line"

    def __init__(self, rows: SpoolRows, words: Words) -> None:
        self._rows = rows
        self._words = words
        self._streams: dict[int | None, StreamHits] = {}

    def grow(self) -> bool:
        """Take the sizes of now; whether there is something to look at. Not while something looks."""
        for stage, path, size in self._rows.sizes():
            stream = self._streams.setdefault(stage, StreamHits(path, 0, self._words))
            stream.grow(size)
        return not all(stream.finished for stream in self._streams.values())

    @property
    def share(self) -> float:
        """How much is looked at, 0 to 1."""
        total = sum(stream.size for stream in self._streams.values())
        left = sum(stream.size - stream.done for stream in self._streams.values() if not stream.finished)
        return 1.0 - left / total if total else 1.0

    @property
    def total(self) -> int:
        """Lines with the words in what is looked at."""
        return sum(stream.total for stream in self._streams.values())

    def look(self, stopped: Callable[[], bool]) -> None:
        """The small streams first: a hit is the next one only when no other stream has one before it."""
        for stream in sorted(self._streams.values(), key=lambda each: each.size):
            if not stream.finished:
                stream.look(stopped)

    def hit(self, row: int, step: int, *, here: bool) -> Hit | Pending | None:
        """The next row with the words."""
        edge = row + (here if step < 0 else not here)
        wrapped = False
        found = self._next(edge, step)
        if found is None:
            wrapped = True
            found = self._next(0 if step > 0 else self._rows.total, step)
        return found if found is None or isinstance(found, Pending) else Hit(found, self._number(found), wrapped)

    def _next(self, edge: int, step: int) -> int | Pending | None:
        """The nearest row with the words from an edge between rows on."""
        found: list[int] = []
        for stage, stream in self._streams.items():
            before = stream.before(self._rows.lines_before(edge, stage))
            number = before if step > 0 or before is None else before - 1
            if number is None or (number >= stream.total and not stream.finished):
                return Pending()
            if 0 <= number < stream.total:
                row = self._row(stream.line(number), stage)
                if row is None:
                    return Pending()
                found.append(row)
        return None if not found else min(found) if step > 0 else max(found)

    def _row(self, line: int, stage: int | None) -> int | None:
        """None while the pane does not know the line yet."""
        if self._rows.covers(line, stage):
            return self._rows.row_of(line, stage)
        return max(0, self._rows.total - 1) if self._rows.complete else None

    def _number(self, row: int) -> int | None:
        before = [stream.before(self._rows.lines_before(row, stage)) for stage, stream in self._streams.items()]
        return None if None in before else 1 + sum(each for each in before if each is not None)


class RowSearch:
    """Rows that are all there: their numbers are known at once."""

    share = 1.0

    def __init__(self, rows: Sequence[int], unit: str) -> None:
        self._rows = rows
        self.unit = unit

    @property
    def total(self) -> int:
        """How many."""
        return len(self._rows)

    def grow(self) -> bool:
        """Nothing more to look at."""
        return False

    def look(self, stopped: Callable[[], bool]) -> None:
        """Done already."""

    def hit(self, row: int, step: int, *, here: bool) -> Hit | None:
        """The next of the rows."""
        if not self._rows:
            return None
        at = bisect_left(self._rows, row + (here if step < 0 else not here)) + min(0, step)
        return Hit(self._rows[at % len(self._rows)], at % len(self._rows) + 1, wrapped=not 0 <= at < len(self._rows))
