"""Ctrl+R: what stands in the prompt is searched for in what was sent, and shown in a list above it.

In: a query, steps. Out: the chosen entry, or the text from before. Must not know: keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentclip.history import Entries
from agentclip.ui.popup import Popup, PopupRow

MOST = 500
"""Entries that can be gone through; what is older is found by more words."""


class HistorySearch:
    """One search after the other."""

    def __init__(self, popup: Popup, entries: Entries) -> None:
        self.keys = ""
        """What is said of them in the last line of the list."""
        self._popup = popup
        self._entries = entries
        self._before: str | None = None
        """What stood in the prompt; None while nothing is searched for."""
        self._found: Sequence[str] = ()
        self._at = 0
        self._query: str | None = None

    @property
    def opened(self) -> bool:
        """A search goes on."""
        return self._before is not None

    @property
    def found(self) -> str | None:
        """The chosen entry; None when none has the words."""
        return self._found[self._at] if self._found else None

    def begin(self, before: str) -> None:
        """Everything is shown, the newest chosen."""
        self._before = before
        self.look("")

    def look(self, query: str, *, again: bool = False) -> None:
        """Other words; or other entries, where what is chosen stays so."""
        if query == self._query and not again:
            return
        chosen = self.found if query == self._query else None
        self._query = query
        self._found = self._entries.search(query)
        self._at = self._found.index(chosen) if chosen in self._found else 0
        self._show()

    def step(self, older: int) -> None:
        """To older entries, or to newer ones."""
        self._at = max(0, min(self._at + older, min(len(self._found), MOST) - 1))
        self._show()

    def go_to(self, at: int) -> None:
        """To a place in the list."""
        self._at = at

    def end(self) -> str:
        """Close it; the text from before."""
        before, self._before, self._found, self._query = self._before or "", None, (), None
        self._popup.hide()
        return before

    def _show(self) -> None:
        rows = [PopupRow(text) for text in self._found[:MOST]]
        place = f"{self._at + 1} of {len(self._found):,}" if rows else "nothing has these words"
        self._popup.show(rows, self._at if rows else None, f"history: {place} · {self.keys}")
