"""`agentclip sessions`, and which saved session a command means."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click

from agentclip import paths
from agentclip.cli.output import say, say_json
from agentclip.errors import SessionError
from agentclip.store.listing import list_sessions, newest


@click.group()
def command() -> None:
    """Saved sessions."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def show_list(as_json: bool) -> int:
    """List the sessions of this machine, newest first."""
    found = list_sessions(paths.sessions_dir())
    if as_json:
        say_json({"ok": True, "sessions": [asdict(facts) for facts in found]})
        return 0
    for facts in found:
        when = datetime.fromtimestamp(facts.updated_s).astimezone().strftime("%Y-%m-%d %H:%M")
        say(f"{facts.id}  {when}  {facts.turns:3} turns  {facts.title}  ({facts.cwd})")
    return 0


def chosen(resume: str | None, *, go_on: bool) -> str | None:
    """The id to resume, or None for a new session. Raises SessionError: `--continue` finds none here."""
    if resume is not None or not go_on:
        return resume
    facts = newest(paths.sessions_dir(), str(Path.cwd()))
    if facts is None:
        raise SessionError("no session of this directory", hint="See all with: agentclip sessions list")
    return facts.id
