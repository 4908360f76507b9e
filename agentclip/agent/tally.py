"""What a session has used so far: stored events come in, read in part and when somebody asks; ids of calls and usage go out."""

from __future__ import annotations

import functools
import threading

from agentclip.agent.reply import NOTHING, total
from agentclip.events import AssistantReplied, Event, SnapshotTaken, TurnFinished
from agentclip.messages import Usage
from agentclip.store.history import StoredEvents
from agentclip.store.log import collector_paused


class Tally:
    """Of one session."""

    def __init__(self, stored: StoredEvents) -> None:
        """What `stored` holds now is read later; what comes from now on is told by `take`."""
        self._stored = stored
        self._end = len(stored)
        self._before: tuple[Usage, set[str]] | None = None
        self._since = NOTHING
        self._ids: set[str] = set()
        self._lock = threading.Lock()

    def take(self, event: Event) -> None:
        """Count what was just stored."""
        match event:
            case AssistantReplied(message, usage, partial):
                self._ids.update(call.id for call in message.tool_calls)
                if not partial:
                    self._since = total(self._since, usage)
            case SnapshotTaken(usage=Usage() as usage) | TurnFinished(aside=Usage() as usage):
                self._since = total(self._since, usage)
            case _:
                pass

    @property
    def usage(self) -> Usage:
        """Of everything that was paid for. The cost is None as soon as that of one request is unknown."""
        return total(self.read()[0], self._since)

    @property
    def call_ids(self) -> set[str]:
        """That were ever given to calls."""
        return self.read()[1] | self._ids

    def read(self) -> tuple[Usage, set[str]]:
        """Read what was stored before, once: a tenth of a second for 100 MB. May be called on any thread."""
        with self._lock, collector_paused():
            if self._before is None:
                usages: list[Usage | None] = []
                ids: set[str] = set()
                for reply in self._stored.replies(self._end):
                    ids.update([call.id for call in reply.message.tool_calls])
                    if not reply.partial:
                        usages.append(reply.usage)
                snapshots = (r.event for r in self._stored.last(self._end, SnapshotTaken))
                usages += [s.usage for s in snapshots if isinstance(s, SnapshotTaken) and s.usage is not None]
                usages += [turn.aside for turn in self._stored.asides(self._end)]
                self._before = functools.reduce(total, usages, NOTHING), ids
            return self._before
