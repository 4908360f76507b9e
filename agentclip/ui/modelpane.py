"""Layer 2: exactly the text the model reads of one run, without markup, folded at the width and changed in nothing else."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import ClassVar

from rich.segment import Segment
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from agentclip.results import Limits, Presented
from agentclip.ui.actions import Place, bindings
from agentclip.ui.find import Search, Words
from agentclip.ui.find_rows import RowSearch
from agentclip.ui.foreign import expand_tabs, one_line, segments
from agentclip.ui.format import size
from agentclip.ui.half_blocks import picture_rows
from agentclip.ui.layout import TITLES, PaneName
from agentclip.ui.pane import Pane
from agentclip.ui.runs import Run
from agentclip.ui.themes import Ink
from agentclip.ui.wrap import Row, fold

PICTURE_ROWS = 16
"""Rows a picture may take."""


class ModelPane(Pane):
    """What the model reads."""

    GUTTER = 2
    ALIVE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings(Place.MODEL)

    class Jump(Message):
        """The person wants to see a line in the raw pane."""

        def __init__(self, raw_line: int) -> None:
            super().__init__()
            self.raw_line = raw_line
            """0-based line of stdout."""

    def __init__(self, ink: Ink, limits: Limits) -> None:
        super().__init__(ink, "model")
        self.run: Run | None = None
        self._limits = limits
        self._rows: list[Row] = []
        self._lines: list[int] = []
        """The line of the text each row belongs to."""
        self._made_for: tuple[int, Ink, Presented | None] | None = None
        self._hits: dict[int, list[tuple[int, int]]] = {}
        self._hits_for: tuple[list[Row], Words | None] | None = None
        """The rows and words that the hits are of."""
        self._pictures: dict[tuple[str, int], tuple[Row, ...]] = {}
        """What is drawn, by path and columns."""
        self._title()

    def total_rows(self) -> int:
        """Rows at the present width."""
        return len(self._rows)

    def strip_at(self, row: int) -> Strip:
        """One row."""
        return Strip(self._rows[row]) if row < len(self._rows) else Strip([], 0)

    @property
    def stale(self) -> bool:
        """The run ended since it was drawn."""
        return self.run is not None and self._made_for is not None and self.run.shown is not self._made_for[2]

    def show(self, run: Run | None) -> None:
        """Another run, or the same one when it has ended."""
        if run is not self.run:
            self.point(None)
            self.scroll_to(y=0, animate=False, force=True)
        self.run = run
        self._title()
        self.rows_changed()

    def restyle(self, ink: Ink) -> None:
        """Another theme."""
        super().restyle(ink)
        self.rows_changed()

    def rows_changed(self) -> None:
        """Fold the text at the width, unless that is done."""
        shown = self.run.shown if self.run else None
        key = (self.columns, self.ink, shown)
        if key != self._made_for:
            self._made_for = key
            self.forget_selection()
            self._fold(shown)
        super().rows_changed()

    def go_to_line(self, line: int) -> None:
        """Bring a line of the text into view."""
        row = bisect_right(self._lines, line - 1)
        self.point(row)
        self.go_to(row, middle=True)

    def search(self, words: Words) -> Search:
        """Look through the text, which is all there."""
        return RowSearch(sorted(_hits(self._rows, self._lines, words)[1]), "row")

    @property
    def searching(self) -> object:
        """The rows; another width makes others."""
        return self._rows

    def hits_at(self, row: int) -> list[tuple[int, int]]:
        """Places in the text, also those that go over the end of a row."""
        key = (self._rows, self.words)
        if self._hits_for is None or self._hits_for[0] is not key[0] or self._hits_for[1] != key[1]:
            self._hits_for = key
            self._hits = _hits(self._rows, self._lines, self.words)[0] if self.words else {}
        return self._hits.get(row, [])

    def action_jump(self) -> None:
        """Show the row clicked, else the first one in view, in Layer 1."""
        row = self.pointed_row
        shown = self.run.shown if self.run else None
        if shown is None or row >= len(self._lines):
            return
        line = self._lines[row]
        for entry in reversed(shown.ranges):
            if entry.text_line is not None and entry.text_line <= line:
                self.post_message(self.Jump(min(entry.last, entry.first + line - entry.text_line)))
                return

    def _fold(self, shown: Presented | None) -> None:
        self._rows, self._lines = [], []
        if shown is None:
            if self.run is not None:
                self._rows = [[Segment("  the model reads this run when it has ended", self.ink["muted"])]]
                self._lines = [0]
            return
        room = self.columns - self.GUTTER
        for number, line in enumerate(shown.text.split("\n")):
            whole = expand_tabs(segments(line, self.ink["model-fg"], self.ink["mark"]))
            for index, row in enumerate(fold(whole, room)):
                self._rows.append([Segment("  " if index == 0 else "↳ ", self.ink["muted"]), *row])
                self._lines.append(number)
        for image in shown.images:
            text = f"+ image {one_line(image.source)} {image.mime} {image.width}x{image.height}"
            drawn = [[Segment("  "), *row] for row in self._picture(image.path, room)]
            for row in ([Segment(text, self.ink["changed"])], *drawn):
                self._rows.append(row)
                self._lines.append(self._lines[-1])

    def _picture(self, path: str, columns: int) -> tuple[Row, ...]:
        """What is drawn of a picture; nothing at first, while it is decoded on a thread."""
        if self.app.no_color:
            return ()
        key = (path, columns)
        if key not in self._pictures:
            self._pictures[key] = ()
            self.run_worker(self._decode(key), name="picture", exit_on_error=True)
        return self._pictures[key]

    async def _decode(self, key: tuple[str, int]) -> None:
        self._pictures[key] = await asyncio.to_thread(picture_rows, *key, PICTURE_ROWS)
        self._made_for = None
        self.rows_changed()

    def _title(self) -> None:
        shown = self.run.shown if self.run else None
        used = f"   {size(len(shown.text.encode('utf-8', 'replace')))} of {size(self._limits.bytes)}" if shown else ""
        self.border_title = f"{TITLES[PaneName.MODEL]}{used}"


def _hits(rows: list[Row], lines: list[int], words: Words) -> tuple[dict[int, list[tuple[int, int]]], set[int]]:
    """Places by row, in characters of the row with its sign; and the rows in which one begins."""
    found: dict[int, list[tuple[int, int]]] = {}
    begins: set[int] = set()
    first = 0
    while first < len(rows):
        last = first + 1
        while last < len(rows) and lines[last] == lines[first]:
            last += 1
        texts = ["".join(segment.text for segment in row[1:]) for row in rows[first:last]]
        for start, end in words.spans("".join(texts)):
            offset, new = 0, True
            for row, text in enumerate(texts, first):
                low, high = max(0, start - offset), min(len(text), end - offset)
                if low < high:
                    found.setdefault(row, []).append((low + ModelPane.GUTTER, high + ModelPane.GUTTER))
                    begins |= {row} if new else set()
                    new = False
                offset += len(text)
        first = last
    return found, begins
