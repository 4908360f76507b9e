"""The settings as a person sees and changes them: rows out, one changed value in, written to the user's own file.

Made from the declarations in `config.py`. The file keeps its other lines and comments. Knows no screen and no command line.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agentclip import config, paths
from agentclip.errors import ConfigError

if TYPE_CHECKING:  # costs 40 ms
    from tomlkit import TOMLDocument

DEFAULT = "default"
FILE_MODE = 0o600


class Preference(Struct, frozen=True):
    """One setting."""

    key: str
    doc: str
    variable: str
    """Goes before the files."""
    default: str
    value: str
    """As it holds now; of a list, separated by commas; empty for none."""
    source: str
    """`default`, a file, a variable or a flag."""
    choices: tuple[str, ...]
    """Empty when anything goes."""
    live: bool
    """Whether the screen follows a change at once; else the next start does."""

    @property
    def is_overridden(self) -> bool:
        """Whether something goes before the user's own file."""
        return self.source not in {DEFAULT, str(paths.config_file())}


class Preferences(Struct, frozen=True):
    """Of one program."""

    environ: Mapping[str, str]
    cwd: Path
    flags: Mapping[str, config.Value]
    """What was typed at the start, by field name."""

    @classmethod
    def of(cls, settings: config.Settings, environ: Mapping[str, str], cwd: Path) -> Preferences:
        """Those that settings were made from."""
        typed = {key for key, source in settings.sources.items() if source.startswith("--")}
        flags = {f.name: getattr(settings, f.name) for f in config.declared() if f.metadata["key"] in typed}
        return cls(environ, cwd, flags)

    def rows(self) -> tuple[Preference, ...]:
        """All of them, in the order they are declared. Raises ConfigError: a file or variable is wrong."""
        settings, usual = config.load(self.environ, self.cwd, self.flags), config.Settings()
        return tuple(
            Preference(
                key := f.metadata["key"],
                f.metadata["doc"],
                config.PREFIX + f.name.upper(),
                as_text(getattr(usual, f.name)),
                as_text(getattr(settings, f.name)),
                settings.sources.get(key, DEFAULT),
                ("true", "false") if isinstance(f.default, bool) else f.metadata["choices"],
                f.metadata["live"],
            )
            for f in config.declared()
        )

    def row(self, key: str) -> Preference:
        """One of them. Raises ConfigError: none has this key."""
        config.named(key)
        return next(row for row in self.rows() if row.key == key)

    def change(self, key: str, text: str) -> Preference:
        """Write a value to the user's file; an empty one takes the key out of it. What holds now.

        Raises:
            ConfigError: not a value of this setting, the file is wrong already, or the disk refuses.
        """
        declaration = config.named(key)
        value = config.from_text(declaration, text.strip()) if text.strip() else None
        self.rows()  # a file that is wrong is mended by a person
        write(paths.config_file(), {key: value})
        return self.row(key)


def as_text(value: config.Value) -> str:
    """How a person types it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else str(value)


def write(path: Path, changes: Mapping[str, config.Value]) -> None:
    """Change keys of a configuration file, whole or not at all; None takes a key out. Raises ConfigError."""
    from tomlkit import dumps, parse  # noqa: PLC0415  registered deferred import
    from tomlkit.exceptions import ParseError  # noqa: PLC0415  registered deferred import

    try:
        document = parse(path.read_text(encoding="utf-8") if path.exists() else "")
        for key, value in changes.items():
            _put(document, key, value)
        _replace(path, dumps(document))
    except (ParseError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", hint="Mend the line or remove the file") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be changed: {error.strerror}", hint=f"ls -l {path}") from error


def _put(document: TOMLDocument, key: str, value: config.Value) -> None:
    table, _, name = key.rpartition(".")
    inner = document.get(table)
    if value is None:
        if isinstance(inner, dict):
            inner.pop(name, None)
        return
    if not isinstance(inner, dict):
        document[table] = inner = {}
        inner = document[table]
    inner[name] = list(value) if isinstance(value, tuple) else value


def _replace(path: Path, text: str) -> None:
    """Give the file other content; a link stays a link."""
    target = Path(os.path.realpath(path))
    paths.make_private(target.parent)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else FILE_MODE
    staged = target.with_name(f".{target.name}-{os.urandom(8).hex()}")
    try:
        with open(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(target)
    finally:
        staged.unlink(missing_ok=True)
