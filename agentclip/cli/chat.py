"""`agentclip [PROMPT]`: the full-screen chat, or line by line."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import click

from agentclip import paths, runtime
from agentclip.cli import demo
from agentclip.cli.lines import converse, needs_lines
from agentclip.cli.options import environment_with_keys, model_options, settings_from
from agentclip.cli.screen import Opening, is_screen, show
from agentclip.cli.sessions import chosen, settle
from agentclip.errors import SessionError
from agentclip.model.choose import choose_model, first_screen
from agentclip.model.unconfigured import UnconfiguredModel
from agentclip.store.listing import list_sessions

SHOWN_SESSIONS = 20


@click.command()
@click.argument("prompt", required=False)
@model_options
@click.option("--resume", is_flag=False, flag_value="", metavar="[ID]", help="Go on with a saved session.")
@click.option("--continue", "go_on", is_flag=True, help="Go on with the newest session of this directory.")
@click.option("--theme", metavar="NAME", help="Theme of the screen.")
@click.option("--line", "by_line", is_flag=True, help="Line by line, without the full screen.")
def command(
    prompt: str | None,
    model: str | None,
    api_base: str | None,
    provider: str | None,
    resume: str | None,
    go_on: bool,
    theme: str | None,
    by_line: bool,
) -> int:
    """Full-screen chat; a PROMPT is sent at once."""
    settings = settings_from(model=model, api_base=api_base, provider=provider, theme=theme)
    by_line = by_line or needs_lines()
    if not by_line and not is_screen():
        if prompt is None and resume is None and not go_on:
            return demo.play_as_text()
        raise click.UsageError("the chat needs a terminal. Use: agentclip run TASK")
    resume = pick() if resume == "" else resume
    environ = environment_with_keys()
    chosen_model = choose_model(settings, environ)
    first = () if chosen_model else first_screen(environ)
    talker = chosen_model or UnconfiguredModel()
    session = runtime.open_session(chosen(resume, go_on=go_on), Path.cwd(), talker.name)
    settle(session, ask=True)
    opened = converse if by_line else show
    return asyncio.run(opened(settings, talker, session, Opening(prompt, first)))


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
