"""`agentclip sessions`, and which saved session a command means."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import click
from msgspec import to_builtins

from agentclip import paths
from agentclip.cli import export
from agentclip.cli.options import working_directory
from agentclip.cli.output import say, say_json
from agentclip.errors import ErrorCode, SessionError, one_line
from agentclip.events import CommandFinished, CommandStarted
from agentclip.shell.state import nearest_existing
from agentclip.store import copies
from agentclip.store.facts import SessionFacts, read_facts
from agentclip.store.history import StoredEvents
from agentclip.store.listing import find, list_sessions
from agentclip.store.session import Session
from agentclip.ui.first_picture import held

as_json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


@click.group()
def command() -> None:
    """Saved sessions. ID may be the beginning of one."""


@command.command("list")
@as_json_option
@click.option("--here", is_flag=True, help="Only those of this directory.")
def show_list(as_json: bool, here: bool) -> int:
    """List the sessions of this machine, newest first."""
    found = list_sessions(paths.sessions_dir(), str(working_directory()) if here else None)
    if as_json:
        say_json({"ok": True, "sessions": [to_builtins(facts) for facts in found]})
        return 0
    for facts in found:
        turns = "1 turn" if facts.turns == 1 else f"{facts.turns} turns"
        say(f"{facts.id}  {_when(facts.updated_s)}  {turns:>9}  {facts.title}  ({one_line(facts.cwd)})")
    return 0


@command.command("show")
@click.argument("identifier", metavar="ID")
@click.option("--snapshot", is_flag=True, help="Print its newest snapshot instead.")
@as_json_option
def show_one(identifier: str, snapshot: bool, as_json: bool) -> int:
    """Show what a session is about and what it ran."""
    folder = find(paths.sessions_dir(), identifier)
    if snapshot:
        return _show_snapshot(folder, as_json=as_json)
    events = copies.events_of(folder)
    facts = _facts(folder)
    runs = list(_runs(events))
    if as_json:
        say_json({"ok": True, "session": to_builtins(facts), "runs": runs})
        return 0
    say(f"{facts.id}  {facts.title}")
    say(f"directory {one_line(facts.cwd)}, model {one_line(facts.model)}, agentclip {one_line(facts.version)}")
    say(f"began {_when(facts.created_s)}, last used {_when(facts.updated_s)}, {facts.turns} turns, {facts.commands} commands")
    for run in runs:
        status = "never ended" if run["exit_code"] is None else f"exit {run['exit_code']}"
        say(f"{run['number']:>5}  {status:>11}  {one_line(str(run['command']))}")
    return 0


@command.command("rename")
@click.argument("identifier", metavar="ID")
@click.argument("title")
def rename(identifier: str, title: str) -> int:
    """Give a session another TITLE; an empty one brings back its first prompt."""
    session = Session.open(paths.sessions_dir(), identifier)
    try:
        session.rename(title)
    finally:
        session.close()
    say(f"{session.id}  {session.meta.title}")
    return 0


@command.command("delete")
@click.argument("identifiers", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(identifiers: tuple[str, ...], yes: bool) -> int:
    """Remove sessions for good: what was said, and the output of what was run."""
    folders = [find(paths.sessions_dir(), identifier) for identifier in identifiers]
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("nobody can be asked here. Use: --yes")
    for folder in folders:
        facts = _facts(folder)
        if yes or click.confirm(f"Remove {facts.id}  {facts.title}  ({facts.turns} turns) for good?"):
            copies.delete(folder)
            say(f"removed {facts.id}")
    return 0


@command.command("fork")
@click.argument("identifier", metavar="ID")
@click.option("--title", help="Of the copy.")
@as_json_option
def fork(identifier: str, title: str | None, as_json: bool) -> int:
    """Copy a session as it is now, to go on in another way. The original may be open."""
    facts = copies.fork(find(paths.sessions_dir(), identifier), title)
    if as_json:
        say_json({"ok": True, "session": to_builtins(facts), "next": f"agentclip --resume {facts.id}"})
    else:
        say(f"{facts.id}  {facts.title}\nGo on with: agentclip --resume {facts.id}")
    return 0


@command.command("export")
@click.argument("identifier", metavar="ID")
@click.option("--format", "form", type=click.Choice(["md", "json"]), default="md", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write it to a file that only you can read.")
def export_one(identifier: str, form: str, output: str | None) -> int:
    """Print a whole session as Markdown or JSON."""
    folder = find(paths.sessions_dir(), identifier)
    pieces = (export.as_json if form == "json" else export.as_markdown)(_facts(folder), copies.events_of(folder))
    if output is None:
        _print(pieces)
        return 0
    try:
        export.write_private(Path(output), pieces)
    except OSError as error:
        raise click.UsageError(f"cannot write {output}: {error.strerror}") from error
    return 0


def settle(session: Session, *, ask: bool = False) -> None:
    """See to it that the session's directory exists: commands must not begin somewhere that nobody chose.

    Raises:
        SessionError: it is gone, and nobody can be asked.
    """
    cwd = session.last_cwd or str(Path.cwd())
    if os.path.isdir(cwd):
        return
    if cwd != session.meta.cwd and os.path.isdir(session.meta.cwd):
        session.move_to(session.meta.cwd)
        session.notices += (f"the directory {one_line(cwd)} is gone: back in {one_line(session.meta.cwd)}",)
        return
    if not ask:
        session.close()
        raise SessionError(
            f"the directory of session {session.id} is gone: {one_line(cwd)}",
            hint=f"Make it again, or choose another one: agentclip --resume {session.id}",
            code=ErrorCode.INPUT_NOT_FOUND,
        )
    held.give_back()  # the first picture of the screen may stand already
    places = list(dict.fromkeys((nearest_existing(cwd), str(Path.cwd()))))
    click.echo(f"The directory of this session is gone: {one_line(cwd)}")
    for number, place in enumerate(places, 1):
        click.echo(f"{number:3}  go on in {one_line(place)}")
    number = click.prompt("Directory", type=click.IntRange(1, len(places)), default=1)
    session.move_to(places[number - 1])


def _show_snapshot(folder: Path, *, as_json: bool) -> int:
    text = copies.newest_snapshot(folder)
    if text is None:
        raise SessionError(f"session {folder.name} has no snapshot yet", hint="/compress", code=ErrorCode.NOT_FOUND)
    if as_json:
        say_json({"ok": True, "session": folder.name, "snapshot": text})
    else:
        say(export.marked(text).removesuffix("\n"))
    return 0


def _runs(events: StoredEvents) -> Iterable[dict[str, object]]:
    ended = {
        recorded.event.number: (recorded.event.result.status, recorded.event.result.duration_s, recorded.event.result.stdout)
        for recorded in events.of(CommandFinished)
        if isinstance(recorded.event, CommandFinished)
    }
    for recorded in events.of(CommandStarted):
        if isinstance(recorded.event, CommandStarted):
            status, duration_s, stdout = ended.get(recorded.event.number, (None, None, None))
            yield {
                "number": recorded.event.number,
                "command": recorded.event.command,
                "exit_code": status,
                "duration_s": duration_s,
                "spool": stdout.path if stdout and os.path.exists(stdout.path) else None,
            }


def _facts(folder: Path) -> SessionFacts:
    return read_facts(folder) or SessionFacts(folder.name, "", "", "", "", 0.0, 0.0)


def _print(pieces: Iterable[str]) -> None:
    for piece in pieces:
        say(piece.removesuffix("\n"))


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
