"""Finding words: what is compared with what, and what a search in a pane answers.

In: words of the person. Out: where they stand in a text. Small letters find both cases, words with a capital only themselves.
Must not know: widgets, files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from msgspec import Struct

from agentclip.ui.format import plural

_MARGIN = "[ │▌↳]*"
"""What may stand before the text of a row that goes on with the row above."""


class Words(Struct, frozen=True, dict=True):
    """What to look for; never empty."""

    text: str

    @property
    def exact(self) -> bool:
        """Whether capitals matter."""
        return self.text != self.text.lower()

    @cached_property
    def _plain(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.text), self._flags)

    @cached_property
    def _wrapped(self) -> re.Pattern[str]:
        """Across the ends of rows: a blank may be one, and there may be one between any two characters."""
        end = f"[ ]*\n{_MARGIN}"
        pieces = [f"(?:[ ]+|{end})" if word.isspace() else f"(?:{end})?".join(map(re.escape, word)) for word in self._pieces]
        return re.compile(f"(?:{end})?".join(pieces), self._flags)

    @property
    def _flags(self) -> re.RegexFlag:
        return re.NOFLAG if self.exact else re.IGNORECASE

    @property
    def _pieces(self) -> list[str]:
        return re.findall(r"\s+|\S+", self.text)

    def within(self, text: str) -> bool:
        """Whether the text has them, whatever blanks and line ends divide it."""
        words, text = (self.text, text) if self.exact else (self.text.lower(), text.lower())
        return words in text or (" " in words and " ".join(words.split(" ")) in " ".join(text.split()))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Begin and end of each place in one line, in characters."""
        return [match.span() for match in self._plain.finditer(text)]

    def places(self, rows: list[str]) -> list[tuple[int, int, int]]:
        """Row, begin and end of each place in rows of wrapped text; a place that goes over the end of a row has several."""
        found: list[tuple[int, int, int]] = []
        row, start = 0, 0
        for match in self._wrapped.finditer("\n".join(rows)):
            low, high = match.span()
            while start + len(rows[row]) < low:
                start += len(rows[row]) + 1
                row += 1
            at, begin = row, start
            while begin < high:
                end = min(len(rows[at]), high - begin)
                found.append((at, max(0, low - begin), end))
                begin += len(rows[at]) + 1
                at += 1
        return found


class Hit(Struct, frozen=True):
    """A place to go to."""

    row: int
    """Of the pane."""
    number: int | None
    """1-based, counted in `unit`; None while nobody knows."""
    wrapped: bool
    """It lies on the other side of the start."""


class Pending(Struct, frozen=True):
    """Nobody can tell yet: ask again later."""


class Search(Protocol):
    """Looking for the same words in one pane."""

    unit: str
    """What is counted: `line`, `message`."""

    @property
    def share(self) -> float:
        """How much is looked at, 0 to 1."""

    @property
    def total(self) -> int:
        """How many there are in what is looked at."""

    def grow(self) -> bool:
        """Take what came since; whether there is something to look at. Not while something looks."""

    def look(self, stopped: Callable[[], bool]) -> None:
        """Look at everything, in a thread; returns soon after `stopped` holds."""

    def hit(self, row: int, step: int, *, here: bool) -> Hit | Pending | None:
        """The next one from a row on (before it when `step` is -1), `here` the row itself too; None when there is none."""


class Findable(Protocol):
    """A pane, as far as finding is concerned."""

    words: Words | None

    def search(self, words: Words) -> Search:
        """Begin to look for words in what the pane shows now."""

    @property
    def searching(self) -> object:
        """What a search is about; another one, and the search begins anew."""

    @property
    def origin(self) -> tuple[int, bool]:
        """The row from which one looks on, and whether it is looked at too."""

    def go_to_hit(self, row: int) -> str:
        """Bring a hit into view; why only its row can be, empty when the hit is."""


class Finding:
    """Words looked for in one pane: what was asked, what was found."""

    def __init__(self, pane: Findable, words: Words) -> None:
        self.pane = pane
        self.words = words
        self._about = pane.searching
        self.search = pane.search(words)
        self._asked: list[int] = []
        """Steps without an answer yet, each from where the one before leads."""
        self._hit: Hit | None = None
        self._unseen = ""
        """Why the hit itself is not in view."""
        self._none = False
        self._step = 1

    def ask(self, step: int) -> None:
        """Go to the next hit (1) or the one before (-1), as soon as it is known."""
        if self.pane.searching is not self._about:
            self._about = self.pane.searching
            self.search = self.pane.search(self.words)
        self._asked.append(step)

    def answer(self) -> None:
        """Look whether there are answers now, and go there."""
        while self._asked:
            row, here = self.pane.origin
            found = self.search.hit(row, self._asked[0], here=here)
            if isinstance(found, Pending):
                return
            self._step = self._asked.pop(0)
            self._hit, self._none = found, found is None
            if found is not None:
                self._unseen = self.pane.go_to_hit(found.row)

    @property
    def waiting(self) -> bool:
        """Somebody asked and has no answer yet."""
        return bool(self._asked)

    def said(self) -> str:
        """How it stands, in one line."""
        share, total = self.search.share, self.search.total
        looking = "" if share >= 1 else f"finding… {share:.0%}"
        if self.waiting or (self._hit is None and looking):
            return looking or "finding…"
        if self._none or not total:
            return "no match"
        if self._hit is None:
            return plural(total, self.search.unit)
        number = f"{self._hit.number:,} of " if self._hit.number else ""
        around = f" · from the {'top' if self._step > 0 else 'end'}" if self._hit.wrapped else ""
        unseen = f" · {self._unseen}" if self._unseen else ""
        return f"{self.search.unit} {number}{total:,}{' and more, ' + looking if looking else ''}{unseen}{around}"
