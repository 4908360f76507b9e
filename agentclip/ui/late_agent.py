"""An agent that is still being built: the screen is there at once, and what a person sends meanwhile waits for it.

In: how to build the real one. Out: an AgentApi that is the real one's shadow from then on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from agentclip.errors import AgentclipError
from agentclip.events import Event, Recorded
from agentclip.messages import Usage
from agentclip.ui.agent_api import AgentApi


class Saved(Struct, frozen=True):
    """What is known of a saved session before there is an agent for it; of a new one nothing."""

    id: str = ""
    title: str = ""
    events: Sequence[Recorded] = ()
    """Grows once the agent is there."""


class LateAgent:
    """Meets AgentApi."""

    def __init__(
        self,
        model_name: str,
        build: Callable[[], Awaitable[AgentApi]],
        failed: Callable[[AgentclipError], None],
        saved: Saved | None = None,
    ) -> None:
        """`failed` is told when there will be no agent."""
        self._model_name = model_name
        self._build = build
        self._failed = failed
        self._saved = saved or Saved()
        self._shown = len(self._saved.events)
        """So many events the screen has from `history`."""
        self._built = asyncio.Event()
        self._agent: AgentApi | None = None
        self._waiting: deque[tuple[str, Callable[[AgentApi], None]]] = deque()
        """What to show in the queue, and what to do with the agent."""
        self._listeners: list[Callable[[Event], None]] = []
        self._loop_detection: bool | None = None
        self._closed = False

    @property
    def model_name(self) -> str:
        """As configured, until there is an agent."""
        return self._agent.model_name if self._agent else self._model_name

    @property
    def session_id(self) -> str:
        """Empty until there is one."""
        return self._agent.session_id if self._agent else self._saved.id

    @property
    def title(self) -> str:
        """The session's title."""
        return self._agent.title if self._agent else self._saved.title

    @property
    def running(self) -> bool:
        """Nothing runs before there is an agent."""
        return self._agent is not None and self._agent.running

    @property
    def stopping(self) -> bool:
        """Nothing winds down before there is an agent."""
        return self._agent is not None and self._agent.stopping

    @property
    def queue(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return self._agent.queue if self._agent else tuple(text for text, _ in self._waiting)

    @property
    def usage(self) -> Usage:
        """Nothing before there is an agent."""
        return self._agent.usage if self._agent else Usage(0, 0)

    async def count_usage(self) -> None:
        """Once there is an agent."""
        await self._built.wait()
        assert self._agent is not None
        await self._agent.count_usage()

    @property
    def context_window(self) -> int | None:
        """Not known before there is an agent."""
        return self._agent.context_window if self._agent else None

    @property
    def loop_detection(self) -> bool:
        """Whether a model that repeats itself is warned and stopped."""
        return self._agent.loop_detection if self._agent else self._loop_detection is not False

    @loop_detection.setter
    def loop_detection(self, on: bool) -> None:
        self._loop_detection = on
        if self._agent:
            self._agent.loop_detection = on

    def compress(self) -> None:
        """Make a snapshot once nothing else runs."""
        self._hand("/compress", lambda agent: agent.compress())

    def snapshot_text(self) -> str:
        """The snapshot that the model reads now."""
        return self._agent.snapshot_text() if self._agent else ""

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """Tell every event from now on."""
        self._listeners.append(listener)
        if self._agent:
            self._agent.subscribe(listener)

    def history(self) -> Sequence[Recorded]:
        """All stored events so far."""
        return self._agent.history() if self._agent else self._saved.events

    def submit(self, text: str) -> None:
        """Start a turn, or queue."""
        self._hand(text, lambda agent: agent.submit(text))

    def shell(self, line: str) -> None:
        """Run a line of the person."""
        self._hand(f"!{line}", lambda agent: agent.shell(line))

    def unqueue(self) -> str | None:
        """Take back the newest waiting entry."""
        if self._agent:
            return self._agent.unqueue()
        return self._waiting.pop()[0] if self._waiting else None

    def cancel(self) -> None:
        """Stop; before there is an agent nothing runs."""
        if self._agent:
            self._agent.cancel()

    async def serve(self) -> None:
        """Build the agent, hand it what waits, and work until `close`."""
        try:
            agent = await self._build()
        except AgentclipError as error:
            self._failed(error)
            return
        for listener in self._listeners:
            for recorded in agent.history()[self._shown :]:
                listener(recorded.event)
            agent.subscribe(listener)
        if self._loop_detection is not None:
            agent.loop_detection = self._loop_detection
        self._agent = agent
        self._built.set()
        while self._waiting:
            self._waiting.popleft()[1](agent)
        if self._closed:
            await agent.close()
        await agent.serve()

    async def close(self) -> None:
        """Stop what runs, end `serve`."""
        self._closed = True
        if self._agent:
            await self._agent.close()

    def _hand(self, text: str, do: Callable[[AgentApi], None]) -> None:
        if self._agent:
            do(self._agent)
        else:
            self._waiting.append((text, do))
