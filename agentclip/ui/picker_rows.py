"""Rows of a picker: which fit what was typed, and how they are drawn. Any number of them: only rows in view are drawn.

In: rows, a query, keys' steps. Out: the row under the cursor. Must not know: what the values mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agentclip.ui.foreign import fit, one_line

T = TypeVar("T")
_WHEEL_ROWS = 3
_DETAIL_SHARE = 0.4
"""Of the width: a detail may have that much when the title needs the rest."""


class Row(Struct, Generic[T], frozen=True):
    """One thing to choose. All texts may be foreign: they are shown, never obeyed."""

    title: str
    value: T
    detail: str = ""
    """Shown at the right, in a quieter colour."""
    current: bool = False
    """It is what is in use now: marked with a sign."""
    words: str = ""
    """Searched, not shown."""


class Matcher(Generic[T]):
    """Rows that can be searched: every word typed must stand somewhere in a row, or else its letters in order in the title."""

    def __init__(self, rows: Sequence[Row[T]]) -> None:
        self.rows = rows
        self._texts = [f"{row.title} {row.detail} {row.words}".lower() for row in rows]

    def fitting(self, query: str, *, scattered: bool = True) -> list[int]:
        """Indexes of the rows that fit; those whose title begins with the query come first."""
        words = query.lower().split()
        if not words:
            return list(range(len(self.rows)))
        first, *rest = words
        found = [index for index, text in enumerate(self._texts) if first in text]
        for word in rest:
            found = [index for index in found if word in self._texts[index]]
        if not found:
            return self._scattered("".join(words)) if scattered else []
        start = " ".join(words)
        return sorted(found, key=lambda index: not self._texts[index].startswith(start))

    def _scattered(self, letters: str) -> list[int]:
        pattern = re.compile("[^\0]*?".join(map(re.escape, letters[:64])))
        return [index for index, row in enumerate(self.rows) if pattern.search(row.title[:200].lower())]


class PickerRows(Widget, Generic[T]):
    """The rows in view, the cursor, the mouse."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "picker--row",
        "picker--cursor",
        "picker--detail",
        "picker--cursor-detail",
        "picker--match",
    }

    class Clicked(Message):
        """The row under the mouse was chosen."""

    class Moved(Message):
        """The cursor stands on another row, or on none."""

    def __init__(self, rows: Sequence[Row[T]]) -> None:
        super().__init__(id="picker-rows")
        self._matcher = Matcher(rows)
        self._fitting = self._matcher.fitting("")
        self._offered: Row[T] | None = None
        self._query = ""
        self._cursor = 0
        self._top = 0

    def __len__(self) -> int:
        return len(self._fitting) + (self._offered is not None)

    @property
    def row(self) -> Row[T] | None:
        """The row under the cursor; None when none fits."""
        return self._row_at(self._cursor) if len(self) else None

    def _row_at(self, at: int) -> Row[T]:
        if at < len(self._fitting):
            return self._matcher.rows[self._fitting[at]]
        assert self._offered is not None
        return self._offered

    @property
    def amount(self) -> tuple[int, int, int]:
        """Place of the cursor (from 1, 0 for none), rows that fit, all rows."""
        return (self._cursor + 1 if len(self) else 0), len(self), len(self._matcher.rows)

    @property
    def searched(self) -> str:
        """What the rows fit."""
        return self._query

    def fill(self, rows: Sequence[Row[T]]) -> None:
        """Other rows; the cursor stays at its value where that is still there, else at its place."""
        before = self.row
        self._matcher = Matcher(rows)
        self._fitting = self._matcher.fitting(self._query)
        if before is not None:
            self.go_to(before.value)
        self._step(0)

    def search(self, query: str, offered: Row[T] | None = None) -> None:
        """Only rows that fit, then one that is `offered` all the same; the cursor goes to the first."""
        self._query, self._offered = query, offered
        self._fitting = self._matcher.fitting(query, scattered=offered is None)
        self._cursor = self._top = 0
        self._step(0)

    def go_to(self, value: T) -> None:
        """The cursor to the row with this value, if there is one."""
        values = [self._matcher.rows[index].value for index in self._fitting]
        if value in values:
            self._cursor = values.index(value)
            self._step(0)

    def move(self, rows: int) -> None:
        """The cursor by rows; it stops at the ends."""
        self._step(rows)

    def page(self, pages: int) -> None:
        """The cursor by pages."""
        self._step(pages * max(1, self.size.height - 1))

    def end(self, direction: int) -> None:
        """The cursor to the last row, or the first for -1."""
        self._step(direction * len(self))

    def _step(self, rows: int) -> None:
        self._cursor = max(0, min(self._cursor + rows, len(self) - 1))
        self._into_view()
        self.refresh()
        self.post_message(self.Moved())

    def _into_view(self) -> None:
        height = max(1, self.size.height)
        self._top = max(self._cursor - height + 1, min(self._top, self._cursor))
        self._top = max(0, min(self._top, len(self) - height))

    def on_resize(self) -> None:
        """Another height: the cursor stays in view."""
        self._into_view()
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        self._step(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        self._step(-_WHEEL_ROWS)

    def on_click(self, event: events.Click) -> None:
        """The first click brings the cursor, a click on the row of the cursor chooses it."""
        event.stop()
        at = self._top + event.y
        if at >= len(self):
            return
        chosen = at == self._cursor
        self._step(at - self._cursor)
        if chosen:
            self.post_message(self.Clicked())

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        at = self._top + y
        width = self.size.width
        base = self.rich_style
        if at >= len(self):
            return Strip.blank(width, base)
        row = self._row_at(at)
        segments = self._drawn(row, width - 1, cursor=at == self._cursor)
        return Strip([*segments, Segment(self._thumb(y), base)]).crop_extend(0, width, base)

    def _drawn(self, row: Row[T], width: int, *, cursor: bool) -> list[Segment]:
        look = self.get_component_rich_style("picker--cursor" if cursor else "picker--row")
        quiet = self.get_component_rich_style("picker--cursor-detail" if cursor else "picker--detail")
        sign = ("> " if cursor else "  ") + ("* " if row.current else "")
        title, detail = one_line(row.title, 400), one_line(row.detail, 400)
        room = max(0, width - cell_len(sign) - 1)
        if cell_len(title) + cell_len(detail) + 2 > room:
            detail = fit(detail, max(int(room * _DETAIL_SHARE), room - cell_len(title) - 2))
        detail = f"  {detail}" if detail else ""
        title = fit(title, max(0, room - cell_len(detail)))
        gap = " " * max(0, room - cell_len(title) - cell_len(detail))
        return [Segment(sign, look), *self._marked(title, look), Segment(gap, look), Segment(detail + " ", quiet)]

    def _marked(self, title: str, look: Style) -> list[Segment]:
        """The title with what was typed made visible in it."""
        words = self._query.split()
        lowered = title.lower()
        if not words or len(lowered) != len(title):
            return [Segment(title, look)]
        match = look + self.get_component_rich_style("picker--match", partial=True)
        pieces = re.split(f"({'|'.join(re.escape(word.lower()) for word in words)})", lowered)
        found, position = [], 0
        for index, piece in enumerate(pieces):
            text = title[position : position + len(piece)]
            position += len(piece)
            found += [Segment(text, match if index % 2 else look)] if text else []
        return found

    def _thumb(self, y: int) -> str:
        """The part of a scroll bar in line `y`; blank when everything is in view."""
        height, rows = max(1, self.size.height), len(self)
        if rows <= height:
            return " "
        first = self._top * height // rows
        return "┃" if first <= y <= first + height * height // rows else "│"
