"""Options that several commands share, and how they become settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from agentclip import config

_F = TypeVar("_F", bound=Callable[..., Any])


def model_options(function: _F) -> _F:
    """`--model` and `--api-base`."""
    function = click.option("--api-base", metavar="URL", help="An OpenAI-compatible endpoint.")(function)
    return click.option("--model", metavar="NAME", help="Model to talk to, or replay:FILE.")(function)


def settings_from(**flags: config.Value) -> config.Settings:
    """Settings with the flags that were typed. Raises ConfigError."""
    return config.load(os.environ, Path.cwd(), {name: value for name, value in flags.items() if value is not None})
