"""One turn without a screen, for `run`. A task comes in; what it came to goes out, what happens meanwhile to stderr.

Imports the whole program: `run` loads it while the provider's process starts.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from agentclip import runtime
from agentclip.cli.execute import name_survivors
from agentclip.cli.output import say, say_json
from agentclip.config import Settings
from agentclip.errors import ErrorCode, category_of
from agentclip.events import AssistantReplied, CommandFinished, Event, Notice, RetryWaiting, TurnEnd, TurnFinished
from agentclip.model.base import Model


@dataclass(slots=True)
class Outcome:
    """What a turn came to."""

    session_id: str
    end: TurnFinished = field(default_factory=lambda: TurnFinished(TurnEnd.INTERRUPTED))
    text: str = ""
    commands: list[dict[str, object]] = field(default_factory=list)
    steps: int = 0
    usage: dict[str, object] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    @property
    def exit_status(self) -> int:
        """By commands.md: what the caller decides by."""
        match self.end.reason:
            case TurnEnd.ANSWERED:
                return 0
            case TurnEnd.CANCELLED | TurnEnd.INTERRUPTED:
                return 130
            case TurnEnd.LIMIT:
                return 3
            case TurnEnd.FAILED:
                return ErrorCode[self.end.code or "INTERNAL"].exit_status

    def report(self, *, as_json: bool) -> int:
        """Print it; the exit status."""
        if as_json:
            say_json(self.document())
        elif self.end.reason is TurnEnd.ANSWERED:
            say(self.text)
        else:
            click.echo(f"agentclip: {self.end.text}", err=True)
        return self.exit_status

    def document(self) -> dict[str, object]:
        """The one JSON document."""
        failed = self.end.reason is not TurnEnd.ANSWERED
        code = self.end.code or ("BUDGET" if self.end.reason is TurnEnd.LIMIT else "CANCELLED")
        error = {"code": code, "message": self.end.text, "hint": ErrorCode[code].hint, "retryable": self.exit_status == 75}
        return {
            "ok": not failed,
            "exit_code": self.exit_status,
            "class": category_of(self.exit_status),
            "text": self.text,
            "session": self.session_id,
            "next": f"agentclip --resume {self.session_id}",
            "steps": self.steps,
            "commands": self.commands,
            "usage": self.usage,
            "duration_ms": round((time.monotonic() - self.began) * 1000),
            **({"error": error} if failed else {}),
        }

    def take(self, event: Event) -> None:
        """Note what the document says, and tell a person at a terminal."""
        match event:
            case AssistantReplied(message):
                self.steps += 1
                self.text = message.text or self.text
            case CommandFinished(result=result, shown=shown):
                self.commands.append({"command": result.chain.source, "exit_code": result.status, "spool": result.stdout.path})
                _tell(f"$ {result.chain.source}\n{shown.text}")
            case Notice(text=text):
                click.echo(f"agentclip: {text}", err=True)
            case RetryWaiting(seconds=seconds, reason=reason):
                click.echo(f"agentclip: {reason}: next try in {seconds:.0f} s", err=True)
            case _:
                pass


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        # Text of programs: its control characters must not reach the terminal.
        click.echo("".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text), err=True)


async def turn(settings: Settings, model: Model, text: str, resume: str | None) -> Outcome:
    """Do one turn of a new session, or of the saved one with that id. Raises SessionError."""
    session = runtime.open_session(resume, Path.cwd(), model.name)
    async with runtime.conversation(settings, model, session) as talk:
        outcome = Outcome(session.id)
        talk.agent.subscribe(outcome.take)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, talk.agent.cancel)
        outcome.end = await talk.agent.turn(text)
        outcome.usage = asdict(talk.agent.usage)
    name_survivors(talk.survivors)
    return outcome
