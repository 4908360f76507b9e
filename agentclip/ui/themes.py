"""Themes: TOML files in, checked values and Rich styles out. Knows no widget.

A file has `name`, `dark`, `[palette]` (Textual's colours), `[variables]` (ours; all of them) and `[syntax] pygments`. A wrong
file is one ConfigError that names file and key.
"""

from __future__ import annotations

import contextlib
import tomllib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

from agentclip import paths
from agentclip.errors import ConfigError
from agentclip.ui.background import DARK_BELOW, luminance

if TYPE_CHECKING:
    from pygments.style import StyleMeta
    from pygments.token import _TokenType

PALETTE = ("primary", "secondary", "accent", "warning", "error", "success", "foreground", "background", "surface", "panel")
BACKGROUNDS = ("raw-bg", "model-bg", "selected-bg")
FRAMES = ("frame", "frame-focus")
TEXTS = (
    "raw-fg", "raw-stderr", "model-fg", "seen-by-model", "not-sent", "changed", "mark", "exit-ok", "exit-fail", "running",
    "stopping", "user", "assistant", "muted", "heading", "code", "link", "notice",
)  # fmt: skip
VARIABLES = (*TEXTS, *BACKGROUNDS, *FRAMES)
INKS = (*TEXTS, "foreground")
"""What text is drawn in."""
GROUNDS = ("background", "surface", "panel", *BACKGROUNDS)
"""What text is drawn on: every ink must be readable on each of them, in every theme."""
AUTO = "auto"
"""The name that stands for the usual dark or light theme, as the terminal's background asks for."""
MIN_CONTRAST = 4.5
"""WCAG 2 level AA for text."""


class ScreenTheme(Struct, frozen=True):
    """One checked theme file."""

    name: str
    dark: bool
    palette: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str], ...]
    syntax: str
    """Name of a Pygments style."""

    def textual(self) -> Theme:
        """As Textual wants it; our variables become `$raw-bg` and so on in the style sheet."""
        palette = dict(self.palette)
        own = dict(self.variables)
        readable = {
            "input-cursor-background": palette["foreground"],
            "input-cursor-foreground": palette["surface"],
            "input-selection-background": own["selected-bg"],
            "screen-selection-background": palette["foreground"],
            "screen-selection-foreground": palette["background"],
            "scrollbar": own["frame"],
            "scrollbar-hover": own["frame-focus"],
            "scrollbar-active": own["frame-focus"],
            "scrollbar-background": palette["panel"],
            "scrollbar-background-hover": palette["panel"],
            "scrollbar-background-active": palette["panel"],
            "scrollbar-corner-color": palette["panel"],
        }
        theme = Theme(name=self.name, primary=palette["primary"], dark=self.dark, variables={**readable, **own})
        return replace(theme, **{key: palette[key] for key in PALETTE})  # type: ignore[arg-type]  # all of PALETTE are strings

    def color(self, name: str) -> Color:
        """The colour of a palette entry or a variable."""
        return Color.parse({**dict(self.palette), **dict(self.variables)}[name])


class Ink:
    """Rich styles of one theme, made once and kept: `ink["muted"]`."""

    def __init__(self, theme: ScreenTheme) -> None:
        self.theme = theme
        grounds = sorted(map(theme.color, GROUNDS), key=lambda color: luminance(*color.rgb))
        self._hardest = grounds[-1] if theme.dark else grounds[0]
        """What can be read on this ground can be read on all."""
        self._styles: dict[str, Style] = {}

    def __getitem__(self, name: str) -> Style:
        if name not in self._styles:
            assert name in INKS, f"no text is drawn in {name}"
            self._styles[name] = Style(color=self.theme.color(name).rich_color)
        return self._styles[name]

    def token(self, token: _TokenType) -> Style:
        """The style of a piece of code, with enough contrast whatever the Pygments style thinks."""
        from pygments.styles import get_style_by_name  # noqa: PLC0415  registered deferred import

        return _token_style(get_style_by_name(self.theme.syntax), token, self._hardest)


@lru_cache(maxsize=1024)
def _token_style(style: StyleMeta, token: _TokenType, background: Color) -> Style:
    entry = style.style_for_token(token)
    text = Color.parse(f"#{entry['color']}") if entry["color"] else background.get_contrast_text(1.0)
    return Style(color=readable(text, background).rich_color, bold=entry["bold"] or None, italic=entry["italic"] or None)


def contrast(one: Color, other: Color) -> float:
    """The WCAG 2 contrast ratio, 1 to 21."""
    light, dark = sorted((luminance(*one.rgb), luminance(*other.rgb)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def readable(text: Color, background: Color) -> Color:
    """The colour itself, or moved towards black or white just far enough to be read."""
    goal = Color(255, 255, 255) if luminance(*background.rgb) < DARK_BELOW else Color(0, 0, 0)
    for step in range(21):
        candidate = text.blend(goal, step / 20, 1)
        if contrast(candidate, background) >= MIN_CONTRAST:
            return candidate
    return goal


def load_theme(path: Path) -> ScreenTheme:
    """Read and check one file. Raises ConfigError naming file and key."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="see the shipped themes for the form of a theme file") from error
    name, dark = table.get("name"), table.get("dark")
    if not isinstance(name, str) or name == AUTO or not name.replace("-", "").replace("_", "").isalnum():
        raise _wrong(path, "name", f"letters, digits, - and _, but not {AUTO}")
    if not isinstance(dark, bool):
        raise _wrong(path, "dark", "true or false")
    return ScreenTheme(
        name,
        dark,
        _colors(path, table, "palette", PALETTE),
        _colors(path, table, "variables", VARIABLES),
        _syntax(path, table.get("syntax")),
    )


class Themes(Struct, frozen=True):
    """All themes there are."""

    by_name: dict[str, ScreenTheme]
    errors: tuple[ConfigError, ...]
    """Files that are no theme."""
    by_file: dict[Path, ScreenTheme]
    """What each file was when it could be read last."""

    @classmethod
    def load(cls, before: Themes | None = None) -> Themes:
        """The shipped ones and the user's; a wrong file is what it was `before`. Raises ConfigError: there is none."""
        by_file: dict[Path, ScreenTheme] = {}
        errors: list[ConfigError] = []
        for path in theme_files():
            try:
                by_file[path] = load_theme(path)
            except ConfigError as error:
                errors.append(error)
                if before is not None and path in before.by_file:
                    by_file[path] = before.by_file[path]
        if not by_file:
            raise ConfigError(f"{paths.shipped_themes_dir()}: no theme found", hint="install agentclip again")
        return cls({theme.name: theme for theme in by_file.values()}, tuple(errors), by_file)

    def pick(self, name: str, *, dark: bool = True) -> ScreenTheme:
        """The theme of that name, the usual one for a dark or a light terminal when the name is `auto`, else the first."""
        named = ("dark" if dark else "light") if name == AUTO else name
        return self.by_name.get(named) or next(iter(self.by_name.values()))

    def complaints(self, name: str) -> list[str]:
        """What is wrong with the files and with the name asked for, one line each."""
        missing = [] if name in {*self.by_name, AUTO} else [f"no theme {name}; there are {AUTO}, {', '.join(self.by_name)}"]
        return [str(error) for error in self.errors] + missing


def theme_files() -> list[Path]:
    """Later ones go before earlier ones of the same name."""
    return [path for folder in (paths.shipped_themes_dir(), paths.user_themes_dir()) for path in sorted(folder.glob("*.toml"))]


def state_of_files() -> tuple[tuple[str, int, int], ...]:
    """Changes when a theme file comes, goes or changes. Costs some twenty microseconds."""
    found = []
    for path in theme_files():
        with contextlib.suppress(OSError):
            now = path.stat()
            found.append((str(path), now.st_mtime_ns, now.st_size))
    return tuple(found)


def _colors(path: Path, table: dict[str, object], section: str, keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = table.get(section)
    if not isinstance(found, dict):
        raise _wrong(path, f"[{section}]", "a table of colours")
    for key in found:
        if key not in keys:
            raise _wrong(path, f"{section}.{key}", "one of " + ", ".join(keys))
    for key in keys:
        value = found.get(key)
        try:
            valid = isinstance(value, str) and Color.parse(value).a == 1
        except ColorParseError:
            valid = False
        if not valid:
            raise _wrong(path, f"{section}.{key}", 'an opaque colour such as "#7aa2f7"')
    return tuple((key, found[key]) for key in keys)


def _syntax(path: Path, section: object) -> str:
    name = section.get("pygments") if isinstance(section, dict) else None
    if path.parent != paths.shipped_themes_dir():  # a test has looked at those
        from pygments.styles import get_style_by_name  # noqa: PLC0415  registered deferred import
        from pygments.util import ClassNotFound  # noqa: PLC0415  registered deferred import

        try:
            get_style_by_name(str(name))
        except ClassNotFound as error:
            raise _wrong(path, "syntax.pygments", "the name of a Pygments style such as monokai") from error
    return str(name)


def _wrong(path: Path, key: str, allowed: str) -> ConfigError:
    return ConfigError(f"{path}: `{key}` is missing or wrong", hint=f"allowed: {allowed}")
