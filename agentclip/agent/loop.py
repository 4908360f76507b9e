"""The loop: prompts, `!` lines and cancels come in, events go out in order. It never knows who listens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentclip.events import Event, Recorded, TurnFinished
from agentclip.messages import Usage
from agentclip.results import Chain, ChainResult, Limits


class RunHandle(Protocol):
    """A run of Layer 1, as far as the screen may touch it."""

    number: int
    chain: Chain
    stdout_path: str

    def begin(self) -> None:
        """Start the processes."""

    async def wait(self) -> ChainResult:
        """Return the result once everything has ended; cancelling the waiter does not stop the run."""

    def cancel(self) -> None:
        """Start the ladder (INT, TERM, KILL) and return at once."""

    def kill(self) -> None:
        """KILL now."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Settings of the loop."""

    limits: Limits = Limits()
    timeout_s: int | None = 120
    """Time limit of a call that names none; None for no limit."""
    max_timeout_s: int = 3600
    """The highest `timeout_s` a call may ask for."""
    max_steps: int | None = None
    """Model calls in one turn; None for no limit."""
    max_retries: int = 3
    """How often one request is repeated after a rate limit, a server error or a lost connection."""
    max_retry_wait_s: float = 60.0
    """A provider that asks for a longer pause ends the turn instead."""


class Agent:
    """One session at work: a queue of prompts, one turn at a time, everything told as events."""

    model_name: str
    session_id: str
    title: str
    """The session's title; the first line of its first prompt unless renamed."""
    running: bool
    """A turn or a `!` line is being worked on."""
    stopping: bool
    """Cancelled, but something still winds down; `submit` already takes the next prompt."""
    queue: tuple[str, ...]
    """What waits, oldest first; `!` lines with their mark."""
    active: RunHandle | None
    """The run that is going on, or None."""
    usage: Usage
    """Sum over the session; the cost is None as soon as one reply's cost is unknown."""

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event from now on, in order, on the loop's thread; events that are not stored too."""
        raise NotImplementedError

    def history(self) -> Sequence[Recorded]:
        """All stored events so far, oldest first. Grows; never changes what it holds."""
        raise NotImplementedError

    def submit(self, text: str) -> None:
        """Start a turn when idle, else queue: folded in before the next step. A blank text is ignored."""
        raise NotImplementedError

    def shell(self, line: str) -> None:
        """Run a line of the person through both layers, without the model, as soon as nothing else runs."""
        raise NotImplementedError

    def unqueue(self) -> str | None:
        """Take back the newest waiting entry, to edit it; None when nothing waits."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Stop the turn, keeping what is finished; again while stopping: KILL now. Nothing happens when idle."""
        raise NotImplementedError

    async def serve(self) -> None:
        """Work off what is submitted until `close`."""
        raise NotImplementedError

    async def turn(self, text: str) -> TurnFinished:
        """Do one whole turn, without `serve`."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop what runs, keep what is finished, end `serve`. Session, model and executor stay open: they are the caller's."""
        raise NotImplementedError
