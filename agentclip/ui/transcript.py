"""The transcript: one virtual view over all items of the session.

In: the session's items. Only rows in view are made; what was made is kept by (item, width, ink, revision). Heights are
estimated until an item comes into view, and then corrected without moving what the person reads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from agentclip.ui.actions import Place, bindings
from agentclip.ui.find import Search, Words
from agentclip.ui.find_chat import ChatSearch
from agentclip.ui.foreign import visible
from agentclip.ui.heights import Heights
from agentclip.ui.layout import TITLES, PaneName
from agentclip.ui.pane import Pane
from agentclip.ui.session_state import SessionState
from agentclip.ui.themes import Ink
from agentclip.ui.transcript_items import Item, RunItem, WrittenItem
from agentclip.ui.wrap import Row

KEPT_ITEMS = 400
"""Items whose rows are kept."""
_KEY = 1 << 20
"""Keys of an item's rows for the selection."""
_FIRST_KEY = 1 << 30
"""Of the item that was the first at the beginning: there is room before it."""


class _Made(Struct):
    revision: int
    rows: list[Row]


class Transcript(Pane):
    """Chat and runs."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Place.CHAT)

    class RunChosen(Message):
        """The person picked the row of a run, or asked to expand it."""

        def __init__(self, number: int | None) -> None:
            super().__init__()
            self.number = number
            """None: the one that is chosen, else the newest."""

    def __init__(self, state: SessionState, ink: Ink) -> None:
        super().__init__(ink, "chat")
        self.border_title = TITLES[PaneName.CHAT]
        self.chosen: int | None = None
        """Number of the run that both panes are pinned to."""
        self._state = state
        self._heights = Heights()
        self._exact: set[Item] = set()
        """Items whose height is no estimate at the present width."""
        self._changed: set[Item] = set()
        """Items whose height was exact before they changed: they grow at their end."""
        self._earlier = 0
        """How many items came before the first one since then."""
        self._seen_items = 0
        """How many there were when the person scrolled up."""
        self._made: OrderedDict[Item, _Made] = OrderedDict()
        self._width = 0
        self._pointed_place: tuple[int, int] | None = None
        """Item and row of it that was last clicked or found."""
        self._hits: list[tuple[int, int, int]] = []
        self._hits_in: tuple[Item, int, int, Words] | None = None
        """Item, revision, width and words that the hits are of."""

    def total_rows(self) -> int:
        """Rows of all items, partly estimated."""
        return self._heights.total

    def strip_at(self, row: int) -> Strip:
        """The row of the item that is there."""
        index = self._heights.at(row)
        item = self._state.items[index]
        rows = self._rows(item)
        inside = row - self._heights.start(index)
        strip = Strip(rows[inside] if inside < len(rows) else [])
        if isinstance(item, RunItem) and item.run and item.run.number == self.chosen and inside == item.lead:
            background = Style(bgcolor=self.ink.theme.color("selected-bg").rich_color)
            return strip.extend_cell_length(self.columns).apply_style(background)
        return strip

    def place_of(self, row: int) -> int:
        """Item and row of the item: items above may change their height."""
        index, inside = self._place(row)
        return (_FIRST_KEY + index - self._earlier) * _KEY + inside

    def selectable(self, first: int, last: int | None) -> Iterator[tuple[int, Strip]]:
        """Item by item, also those that were never in view."""
        shift = _FIRST_KEY - self._earlier
        for index in range(max(0, first // _KEY - shift), len(self._state.items)):
            for inside, row in enumerate(self._rows(self._state.items[index])):
                key = (shift + index) * _KEY + inside
                if last is not None and key > last:
                    return
                if key >= first:
                    yield key, Strip(row)

    def search(self, words: Words) -> Search:
        """Look through all items."""
        return ChatSearch(self, self._state.items, words, lambda: self._state.whole)

    def rows_with(self, index: int, words: Words) -> list[int]:
        """Rows of the pane on which a place in an item begins; the first row when only its source has the words."""
        self._measure(index)
        found = sorted({places[0] for places in words.places(self._texts(self._state.items[index]))})
        start = self._heights.start(index)
        return [start + inside for inside in found] or [start + self._state.items[index].lead]

    def item_at(self, row: int) -> int:
        """Index of the item on a row."""
        self._append_new()
        return self._heights.at(row)

    def hits_at(self, row: int) -> list[tuple[int, int]]:
        """Places in the item, also those that go over the end of a row."""
        if self.words is None:
            return []
        index, inside = self._place(row)
        item = self._state.items[index]
        if self._hits_in != (item, item.revision, self._width, self.words):
            self._hits_in = (item, item.revision, self._width, self.words)
            self._hits = self.words.places(self._texts(item))
        return [(start, end) for at, start, end in self._hits if at == inside]

    def go_to_hit(self, row: int) -> str:
        """Bring a hit into view; what comes into view around it gets its height first."""
        index, inside = self._place(row)
        self._measure_up(index, self.view_height)
        self._measure_down(index, self.view_height + inside)
        self._resize_content(self._heights.total)
        return super().go_to_hit(self._heights.start(index) + inside)

    def point(self, row: int | None, *, hit: bool = False) -> None:
        """The person means this row of this item."""
        super().point(row, hit=hit)
        self._pointed_place = None if row is None else self._place(row)

    @property
    def pointed_row(self) -> int:
        """Where the row last clicked or found stands now, while it is in view; else the first one in view."""
        if self._pointed_place is not None:
            index, inside = self._pointed_place
            self._pointed = self._heights.start(index) + inside
        return super().pointed_row

    @property
    def pointed_item(self) -> Item | None:
        """What was clicked or found while it is in view, else the chosen run if it is, else the newest item, else the first."""
        if not self._state.items or not len(self._heights):
            return None
        row = self.pointed_row
        if row != self._pointed and self.chosen is not None:
            start = self._heights.start(self._state.items.index(self._state.row(self.chosen)))
            row = start if self._sees(start) else row
        elif row != self._pointed and self.following:
            return self._state.items[-1]
        return self._state.items[self._heights.at(row)]

    def pointed_text(self) -> tuple[str, str]:
        """The source of an item; of a run its command."""
        item = self.pointed_item
        if item is None:
            return "", ""
        return "\n".join(visible(line) for line in item.source.split("\n")), item.NAME

    def sync(self) -> None:
        """Take what changed in the session's items."""
        for item in self._state.take_changed():
            if item in self._exact:
                self._exact.remove(item)
                self._changed.add(item)
        self._take_earlier()
        self._settle()
        self.rows_changed()

    def restyle(self, ink: Ink) -> None:
        """Another theme: everything is made again."""
        self._made.clear()
        super().restyle(ink)

    def choose(self, number: int | None) -> None:
        """Show which run the panes are pinned to."""
        self.chosen = number
        if number is not None:
            self.reveal(self._state.row(number))
        self.refresh()

    def reveal(self, item: Item) -> None:
        """Bring an item into view if it is not."""
        index = self._state.items.index(item)
        start = self._heights.start(index) if index < len(self._heights) else 0
        if not self.first_row <= start < self.first_row + self.view_height - 1:
            self.go_to(start, middle=True)

    def on_resize(self, event: events.Resize) -> None:
        """Another width: all heights are estimates again, and the item at the top stays there."""
        if self.columns != self._width:
            self._rebuild()
        super().on_resize(event)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """What comes into view gets its exact height."""
        super().watch_scroll_y(old_value, new_value)
        if not self._steering:
            self._settle()

    def on_click(self, event: events.Click) -> None:
        """A click on the row of a run chooses it."""
        row = self.first_row + event.get_content_offset_capture(self).y
        if row >= self.total_rows():
            return
        self.point(row)
        index = self._heights.at(row)
        item = self._state.items[index]
        if isinstance(item, RunItem) and item.run and row - self._heights.start(index) == item.lead:
            self.post_message(self.RunChosen(item.run.number))

    def action_choose(self) -> None:
        """Expand or collapse the chosen run, else the newest."""
        self.post_message(self.RunChosen(None))

    def _place(self, row: int) -> tuple[int, int]:
        """Index of the item on a row, and the row of it."""
        index = self._heights.at(row)
        return index, row - self._heights.start(index)

    def _texts(self, item: Item) -> list[str]:
        return ["".join(segment.text for segment in row) for row in self._rows(item)]

    def _rows(self, item: Item) -> list[Row]:
        made = self._made.get(item)
        if made is None or made.revision != item.revision:
            made = _Made(item.revision, item.rows(self.columns, self.ink))
            self._made[item] = made
            if len(self._made) > KEPT_ITEMS:
                self._made.popitem(last=False)
        self._made.move_to_end(item)
        return made.rows

    def _rebuild(self) -> None:
        anchor, inside = self._anchor()
        if self._width:
            self.forget_selection()
        self._width = self.columns
        grown = 0 if self._seen is None else max(0, self._heights.start(self._seen_items) - self._seen)
        self._made.clear()
        self._exact.clear()
        self._changed.clear()
        self._heights = Heights()
        self._append_new()
        self._seen = None if self._seen is None else self._heights.start(self._seen_items) - grown
        if anchor < len(self._heights) and not self.following:
            self._steer(self._heights.start(anchor) + min(inside, self._heights[anchor] - 1))
        self._settle()

    def _take_earlier(self) -> None:
        """Items that came before the first one; what is in view stays where it is."""
        count, self._earlier = self._state.earlier - self._earlier, self._state.earlier
        if not count or not len(self._heights):
            return
        heights = [item.estimate(self._width) for item in self._state.items[:count]]
        first_row, rows = self.first_row, sum(heights)
        self._heights.prepend(heights)
        self._pointed = None if self._pointed is None else self._pointed + rows
        self._seen = None if self._seen is None else self._seen + rows
        self._seen_items += count
        if self._pointed_place is not None:
            self._pointed_place = (self._pointed_place[0] + count, self._pointed_place[1])
        self._steer(first_row + rows)

    def _stay(self) -> None:
        """Items from the present last one on are new."""
        super()._stay()
        self._seen_items = len(self._heights)

    def _append_new(self) -> None:
        if not len(self._heights):
            self._earlier = self._state.earlier
        for item in self._state.items[len(self._heights) :]:
            self._heights.append(item.estimate(self._width))

    def _anchor(self) -> tuple[int, int]:
        """The item at the top of the view, and the row of it."""
        if not len(self._heights):
            return 0, 0
        return self._place(self.first_row)

    def _settle(self) -> None:
        """Give the items in view their exact heights; what the person reads stays where it is."""
        if self._width == 0:
            return
        self._append_new()
        if not len(self._heights):
            return
        if self.following:
            self._measure_up(len(self._heights) - 1, self.view_height)
            return
        anchor, inside = self._anchor()
        item = self._state.items[anchor]
        if item in self._changed:
            self._measure(anchor)
            inside = min(inside, self._heights[anchor] - 1)
        elif item not in self._exact:
            # Scrolling up shows the end of the item first: keep its distance from below.
            below = self._heights[anchor] - inside
            self._measure(anchor)
            inside = max(0, self._heights[anchor] - below)
        self._measure_down(anchor, self.view_height + inside)
        self._steer(self._heights.start(anchor) + inside)

    def _measure(self, index: int) -> int:
        item = self._state.items[index]
        if item not in self._exact:
            self._exact.add(item)
            more = len(self._rows(item)) - self._heights[index]
            if more:
                self._heights.replace(index, self._heights[index] + more)
            # Rows that a text at the end was given are new; others only fold, expand or were estimated.
            written = index == self._seen_items - 1 and item in self._changed and isinstance(item, WrittenItem)
            if self._seen is not None and index < self._seen_items and not written:
                self._seen += more
            self._changed.discard(item)
        return self._heights[index]

    def _measure_up(self, index: int, rows: int) -> None:
        while index >= 0 and rows > 0:
            rows -= self._measure(index)
            index -= 1

    def _measure_down(self, index: int, rows: int) -> None:
        while index < len(self._heights) and rows > 0:
            rows -= self._measure(index)
            index += 1

    def _steer(self, row: int) -> None:
        """Scroll without ending or beginning to follow."""
        if row == self.first_row and self.virtual_size.height == self._heights.total:
            return
        self._steering = True
        self._resize_content(self._heights.total)
        self.scroll_to(y=min(row, self.max_scroll_y), animate=False, force=True)
        self._steering = False
