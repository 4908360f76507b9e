"""Colours of the line mode. The terminal's own sixteen unless a theme was chosen: they can be read on its own background.

In: the name of a theme. Out: colours by name, as prompt_toolkit writes them. Must not know: textual.
"""

from __future__ import annotations

import contextlib
import re
import tomllib

from msgspec import Struct

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
AUTO = "auto"
"""Fits the terminal's background: here, the terminal's own colours."""
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


class Inks(Struct, frozen=True):
    """Colours by name, and the Pygments style for code."""

    colours: dict[str, str]
    syntax: str | None = None
    """None for Pygments colours made of the terminal's own."""


def theme_names() -> list[str]:
    """All that can be chosen."""
    return [AUTO, *sorted(_themes())]


def load_inks(name: str | None) -> Inks:
    """Of a theme; None and AUTO mean the terminal's own. What a file does not say well stays the terminal's.

    Raises:
        ConfigError: there is no theme of that name that can be read.
    """
    if name is None or name == AUTO:
        return Inks(TERMINAL)
    themes = _themes()
    if name not in themes:
        raise ConfigError(f"no theme {name}", hint=f"there are {', '.join(theme_names())}")
    variables, syntax = themes[name].get("variables"), themes[name].get("syntax")
    given = variables if isinstance(variables, dict) else {}
    colours = {ink: colour for ink in TERMINAL if isinstance(colour := given.get(ink), str) and _COLOUR.fullmatch(colour)}
    style = syntax.get("pygments") if isinstance(syntax, dict) else None
    return Inks({**TERMINAL, **colours}, style if isinstance(style, str) else None)


def _themes() -> dict[str, dict[str, object]]:
    """The tables by the names in them; the user's before the shipped ones."""
    found: dict[str, dict[str, object]] = {}
    for folder in (paths.shipped_themes_dir(), paths.user_themes_dir()):
        for path in sorted(folder.glob("*.toml")):
            with contextlib.suppress(OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
                table = tomllib.loads(path.read_text(encoding="utf-8"))
                found[str(table.get("name", path.stem))] = table
    return found
