"""Choosing the session to talk in, and talking: on the screen or line by line."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click
from msgspec import Struct

from agentclip import paths, runtime
from agentclip.cli import demo
from agentclip.cli.course import DEMO, Course
from agentclip.cli.lines import converse
from agentclip.cli.saved import chosen
from agentclip.cli.screen import Opening, show
from agentclip.cli.sessions import settle
from agentclip.cli.terminals import is_screen
from agentclip.errors import SessionError
from agentclip.model.choose import choose_model
from agentclip.model.unconfigured import UnconfiguredModel, first_screen
from agentclip.store.facts import SessionFacts
from agentclip.store.listing import list_sessions

SHOWN_SESSIONS = 20


class Wish(Struct, frozen=True):
    """What a person asked for."""

    prompt: str | None
    """Sent at once; None for nothing."""
    resume: str | None
    """A session; empty to choose one, None for a new one."""
    go_on: bool
    """With the newest session of this directory."""
    by_line: bool


def talk(course: Course, wish: Wish) -> int:
    """Talk until the person quits or goes elsewhere; the exit status."""
    settings = course.settings
    if wish.resume == DEMO:
        return demo.play_on_screen(settings)
    if not wish.by_line and not is_screen():
        if wish.prompt is None and wish.resume is None and not wish.go_on:
            return demo.play_as_text()
        raise click.UsageError("the chat needs a terminal. Use: agentclip run TASK")
    resume = _which(wish)
    chosen_model = choose_model(settings, course.environ)
    first = () if chosen_model else first_screen(course.environ)
    talker = chosen_model or UnconfiguredModel()
    session = runtime.open_session(resume, Path.cwd(), talker.name)
    settle(session, ask=True)
    opened = converse if wish.by_line else show
    opening = Opening(wish.prompt, first, pick_session=wish.resume == "", course=course)
    return asyncio.run(opened(settings, talker, session, opening))


def _which(wish: Wish) -> str | None:
    """The session that is asked for; None for a new one, over which the screen may show the list. Raises SessionError."""
    if wish.resume != "":
        return chosen(wish.resume, go_on=wish.go_on)
    found = list_sessions(paths.sessions_dir())
    if not found:
        raise SessionError("there is no saved session yet", hint="Start one with: agentclip")
    return pick(found) if wish.by_line else None


def pick(sessions: Sequence[SessionFacts]) -> str:
    """Ask which session, line by line."""
    here = str(Path.cwd())
    found = sorted(sessions, key=lambda facts: facts.cwd != here)[:SHOWN_SESSIONS]
    for number, facts in enumerate(found, 1):
        when = datetime.fromtimestamp(facts.updated_s).astimezone().strftime("%Y-%m-%d %H:%M")
        place = "here" if facts.cwd == here else facts.cwd
        click.echo(f"{number:3}  {when}  {facts.title or '(no prompt)'}  ({place})  {facts.id}")
    number = click.prompt("Session", type=click.IntRange(1, len(found)), default=1)
    return found[number - 1].id
