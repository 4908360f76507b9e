"""`agentclip keys`: which provider has a key and from where, storing one, removing one. Never shows a character of a key."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from msgspec import Struct, to_builtins

from agentclip import keystore, paths
from agentclip.cli.options import inherited_environment, settings_from
from agentclip.cli.output import say, say_json
from agentclip.errors import ConfigError, ErrorCode, one_line
from agentclip.model.providers import BY_LITELLM, KEY_VARIABLES, OWN_KEY_VARIABLE, PROVIDERS
from agentclip.undumpable import make_undumpable

MAX_STDIN = 64 * 1024
OF_A_SECRET = re.compile(r"[A-Z][A-Z0-9_]*(KEY|TOKEN|SECRET)")


class Found(Struct, frozen=True):
    """Where a key is, if anywhere."""

    variable: str
    provider: str
    """For a person; empty for a variable of the person's own."""
    source: str
    """`environment`, the path of the file, or empty when there is none."""
    problem: str = ""
    """Why it cannot be used; empty when it can."""


@click.group()
def command() -> None:
    """Keys of providers. A key in the environment goes before a stored one."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def show_list(as_json: bool) -> int:
    """Show which provider has a key, and from where."""
    found = list(_found(inherited_environment()))
    if as_json:
        say_json({"ok": True, "folder": str(paths.keys_dir()), "keys": [to_builtins(each) for each in found]})
        return 0
    for each in found:
        say(f"{each.variable:22} {each.provider:14} {one_line(each.problem or each.source) or 'none'}")
    return 0


@command.command("set")
@click.argument("name", metavar="PROVIDER|VARIABLE")
def store(name: str) -> int:
    """Store a key: typed unseen on a terminal, else read from stdin."""
    make_undumpable()
    variable = _variable(name)
    if sys.stdin.isatty():
        key = click.prompt(f"{variable} (not shown)", hide_input=True, default="", show_default=False, err=True)
    else:
        key = sys.stdin.buffer.read(MAX_STDIN).decode("utf-8", "replace")
    file = keystore.put(paths.keys_dir(), variable, key)
    say(f"stored {variable} in {file} (mode 600)")
    if inherited_environment().get(variable, "").strip():
        say(f"The environment holds {variable} too, and goes before it.")
    return 0


@command.command("remove")
@click.argument("name", metavar="PROVIDER|VARIABLE")
def remove(name: str) -> int:
    """Remove a stored key."""
    variable = _variable(name)
    if not keystore.remove(paths.keys_dir(), variable):
        raise ConfigError(f"no key is stored for {variable}", hint="agentclip keys list", code=ErrorCode.NOT_FOUND)
    say(f"removed {variable}")
    return 0


def _found(environ: Mapping[str, str]) -> Iterator[Found]:
    """Well-known providers with or without a key, then whatever else has one."""
    settings, stored = settings_from(), keystore.stored(paths.keys_dir())
    named = {each.key_variable: each.name for each in (*PROVIDERS, *BY_LITELLM)} | {OWN_KEY_VARIABLE: "--api-base"}
    always = [each.key_variable for each in PROVIDERS if each.key_variable]
    own = [] if settings.api_key_env is None else [settings.api_key_env]
    if settings.api_key_file is not None:
        file = str(Path(settings.api_key_file).expanduser())
        yield Found("model.api_key_file", "all", file, _problem(file))
    for variable in dict.fromkeys((*always, *own, *KEY_VARIABLES, *stored)):
        if environ.get(variable, "").strip():
            yield Found(variable, named.get(variable, ""), "environment")
        elif variable in stored:
            yield Found(variable, named.get(variable, ""), str(stored[variable]), _problem(stored[variable]))
        elif variable in always or variable in own:
            yield Found(variable, named.get(variable, ""), "")


def _problem(file: str) -> str:
    try:
        keystore.check(file)
    except ConfigError as error:
        return str(error)
    return ""


def _variable(name: str) -> str:
    """The variable that is meant: of a provider, or by its own name. Raises ConfigError."""
    for each in (*PROVIDERS, *BY_LITELLM):
        if name.lower() in {each.prefix, each.name.lower()}:
            if each.key_variable:
                return each.key_variable
            raise ConfigError(f"{each.name} needs no key", hint="agentclip models " + each.prefix, code=ErrorCode.USAGE)
    if OF_A_SECRET.fullmatch(name) or name == settings_from().api_key_env:
        return name
    known = ", ".join(each.prefix for each in PROVIDERS if each.key_variable)
    hint = f"Known: {known}; or a variable such as {OWN_KEY_VARIABLE}"
    raise ConfigError(f"no provider {one_line(name)!r}", hint=hint, code=ErrorCode.USAGE)
