"""How a run is made to end: which signals, when. Pure; the run sends them."""

from __future__ import annotations

import signal
from enum import Enum

from msgspec import Struct

from agentclip.results import Ended


class Stop(Enum):
    """Why somebody wants the run to end."""

    CANCEL = "cancel"
    KILL = "kill"
    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output limit"

    @property
    def ended(self) -> Ended:
        """What the result says."""
        return _ENDED[self]

    @property
    def rungs(self) -> tuple[tuple[float, signal.Signals], ...]:
        """Seconds after the wish, and the signal."""
        return _RUNGS[self]


_ENDED = {
    Stop.CANCEL: Ended.CANCELLED,
    Stop.KILL: Ended.CANCELLED,
    Stop.TIMEOUT: Ended.TIMEOUT,
    Stop.OUTPUT_LIMIT: Ended.OUTPUT_LIMIT,
}
_RUNGS = {
    Stop.CANCEL: ((0.0, signal.SIGINT), (1.0, signal.SIGTERM), (2.0, signal.SIGKILL)),
    Stop.KILL: ((0.0, signal.SIGKILL),),
    Stop.TIMEOUT: ((0.0, signal.SIGTERM), (1.0, signal.SIGKILL)),
    Stop.OUTPUT_LIMIT: ((0.0, signal.SIGTERM), (1.0, signal.SIGKILL)),
}

STATUS = {Ended.CANCELLED: 130, Ended.TIMEOUT: 124, Ended.OUTPUT_LIMIT: 153, Ended.INTERRUPTED: 130}
"""A run's status when it did not end by itself."""


class Ladder(Struct):
    """The rungs that are left of one stop."""

    stop: Stop
    since: float
    """Monotonic seconds."""
    rung: int = 0

    def due(self, now: float) -> signal.Signals | None:
        """The signal to send now; each rung is given once."""
        rungs = self.stop.rungs
        if self.rung < len(rungs) and now >= self.since + rungs[self.rung][0]:
            self.rung += 1
            return rungs[self.rung - 1][1]
        return None

    def next_at(self) -> float | None:
        """When the next rung is due; None after the last."""
        rungs = self.stop.rungs
        return self.since + rungs[self.rung][0] if self.rung < len(rungs) else None

    def overrides(self, other: Stop) -> bool:
        """Whether a newer wish changes anything: only a harder one does."""
        return self.stop is not other and other is Stop.KILL
