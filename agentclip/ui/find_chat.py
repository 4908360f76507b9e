"""Searching all items of the transcript, also those whose rows were never made.

In: the items and who knows their rows. Out: hits as rows. Sources are compared; rows are made only where they match.
Must not know: widgets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from agentclip.ui.find import Hit, Pending, Words
from agentclip.ui.transcript_items import Item

_MARKUP = re.compile(r"[*`~\\]|\b_|_\b")
"""Signs of Markdown that may stand inside of words and are not shown."""


class Places(Protocol):
    """Who knows where items and words in them stand."""

    def item_at(self, row: int) -> int:
        """Index of the item on a row."""

    def rows_with(self, index: int, words: Words) -> list[int]:
        """Rows of the words in an item that has them; never empty."""


class ChatSearch:
    """Messages are counted; every row with the words is a hit."""

    unit = "message"
    share = 1.0

    def __init__(self, places: Places, items: Sequence[Item], words: Words, whole: Callable[[], bool]) -> None:
        """`whole` tells whether no more items come before the first one."""
        self._whole = whole
        self._places = places
        self._items = items
        self._words = words
        self._known: dict[Item, tuple[int, bool]] = {}
        """Revision, and whether that has the words."""

    @property
    def total(self) -> int:
        """Messages with the words."""
        return sum(self._has(item) for item in self._items)

    def grow(self) -> bool:
        """Everything is looked at when asked."""
        return False

    def look(self, stopped: Callable[[], bool]) -> None:
        """Nothing takes long enough for a thread."""

    def hit(self, row: int, step: int, *, here: bool) -> Hit | Pending | None:
        """The next row with the words. What lies before the first item counts too, as soon as it is there."""
        found = self._hit(row, step, here=here)
        return Pending() if not self._whole() and (found is None or found.wrapped) else found

    def _hit(self, row: int, step: int, *, here: bool) -> Hit | None:
        if not self._items:
            return None
        at = self._places.item_at(row)
        edge = row + (here if step < 0 else not here)
        last = len(self._items) - 1
        found = self._rows(at, step, edge) or self._first(range(at + step, last + 1 if step > 0 else -1, step), step)
        if found is not None:
            return Hit(*found, wrapped=False)
        found = self._first(range(0 if step > 0 else last, last + 1 if step > 0 else -1, step), step)
        return None if found is None else Hit(*found, wrapped=True)

    def _first(self, indexes: Iterable[int], step: int) -> tuple[int, int] | None:
        return next((found for index in indexes if (found := self._rows(index, step, None)) is not None), None)

    def _rows(self, index: int, step: int, edge: int | None) -> tuple[int, int] | None:
        """The first row beyond the edge and the number of the message; an edge of None is none."""
        if not self._has(self._items[index]):
            return None
        rows = self._places.rows_with(index, self._words)
        right = [row for row in rows if edge is None or (row >= edge if step > 0 else row < edge)]
        number = 1 + sum(map(self._has, self._items[:index]))
        return ((right[0] if step > 0 else right[-1]), number) if right else None

    def _has(self, item: Item) -> bool:
        known = self._known.get(item)
        if known is None or known[0] != item.revision:
            text = item.searched
            known = (item.revision, self._words.within(text) or self._words.within(_MARKUP.sub("", text)))
            self._known[item] = known
        return known[1]
