"""Where events go: each is stored, taken into the past, shown to the guard and told to all listeners, in this order."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from msgspec.structs import replace

from agentclip.agent.loop_guard import LoopGuard
from agentclip.agent.past import Past
from agentclip.agent.reply import NOTHING, total
from agentclip.agent.resume import INTERRUPTED, missing_events
from agentclip.errors import AgentclipError, SessionError
from agentclip.events import Event, Notice, Severity, SnapshotTaken, TurnFinished
from agentclip.messages import Usage
from agentclip.results import Limits
from agentclip.store.session import Session
from agentclip.store.snapshots import write_snapshot

_logger = logging.getLogger(__name__)


class Journal:
    """Of one session."""

    def __init__(self, session: Session, past: Past, guard: LoopGuard, limits: Limits) -> None:
        self._session = session
        self._past = past
        self._guard = guard
        self._limits = limits
        self._listeners: list[Callable[[Event], None]] = []
        self.aside: Usage | None = None
        """Used since the last turn by requests whose replies are not stored."""

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event from now on; those that are not stored too."""
        self._listeners.append(listener)

    def record(self, event: Event) -> None:
        """Store an event, then tell it. A notice is not worth a session of its own. Raises SessionError."""
        if isinstance(event, TurnFinished) and self.aside is not None:
            event = replace(event, aside=self.aside)
        if self._session.begun or not isinstance(event, Notice):
            self._past.add(self._session.append(event))
            self.aside = None if isinstance(event, TurnFinished) else self.aside
            self._guard.take(event)
            if isinstance(event, SnapshotTaken):
                write_snapshot(self._session.folder, event)
        self.tell(event)

    def spend(self, usage: Usage | None) -> None:
        """Count a request whose reply is not stored; the end of the turn says what they used."""
        self.aside = total(self.aside or NOTHING, usage)

    def tell(self, event: Event) -> None:
        """Tell an event that is not stored."""
        for listener in tuple(self._listeners):
            listener(event)

    def take_up(self) -> None:
        """Continue a saved session: what was cut off when it died, and what was repaired on disk."""
        self.make_whole(INTERRUPTED)
        if self._session.notices:
            said = {r.event.text for r in self._session.events.of(Notice) if isinstance(r.event, Notice)}
            for text in self._session.notices:
                if text not in said:
                    with contextlib.suppress(AgentclipError):
                        self.record(Notice(text, Severity.WARNING))

    def make_whole(self, end: TurnFinished) -> None:
        """Store the answers and the end that are missing. Not async, so that no cancel can skip it."""
        for event in tuple(missing_events(self._session.events, self._limits, end)):
            try:
                self.record(event)
            except SessionError as error:
                _logger.warning("an end was not stored: %s", error)
                self.tell(event)
