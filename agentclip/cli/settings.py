"""`agentclip config show`: every setting, its value and where it came from."""

from __future__ import annotations

import json

import click

from agentclip.cli.options import settings_from
from agentclip.cli.output import say, say_json
from agentclip.config import PREFIX, declared


@click.group()
def command() -> None:
    """The configuration."""


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def show(as_json: bool) -> int:
    """Show every setting, its value and the file, variable or flag that set it."""
    settings = settings_from()
    rows = [
        (f.metadata["key"], getattr(settings, f.name), settings.sources.get(f.metadata["key"], "default"), f)
        for f in declared()
    ]
    if as_json:
        say_json({key: {"value": value, "source": source} for key, value, source, _ in rows})
        return 0
    for key, value, source, setting in rows:
        say(f"{key} = {json.dumps(value)}  ({source}; {PREFIX}{setting.name.upper()})")
        say(f"    {setting.metadata['doc']}")
    return 0
