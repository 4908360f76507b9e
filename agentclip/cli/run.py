"""`agentclip run`: one task without a screen. The answer goes to stdout, what happens meanwhile to stderr."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import stat
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from agentclip import runtime
from agentclip.cli.execute import name_survivors
from agentclip.cli.options import model_options, settings_from
from agentclip.cli.output import log_to_file, say, say_json
from agentclip.cli.sessions import chosen
from agentclip.config import Settings
from agentclip.errors import ConfigError, ErrorCode, category_of
from agentclip.events import AssistantReplied, CommandFinished, Event, Notice, RetryWaiting, TurnEnd, TurnFinished

STDIN_WAIT_S = 0.5
"""How long a pipe on stdin may take to have its first byte; `sleep 1000 | agentclip run TASK` must not wait for ever."""
MAX_STDIN_BYTES = 1024 * 1024


@click.command()
@click.argument("task")
@model_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--max-steps", type=click.IntRange(1), metavar="N", help="End the turn after N model calls.")
@click.option("--resume", metavar="ID", help="Go on with a saved session.")
@click.option("--continue", "go_on", is_flag=True, help="Go on with the newest session of this directory.")
def command(
    task: str,
    model: str | None,
    api_base: str | None,
    as_json: bool,
    max_steps: int | None,
    resume: str | None,
    go_on: bool,
) -> int:
    """Do one TASK and print the answer. Text piped in is added to the task."""
    settings = settings_from(model=model, api_base=api_base, max_steps=max_steps)
    log_to_file()
    piped = piped_text()
    text = f"{task}\n\n<stdin>\n{piped}\n</stdin>" if piped else task
    outcome = asyncio.run(_turn(settings, text, chosen(resume, go_on=go_on)))
    if as_json:
        say_json(outcome.document())
    elif outcome.end.reason is TurnEnd.ANSWERED:
        say(outcome.text)
    else:
        click.echo(f"agentclip: {outcome.end.text}", err=True)
    return outcome.exit_status


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


async def _turn(settings: Settings, text: str, resume: str | None) -> Outcome:
    model = runtime.choose_model(settings, os.environ)
    if model is None:
        lines = runtime.first_screen(os.environ)
        raise ConfigError(" ".join(lines[:2]), hint=lines[2], code=ErrorCode.MISSING_KEY)
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


def piped_text() -> str:
    """What is piped in; empty when stdin is a terminal, closed, or a pipe that nobody writes to."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return ""
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return ""
    data = b""
    while len(data) < MAX_STDIN_BYTES and select.select([0], [], [], STDIN_WAIT_S)[0]:
        block = os.read(0, 1 << 16)
        if not block:
            break
        data += block
    return data[:MAX_STDIN_BYTES].decode("utf-8", "replace").strip()
