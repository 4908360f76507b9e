"""What waits can be taken out or changed in place, for screen and line mode: an agent and a place in its queue come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentclip.agent.waiting import COMPRESS


class Queued(Protocol):
    """What is needed of an agent."""

    @property
    def queue(self) -> tuple[str, ...]:
        """What waits, oldest first, as it was typed."""

    def unqueue(self) -> str | None:
        """Take back the newest."""

    def submit(self, text: str) -> None:
        """A prompt, to the end."""

    def shell(self, line: str) -> None:
        """A line of the person, to the end."""

    def compress(self) -> None:
        """A wish for a snapshot, to the end."""


def replace_waiting(agent: Queued, at: int, texts: Sequence[str]) -> str:
    """Put texts in the place of the entry at an index (none: take it out); the entry.

    Nothing is taken meanwhile: an agent works on the thread that calls this. Raises IndexError: so many do not wait.
    """
    waiting = agent.queue
    taken = waiting[at]
    for _ in waiting[at:]:
        agent.unqueue()
    for each in (*texts, *waiting[at + 1 :]):
        if each == COMPRESS:
            agent.compress()
        elif each.startswith("!") and each[1:].strip():
            agent.shell(each[1:].strip())
        else:
            agent.submit(each)
    return taken
