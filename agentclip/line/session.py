"""A whole session, line by line: an agent and a terminal come in, the exit status goes out."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from agentclip.agent.loop import Agent
from agentclip.events import AssistantReplied, Event, Recorded, TurnFinished, TurnStarted
from agentclip.foreign import one_line
from agentclip.line.editor import Editor
from agentclip.line.front import Front
from agentclip.line.narrator import Narrator, prompt_lines
from agentclip.line.output import Tty
from agentclip.line.plain import PlainTerminal
from agentclip.line.slash import Slash, is_slash
from agentclip.line.status import Facts, status_line
from agentclip.line.text import line, lines

QUIT_WINDOW_S = 2.0
TICK_S = 0.25
"""While something runs; idle, nothing ticks."""
TURNS_SHOWN = 3
MOST_EVENTS_SHOWN = 400


class LineOptions(Struct, frozen=True):
    """What the command line decides for the line mode."""

    plain: bool
    """The terminal takes no control codes."""
    theme: str | None = None
    """None for the terminal's own colours."""
    first_screen: tuple[str, ...] = ()
    """What to say when no model is configured."""
    sandbox_label: str = "no sandbox"
    window: Callable[[], int | None] = lambda: None
    """Tokens the model may read; None while nobody knows."""


class LineSession:
    """The desk of one session. `run` does everything."""

    def __init__(self, agent: Agent, options: LineOptions) -> None:
        tty = Tty()
        self.agent = agent
        self._options = options
        self._front: Front = PlainTerminal(tty) if options.plain else Editor(tty)
        self._narrator = Narrator(lambda: self._front.width)
        self._slash = Slash(agent, self, self._front)
        self._ended = asyncio.Event()
        self._status = 0
        self._cost_usd: float | None = None
        self._quit_until_s = self._busy_since_s = 0.0
        self._ticking = self._no_more_input = False

    async def run(self) -> int:
        """Until the person quits or a signal says so: 128 and its number then."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.quit, 128 + number)
        self._open()
        self.agent.subscribe(self._heard)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.agent.serve())
            group.create_task(self._front.serve(self))
            self._look()
            await self._ended.wait()
            await self.agent.close()
            self._front.close()
        return self._status

    def _open(self) -> None:
        self._front.show([line(f"agentclip - {self.agent.model_name} - {self._options.sandbox_label} - /help", "muted")])
        if self._front.edits and self._options.theme is not None:
            complaint = self._slash.use_theme(self._options.theme)
            self._front.show(complaint)
        history = self.agent.history()
        if history:
            past, hidden = last_turns(history)
            said = self._narrator.replay(past)
            before = [line(f"… {hidden:,} earlier events", "muted")] if hidden else []
            self._front.show([line(f"session {self.agent.session_id}: {self.agent.title}", "muted"), *before, *said])
        elif self._options.first_screen:
            self._front.show(lines("\n".join(self._options.first_screen)))

    def _heard(self, event: Event) -> None:
        self._front.show(self._narrator.hear(event))
        if isinstance(event, AssistantReplied | TurnFinished):
            self._cost_usd = self.agent.usage.cost_usd
        self._look()

    def _look(self) -> None:
        """The state may have changed: tell it, and look again while something runs."""
        self._front.refresh()
        if self._ticking:
            return
        if self.busy:
            self._ticking = True
            self._busy_since_s = time.monotonic()
            asyncio.get_running_loop().call_later(TICK_S, self._tick)
        elif self._no_more_input and not self._ended.is_set():
            self.quit()

    def _tick(self) -> None:
        self._ticking = False
        since_s = self._busy_since_s
        self._look()
        if self.busy:
            self._busy_since_s = since_s

    # What the terminal needs

    @property
    def busy(self) -> bool:
        """Something runs, winds down or waits, or the end has come."""
        return self.agent.running or self.agent.stopping or bool(self.agent.queue) or self._ended.is_set()

    @property
    def cwd(self) -> str:
        """Of the session's commands."""
        return self._narrator.cwd or "."

    def entered(self, text: str) -> None:
        """A prompt, a `!` line or a command."""
        text = text.strip("\n")
        if not text.strip() or self._ended.is_set():
            return
        if is_slash(text):
            echo = [] if self._front.echoes else prompt_lines(text)
            self._front.show([*echo, *self._slash.run(text)])
        else:
            self._send(text)
        self._look()

    def _send(self, text: str) -> None:
        waits = self.busy
        if text.startswith("!") and text[1:].strip():
            self.agent.shell(text[1:].strip())
        else:
            self._narrator.typed = text if self._front.echoes and not waits else None
            self.agent.submit(text)
        if waits:
            self._front.show([line(f"waits as {len(self.agent.queue)}: {one_line(text, 200)}", "notice")])

    def interrupted(self) -> None:
        """Cancel, again: kill; idle: quit when it comes twice."""
        if self.agent.running:
            again = self.agent.stopping
            self.agent.cancel()
            self._front.show([line("killing" if again else "cancelling; Ctrl+C again kills", "not-sent")])
        elif time.monotonic() < self._quit_until_s:
            self.quit()
        else:
            self._quit_until_s = time.monotonic() + QUIT_WINDOW_S
            self._front.show([line("Ctrl+C again to quit", "notice")])
        self._look()

    def take_back(self) -> str | None:
        """The newest that waits."""
        return self.agent.unqueue()

    def status(self, width: int) -> str:
        """One line."""
        run = self._narrator.run
        state = "stopping" if self.agent.stopping else str(self._narrator.phase)
        facts = Facts(
            model=self.agent.model_name,
            sandbox=self._options.sandbox_label,
            state=state if run is None or self.agent.stopping else f"{state} {run.number}",
            busy_s=time.monotonic() - self._busy_since_s if self.busy else None,
            size=0 if run is None else run.size,
            tokens=self._narrator.context_tokens,
            window=self._options.window(),
            cost_usd=self._cost_usd,
            waiting=len(self.agent.queue),
        )
        return status_line(facts, width)

    def quit(self, status: int = 0) -> None:
        """Stop what runs, then end; again: kill."""
        if self._ended.is_set():
            self.agent.cancel()
            return
        self._status = status
        self._ended.set()

    def quit_when_idle(self) -> None:
        """The input is over."""
        self._no_more_input = True
        self._look()


def last_turns(history: Sequence[Recorded]) -> tuple[list[Event], int]:
    """The events of the newest turns, oldest first, and how many come before them."""
    found: list[Event] = []
    turns = 0
    for recorded in reversed(history):
        found.append(recorded.event)
        turns += isinstance(recorded.event, TurnStarted)
        if turns == TURNS_SHOWN or len(found) == MOST_EVENTS_SHOWN:
            break
    return found[::-1], len(history) - len(found)
