"""One turn without a screen, for `run`. A task comes in; what it came to goes out, what happens meanwhile to stderr.

Imports the whole program: `run` loads it while the provider's process starts.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path

import click
from msgspec import Struct, field, to_builtins

from agentclip import runtime
from agentclip.cli import expect
from agentclip.cli.execute import name_survivors, on_signals
from agentclip.cli.options import environment_with_keys
from agentclip.cli.output import say, say_json
from agentclip.cli.saved import chosen
from agentclip.cli.sessions import settle
from agentclip.config import Settings
from agentclip.errors import ErrorCode, category_of
from agentclip.events import AssistantReplied, CommandFinished, Event, Notice, RetryWaiting, TurnEnd, TurnFinished
from agentclip.model.base import Model
from agentclip.model.choose import choose_light_model
from agentclip.store.codec import encode_event


class Output(Enum):
    """What stdout gets."""

    TEXT = auto()
    """The answer."""
    JSON = auto()
    """One document."""
    STREAM = auto()
    """One line of JSON per event, then the document."""


class Task(Struct, frozen=True):
    """What is asked for."""

    text: str
    expect_files: tuple[str, ...] = ()
    expect_lines: tuple[str, ...] = ()
    resume: str | None = None
    """Id of a saved session; None for a new one."""
    go_on: bool = False
    """The newest session of this directory instead."""
    output: Output = Output.TEXT


def run(settings: Settings, model: Model, task: Task) -> int:
    """Do the task to its end, look at what was expected of it, and report; the exit status. Raises SessionError."""
    before = expect.look(task.expect_files)
    outcome = asyncio.run(_turn(settings, model, task))
    if outcome.end.reason is TurnEnd.ANSWERED:
        outcome.expectations = (*expect.compare(before), *expect.run_lines(task.expect_lines, settings, on_signals))
    return outcome.report()


class Outcome(Struct):
    """What a turn came to."""

    session_id: str
    output: Output
    end: TurnFinished = field(default_factory=lambda: TurnFinished(TurnEnd.INTERRUPTED))
    text: str = ""
    commands: list[dict[str, object]] = field(default_factory=list)
    steps: int = 0
    usage: dict[str, object] = field(default_factory=dict)
    expectations: Sequence[expect.Expectation] = ()
    began: float = field(default_factory=time.monotonic)

    @property
    def failure(self) -> tuple[ErrorCode, str] | None:
        """Why it is no success, by commands.md; None when it is one."""
        match self.end.reason:
            case TurnEnd.ANSWERED:
                return expect.failure_of(self.expectations)
            case TurnEnd.CANCELLED | TurnEnd.INTERRUPTED:
                return ErrorCode.CANCELLED, self.end.text or "cancelled"
            case TurnEnd.LIMIT:
                return ErrorCode[self.end.code or "BUDGET"], self.end.text
            case TurnEnd.FAILED:
                return ErrorCode[self.end.code or "INTERNAL"], self.end.text

    @property
    def is_quiet(self) -> bool:
        """Programs that read JSON get nothing but JSON; a person at a terminal is told what happens."""
        return self.output is not Output.TEXT and not sys.stderr.isatty()

    def report(self) -> int:
        """Print it; the exit status."""
        failure = self.failure
        match self.output:
            case Output.JSON:
                say_json(self.document())
            case Output.STREAM:
                say_json({"type": "result", **self.document()})
            case Output.TEXT:
                if self.end.reason is TurnEnd.ANSWERED:
                    say(_safe(self.text) if sys.stdout.isatty() else self.text)
                if failure is not None:
                    click.echo(f"agentclip: {failure[1]}", err=True)
                if self.end.reason is TurnEnd.LIMIT:
                    click.echo(f"Go on with: {self._next()}", err=True)
        return 0 if failure is None else failure[0].exit_status

    def document(self) -> dict[str, object]:
        """The one JSON document."""
        failure = self.failure
        status = 0 if failure is None else failure[0].exit_status
        return {
            "ok": failure is None,
            "exit_code": status,
            "class": category_of(status),
            "text": self.text,
            "session": self.session_id,
            "next": self._next(),
            "steps": self.steps,
            "commands": self.commands,
            "usage": self.usage,
            "expectations": [
                {"kind": each.kind, "value": each.value, "met": each.met, "detail": each.detail} for each in self.expectations
            ],
            "duration_ms": round((time.monotonic() - self.began) * 1000),
            **({} if failure is None else {"error": self._error(*failure)}),
        }

    def take(self, event: Event) -> None:
        """Note what the document says, and tell a person at a terminal."""
        if self.output is Output.STREAM:
            say(encode_event(event).decode("utf-8"))
        match event:
            case AssistantReplied(message):
                self.steps += 1
                self.text = message.text or self.text
            case CommandFinished(result=result, shown=shown):
                self.commands.append({"command": result.chain.source, "exit_code": result.status, "spool": result.stdout.path})
                if sys.stderr.isatty():
                    click.echo(_safe(f"$ {result.chain.source}\n{shown.text}"), err=True)
            case Notice(text=text):
                self.tell(text)
            case RetryWaiting(seconds=seconds, reason=reason):
                self.tell(f"{reason}: next try in {seconds:.0f} s")
            case _:
                pass

    def tell(self, text: str) -> None:
        """One line for a person."""
        if not self.is_quiet:
            click.echo(f"agentclip: {_safe(text)}", err=True)

    def _next(self) -> str:
        return f"agentclip --resume {self.session_id}"

    def _error(self, code: ErrorCode, message: str) -> dict[str, object]:
        hint = self._next() if code is ErrorCode.BUDGET else code.hint
        return {"code": code.value, "message": message, "hint": hint, "retryable": code.category == "retry"}


def _safe(text: str) -> str:
    """Text of programs and models for a terminal: no control character reaches it."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


async def _turn(settings: Settings, model: Model, task: Task) -> Outcome:
    session = runtime.open_session(chosen(task.resume, go_on=task.go_on), Path.cwd(), model.name)
    settle(session)
    async with runtime.conversation(settings, model, session, choose_light_model(settings, environment_with_keys())) as talk:
        outcome = Outcome(session.id, task.output)
        for text in session.notices:
            outcome.tell(text)
        talk.agent.subscribe(outcome.take)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, talk.agent.cancel)
        outcome.end = await talk.agent.turn(task.text)
        outcome.usage = to_builtins(talk.agent.usage)
    if not outcome.is_quiet:
        name_survivors(talk.survivors)
    return outcome
