"""A session told line by line: events in, lines out, and what the status line needs. Must not know: terminals, the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    CommandStarted,
    Event,
    Notice,
    OutputGrew,
    ReasoningDelta,
    ResultsMasked,
    RetryWaiting,
    SessionStarted,
    Severity,
    TextDelta,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.line.live import SHOWN_LINES, LiveRun
from agentclip.line.reply import Reply
from agentclip.line.text import Line, line, lines

PAST_LINES = 8
"""Shown of each run of an earlier program."""
_INKS = {Severity.INFO: "notice", Severity.WARNING: "not-sent", Severity.ERROR: "exit-fail"}


class Phase(StrEnum):
    """What goes on."""

    IDLE = "idle"
    THINKING = "thinking"
    WRITING = "writing"
    RUNNING = "running"
    WAITING = "waiting"


class Narrator:
    """Grows with events."""

    def __init__(self, width: Callable[[], int]) -> None:
        self.phase = Phase.IDLE
        self.run: LiveRun | None = None
        """The run that goes on."""
        self.context_tokens: int | None = None
        """Of the last request and its reply, as the provider counted; None before that."""
        self.cwd = ""
        self.typed: str | None = None
        """A prompt that already stands on the terminal, as it was typed."""
        self._reply = Reply(width)
        self._limit = SHOWN_LINES
        self._in_turn = False

    def replay(self, events: Iterable[Event]) -> list[Line]:
        """Events of an earlier program, more shortly."""
        self._limit = PAST_LINES
        told = [each for event in events for each in self.hear(event)]
        self._limit = SHOWN_LINES
        self.phase, self.run, self._in_turn = Phase.IDLE, None, False
        return told

    def hear(self, event: Event) -> list[Line]:
        """Take one event; what is said of it."""
        match event:
            case TextDelta() | ReasoningDelta() | AssistantReplied() | RetryWaiting():
                return self._replied(event)
            case CommandStarted() | OutputGrew() | CommandFinished():
                return self._ran(event)
            case TurnStarted() | UserMessageFolded() | TurnFinished():
                return self._turned(event)
            case SessionStarted():
                self.cwd = event.cwd
        text, ink = _remark(event)
        return [*self._reply.end(), *lines(text, ink)] if text else []

    def _replied(self, event: TextDelta | ReasoningDelta | AssistantReplied | RetryWaiting) -> list[Line]:
        match event:
            case TextDelta():
                self.phase = Phase.WRITING
                return self._reply.take(event.text)
            case ReasoningDelta():
                return []
            case AssistantReplied():
                if event.usage is not None:
                    self.context_tokens = event.usage.input_tokens + event.usage.output_tokens
                self.phase = Phase.THINKING if self._in_turn else self.phase
                said = self._reply.end(event.message.text)
                return [*said, line("[the reply was cut here]", "not-sent")] if said and event.partial else said
            case RetryWaiting():
                void = bool(self._reply.text)
                said = self._reply.end()
                self.phase = Phase.WAITING
                words = f"{event.reason}; trying again in {event.seconds:.0f}s (attempt {event.attempt})"
                return [*said, line(words + ("; the reply begins anew" if void else ""), "not-sent")]

    def _ran(self, event: CommandStarted | OutputGrew | CommandFinished) -> list[Line]:
        match event:
            case CommandStarted():
                self.phase = Phase.RUNNING
                self.run = LiveRun(event.number, event.stdout_path, self._limit)
                first, *more = event.command.split("\n")
                return [*self._reply.end(), line(f"$ {first}", "running"), *(line(f"  {each}", "running") for each in more)]
            case OutputGrew():
                return self.run.grew(event) if self.run is not None and self.run.number == event.number else []
            case CommandFinished():
                run = self.run or LiveRun(event.number, event.result.stdout.path)
                self.run = None
                self.phase = Phase.THINKING if self._in_turn else Phase.IDLE
                self.cwd = event.result.cwd or self.cwd
                return run.finish(event)

    def _turned(self, event: TurnStarted | UserMessageFolded | TurnFinished) -> list[Line]:
        if isinstance(event, TurnFinished):
            self.phase, self._in_turn = Phase.IDLE, False
            said = self._reply.end()
            if event.reason is TurnEnd.ANSWERED and not event.text:
                return said
            failed = event.reason is TurnEnd.FAILED
            return [*said, *lines(event.text or event.reason.value, "exit-fail" if failed else "not-sent")]
        if isinstance(event, TurnStarted):
            self.phase, self._in_turn = Phase.THINKING, True
        typed, self.typed = self.typed, None
        if typed == event.message.text and isinstance(event, TurnStarted):
            return []
        return [*self._reply.end(), *prompt_lines(event.message.text)]


def _remark(event: Event) -> tuple[str, str]:
    """What is said of an event that is no step of its own, and its colour."""
    match event:
        case Notice():
            return event.text, _INKS[event.severity]
        case Advised():
            return event.reason, "not-sent"
        case CallAnswered():
            return f"call not run: {event.reason}", "not-sent"
        case ResultsMasked():
            sizes = f"{event.tokens_before:,} -> {event.tokens_after:,} tokens"
            return f"old results are sent shortened from now on: {sizes}", "notice"
    return "", ""


def prompt_lines(text: str) -> list[Line]:
    """What a person sent."""
    first, *more = text.split("\n")
    return [line(f"> {first}", "user"), *(line(f"  {each}", "user") for each in more)]
