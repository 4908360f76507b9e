"""What was said so far: stored events come in; messages, ids of calls and usage go out.

What a saved session holds is read when it is first needed, so that a long one opens at once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from agentclip.agent.context import message_of
from agentclip.agent.reply import total
from agentclip.events import AssistantReplied, Recorded
from agentclip.messages import Message, Usage
from agentclip.store.history import StoredEvents
from agentclip.store.log import collector_paused


@dataclass(slots=True)
class Past:
    """The conversation of a session, at first only by where it is stored."""

    stored: StoredEvents
    messages: list[Message] = field(default_factory=list)
    """Only whole after `take_up`, like the rest."""
    call_ids: set[str] = field(default_factory=set)
    usage: Usage = field(default_factory=lambda: Usage(0, 0, 0, 0.0))
    """The cost is None as soon as one whole reply's cost is unknown."""
    _end: int = 0
    _later: list[Recorded] | None = field(default_factory=list)
    """What was added before `take_up`; None after it."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._end = len(self.stored)

    @property
    def is_whole(self) -> bool:
        """Whether everything that is stored has been read."""
        return self._later is None

    def add(self, recorded: Recorded) -> None:
        """Go on with what was just stored."""
        with self._lock:
            if self._later is None:
                self._take(recorded)
            else:
                self._later.append(recorded)

    def take_up(self) -> None:
        """Read what the session held when it was opened. Blocks, about a second for 100 MB; may be called on any thread."""
        with self._lock, collector_paused():
            if self._later is None:
                return
            for recorded in self.stored.conversation(self._end):
                self._take(recorded)
            for recorded in self._later:
                self._take(recorded)
            self._later = None

    def _take(self, recorded: Recorded) -> None:
        event = recorded.event
        if (message := message_of(event)) is not None:
            self.messages.append(message)
        if isinstance(event, AssistantReplied):
            self.call_ids.update(call.id for call in event.message.tool_calls)
            if not event.partial:
                self.usage = total(self.usage, event.usage)
