"""Colours of the line mode. The terminal's own sixteen unless a theme was chosen: they can be read on its own background.

In: the name of a theme. Out: colours by name, as prompt_toolkit writes them. Must not know: textual.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from agentclip import paths
from agentclip.errors import ConfigError

TERMINAL = {
    "user": "ansiblue bold",
    "heading": "bold",
    "code": "ansicyan",
    "running": "ansimagenta",
    "muted": "ansibrightblack",
    "raw-stderr": "ansired",
    "notice": "ansibrightblack",
    "not-sent": "ansiyellow",
    "exit-ok": "ansigreen",
    "exit-fail": "ansired bold",
}
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, slots=True)
class Inks:
    """Colours by name, and the Pygments style for code."""

    colours: dict[str, str]
    syntax: str | None = None
    """None for Pygments colours made of the terminal's own."""


def theme_names() -> list[str]:
    """All that can be chosen."""
    return sorted(_files())


def load_inks(name: str | None) -> Inks:
    """Of a theme; None means the terminal's own. Raises ConfigError: there is no such theme, or its file cannot be read."""
    if name is None:
        return Inks(TERMINAL)
    path = _files().get(name)
    if path is None:
        raise ConfigError(f"no theme {name}", hint=f"there are {', '.join(theme_names())}")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="see the shipped themes for the form of a theme file") from error
    variables, syntax = table.get("variables"), table.get("syntax")
    given = variables if isinstance(variables, dict) else {}
    colours = {ink: colour for ink in TERMINAL if isinstance(colour := given.get(ink), str) and _COLOUR.fullmatch(colour)}
    style = syntax.get("pygments") if isinstance(syntax, dict) else None
    return Inks({**TERMINAL, **colours}, style if isinstance(style, str) else None)


def _files() -> dict[str, Path]:
    folders = (paths.shipped_themes_dir(), paths.user_themes_dir())
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.toml"))}
