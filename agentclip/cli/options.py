"""Options that several commands share, and how they become settings."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from agentclip import config, keystore, paths
from agentclip.errors import ConfigError

_F = TypeVar("_F", bound=Callable[..., Any])


def model_options(function: _F) -> _F:
    """`--model`, `--api-base` and `--provider`."""
    function = click.option(
        "--provider", type=click.Choice(["direct", "litellm"]), help="How to reach it; left out, what fits the endpoint."
    )(function)
    function = click.option("--api-base", metavar="URL", help="An OpenAI-compatible endpoint.")(function)
    return click.option("--model", metavar="NAME", help="Model to talk to, or replay:FILE.")(function)


def settings_from(**flags: config.Value) -> config.Settings:
    """Settings with the flags that were typed. Raises ConfigError."""
    return config.load(os.environ, working_directory(), {name: value for name, value in flags.items() if value is not None})


def working_directory() -> Path:
    """Ours. Raises ConfigError: somebody removed it."""
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError("the working directory is gone", hint="cd to one that exists") from error


def inherited_environment() -> Mapping[str, str]:
    """Our environment as we were started with it: the keys that were taken out of it included."""
    held = click.get_current_context().obj
    return ChainMap(dict(held) if isinstance(held, Mapping) else {}, os.environ)


def environment_with_keys() -> Mapping[str, str]:
    """For choosing a model and for nothing else: what we were started with and, where it holds no key, the stored ones."""
    inherited = inherited_environment()
    stored = {name: file for name, file in keystore.stored(paths.keys_dir()).items() if not inherited.get(name, "").strip()}
    return ChainMap(dict(stored), dict(inherited))
