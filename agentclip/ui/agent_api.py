"""What the screen needs from an agent. `agentclip.agent.loop.Agent` meets it; tests bring a scripted one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from agentclip.events import Event, Recorded
from agentclip.messages import Usage


class AgentApi(Protocol):
    """One session at work, seen from the screen."""

    @property
    def model_name(self) -> str:
        """As shown in the status line."""

    @property
    def session_id(self) -> str:
        """For the resume line."""

    @property
    def title(self) -> str:
        """The session's title."""

    @property
    def running(self) -> bool:
        """A turn or a `!` line is being worked on."""

    @property
    def stopping(self) -> bool:
        """Cancelled, but something still winds down."""

    @property
    def queue(self) -> tuple[str, ...]:
        """What waits, oldest first."""

    @property
    def usage(self) -> Usage:
        """What the session used so far; a cost of None or 0 is not known. Of a long saved session: after `count_usage`."""

    async def count_usage(self) -> None:
        """Read the whole session, on a thread, so that `usage` holds up nobody."""

    @property
    def context_window(self) -> int | None:
        """Tokens that a request may have; None while nobody told."""

    loop_detection: bool
    """Whether a model that repeats itself is warned and stopped."""

    def compress(self) -> None:
        """Make a snapshot once nothing else runs; a notice says what came of it."""

    def snapshot_text(self) -> str:
        """The snapshot that the model reads now; empty when there is none."""

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """Tell every event from now on, in order, on the loop's thread."""

    def history(self) -> Sequence[Recorded]:
        """All stored events so far, oldest first."""

    def submit(self, text: str) -> None:
        """Start a turn, or queue."""

    def shell(self, line: str) -> None:
        """Run a line of the person through both layers, without the model."""

    def unqueue(self) -> str | None:
        """Take back the newest waiting entry; None when nothing waits."""

    def cancel(self) -> None:
        """Stop; again while stopping: KILL now."""

    async def serve(self) -> None:
        """Work until `close`."""

    async def close(self) -> None:
        """Stop what runs, end `serve`."""
