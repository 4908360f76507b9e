"""Choosing the session to talk in, and talking: on the screen or line by line."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from agentclip import paths, runtime
from agentclip.cli import demo
from agentclip.cli.lines import converse
from agentclip.cli.options import environment_with_keys
from agentclip.cli.screen import Opening, show
from agentclip.cli.sessions import chosen, settle
from agentclip.cli.terminals import is_screen
from agentclip.config import Settings
from agentclip.errors import SessionError
from agentclip.model.choose import choose_model, first_screen
from agentclip.model.unconfigured import UnconfiguredModel
from agentclip.store.listing import list_sessions

SHOWN_SESSIONS = 20


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person asked for."""

    prompt: str | None
    """Sent at once; None for nothing."""
    resume: str | None
    """A session; empty to choose one, None for a new one."""
    go_on: bool
    """With the newest session of this directory."""
    by_line: bool


def talk(settings: Settings, wish: Wish) -> int:
    """Talk until the person quits; the exit status."""
    if not wish.by_line and not is_screen():
        if wish.prompt is None and wish.resume is None and not wish.go_on:
            return demo.play_as_text()
        raise click.UsageError("the chat needs a terminal. Use: agentclip run TASK")
    resume = pick() if wish.resume == "" else wish.resume
    environ = environment_with_keys()
    chosen_model = choose_model(settings, environ)
    first = () if chosen_model else first_screen(environ)
    talker = chosen_model or UnconfiguredModel()
    session = runtime.open_session(chosen(resume, go_on=wish.go_on), Path.cwd(), talker.name)
    settle(session, ask=True)
    opened = converse if wish.by_line else show
    return asyncio.run(opened(settings, talker, session, Opening(wish.prompt, first)))


def pick() -> str:
    """Ask which session. Raises SessionError: there is none."""
    here = str(Path.cwd())
    found = sorted(list_sessions(paths.sessions_dir()), key=lambda facts: facts.cwd != here)[:SHOWN_SESSIONS]
    if not found:
        raise SessionError("there is no saved session yet", hint="Start one with: agentclip")
    for number, facts in enumerate(found, 1):
        when = datetime.fromtimestamp(facts.updated_s).astimezone().strftime("%Y-%m-%d %H:%M")
        place = "here" if facts.cwd == here else facts.cwd
        click.echo(f"{number:3}  {when}  {facts.title or '(no prompt)'}  ({place})  {facts.id}")
    number = click.prompt("Session", type=click.IntRange(1, len(found)), default=1)
    return found[number - 1].id
