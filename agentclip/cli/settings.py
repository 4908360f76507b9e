"""`agentclip config`: every setting, its value and where it came from; changing one in the user's own file."""

from __future__ import annotations

import json
import os

import click

from agentclip import config
from agentclip.cli.options import settings_from, working_directory
from agentclip.cli.output import say, say_json
from agentclip.errors import one_line
from agentclip.preferences import Preference, Preferences


@click.group()
def command() -> None:
    """The configuration. A value goes before another: default < user's file < project's file < variable < flag."""


@command.command("show")
@click.argument("key", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def show(key: str | None, as_json: bool) -> int:
    """Show every setting, or that of KEY, its value and the file, variable or flag that set it."""
    settings = settings_from()
    declared = list(config.declared()) if key is None else [config.named(key)]
    rows = [
        (f.metadata["key"], getattr(settings, f.name), settings.sources.get(f.metadata["key"], "default"), f) for f in declared
    ]
    if as_json:
        say_json({key: {"value": value, "source": source} for key, value, source, _ in rows})
        return 0
    for name, value, source, setting in rows:
        say(f"{name} = {json.dumps(value)}  ({source}; {config.PREFIX}{setting.name.upper()})")
        say(f"    {setting.metadata['doc']}")
    return 0


@command.command("set")
@click.argument("key")
@click.argument("value")
def change(key: str, value: str) -> int:
    """Write VALUE into the user's own file; its other lines stay. A list is separated by commas."""
    _say_now(_preferences().change(key, value))
    return 0


@command.command("unset")
@click.argument("key")
def take_out(key: str) -> int:
    """Take KEY out of the user's own file."""
    _say_now(_preferences().change(key, ""))
    return 0


def _preferences() -> Preferences:
    return Preferences(os.environ, working_directory(), {})


def _say_now(row: Preference) -> None:
    say(f"{row.key} = {one_line(row.value) or '(none)'}  ({row.source})")
    if row.is_overridden:
        say(f"{row.source} goes before the user's own file.")
