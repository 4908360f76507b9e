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
        self.left = len(history)
        """Events that are not taken yet."""
        self._taken = SessionState()
        """Of events that are taken but not delivered."""

    def take_newest(self) -> None:
        """What the first frame needs."""
        self._take(FIRST_EVENTS)
        self.deliver()
        first = self._history[0].event if self.left else None
        if isinstance(first, SessionStarted):
            self._state.apply(first, self._now_s)

    def take_piece(self) -> None:
        """A little more, to be delivered some time: every delivery is drawn."""
        self._take(PIECE_EVENTS)

    def deliver(self) -> list[str]:
        """Put what was taken before what is there; what the person sent in it."""
        taken, self._taken = self._taken, SessionState()
        self._state.whole = not self.left
        self._state.put_before(taken)
        return taken.prompts

    def _take(self, count: int) -> None:
        begin = max(0, self.left - count)
        piece = SessionState()
        for recorded in self._history[begin : self.left]:
            piece.apply(recorded.event, self._now_s)
        self.left = begin
        self._taken.put_before(piece)
