"""Completion in the prompt: the line up to the cursor comes in, a list above the prompt and a changed text go out.

`/` words and `@` files have their first candidate chosen: Enter takes it. Of a `!` line nothing is chosen by itself, because
Enter runs what was typed. Must not know: where candidates come from.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from agentclip.candidates import Candidate, Kind, Offer
from agentclip.ui.popup import Popup, PopupRow

_BY_ITSELF = frozenset({Kind.WORD, Kind.OPERAND, Kind.FILE})
"""Kinds whose first candidate is chosen at once."""


class Offers(Protocol):
    """Who knows candidates."""

    def offer(self, line: str, *, first: bool = True) -> Offer | None:
        """What may stand at the end of a line; `first`: it is the first line of its text."""


class Taken(Struct, frozen=True):
    """A candidate that takes the place of what was begun."""

    begun: str
    text: str
    sends: bool
    """A whole slash line: it is sent with it."""


class Completion:
    """What is offered now."""

    def __init__(self, popup: Popup, offers: Offers, keys: str) -> None:
        """`keys`: what is said of them in the last line of the list."""
        self._keys = keys
        self._popup = popup
        self._offers = offers
        self._offer: Offer | None = None
        self._at: int | None = None
        self._seen: tuple[str, bool] | None = None
        """For which line and place."""
        self._refused: str | None = None
        """The text before what was begun when the list was closed by the person: there it stays closed."""

    @property
    def opened(self) -> bool:
        """Something is offered."""
        return self._offer is not None

    @property
    def chosen(self) -> bool:
        """One of the candidates is, and taking it changes the text."""
        return self._offer is not None and self._candidate is not None and self._candidate.text != self._offer.begun

    def look(self, line: str, *, first: bool, again: bool = False) -> None:
        """The text or the cursor may have changed. `again`: there may be other candidates for the same line."""
        if self._seen == (line, first) and not again:
            return
        self._seen = line, first
        offer = self._offers.offer(line, first=first)
        before = None if offer is None else line.removesuffix(offer.begun)
        if before != self._refused:
            self._refused = None
        if offer is None or self._refused is not None or [each.text for each in offer.candidates] == [offer.begun]:
            self._drop()
            return
        kept = self._candidate if again else None
        self._offer, self._at = offer, _first_choice(offer)
        if kept in offer.candidates:
            self._at = offer.candidates.index(kept)
        self._show()

    def move(self, step: int) -> None:
        """Up and Down; behind the last comes the first."""
        if self._offer is not None:
            count = len(self._offer.candidates)
            self._at = (self._at + step if self._at is not None else min(0, step)) % count
            self._show()

    def take(self, at: int | None = None) -> Taken | None:
        """The chosen candidate, the first when none is, or the one at a place; closes the list."""
        if self._offer is None:
            return None
        offer, at = self._offer, at if at is not None else self._at or 0
        candidate = offer.candidates[at]
        self._drop()
        slash = offer.kind in {Kind.WORD, Kind.OPERAND}
        blank = " " if candidate.more is slash else ""  # more of a word are operands, more of a folder follows at once
        return Taken(offer.begun, candidate.text + blank, sends=slash and not candidate.more)

    def close(self) -> bool:
        """Esc; False when nothing was open."""
        if self._offer is None:
            return False
        self._refused = (self._seen or ("", False))[0].removesuffix(self._offer.begun)
        self._drop()
        return True

    def leave(self) -> None:
        """The cursor is elsewhere."""
        self._seen = None
        if self._offer is not None:
            self._drop()

    @property
    def _candidate(self) -> Candidate | None:
        return None if self._offer is None or self._at is None else self._offer.candidates[self._at]

    def _drop(self) -> None:
        if self._offer is not None:
            self._popup.hide()
        self._offer = self._at = None

    def _show(self) -> None:
        assert self._offer is not None
        rows = [PopupRow(each.text, each.detail) for each in self._offer.candidates]
        count = len(rows)
        place = f"{self._at + 1} of {count}" if self._at is not None else str(count)
        self._popup.show(rows, self._at, f"{place} · {self._keys}")


def _first_choice(offer: Offer) -> int | None:
    """What is written out already, else the first where Enter does not run what was typed."""
    written = next((at for at, each in enumerate(offer.candidates) if each.text == offer.begun), None)
    return 0 if written is None and offer.kind in _BY_ITSELF else written
