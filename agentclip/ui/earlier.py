"""What a session held before the screen was opened: the newest part at once, the rest piece by piece, newest first.

In: the stored events. Out: a state that grows at its beginning. Knows no widget and no clock: who calls says how much.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentclip.events import Recorded, SessionStarted
from agentclip.ui.session_state import SessionState

FIRST_EVENTS = 240
"""Taken before the first frame: more than any terminal has rows."""
PIECE_EVENTS = 16
"""Taken between two looks at the clock."""


class Earlier:
    """Of one session; the events it had when this was made."""

    def __init__(self, history: Sequence[Recorded], state: SessionState, now_s: float) -> None:
        self._history = history
        self._state = state
        self._now_s = now_s
        self.total = self.left = len(history)
        """Events that there are, and that are not taken yet."""

    def take_newest(self) -> None:
        """What the first frame needs."""
        self._take(FIRST_EVENTS)
        first = self._history[0].event if self.left else None
        if isinstance(first, SessionStarted):
            self._state.apply(first, self._now_s)

    def take_piece(self) -> list[str]:
        """A little more; what the person sent in it."""
        return self._take(PIECE_EVENTS)

    def _take(self, count: int) -> list[str]:
        begin = max(0, self.left - count)
        piece = SessionState()
        for recorded in self._history[begin : self.left]:
            piece.apply(recorded.event, self._now_s)
        self.left = begin
        self._state.whole = not begin
        self._state.put_before(piece)
        return piece.prompts
