"""Commands of other packages: entry points of the group `agentclip.commands` come in, a fuller table goes out.

This is a boundary: whatever is wrong with a plug-in ends as one warning, and all other commands work.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from agentclip.command import Command, CommandTable, Declaration
from agentclip.commands.usage import help_text
from agentclip.errors import one_line

GROUP = "agentclip.commands"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_METADATA = (".dist-info", ".egg-info")


def add_plugins(table: CommandTable) -> None:
    """Add every plug-in that is installed, by the names of their entry points; warnings go to the table."""
    if not any(map(_has_plugins, dict.fromkeys(sys.path))):
        return
    # Reading entry points costs 15 ms: only who has plug-ins pays for it.
    from importlib.metadata import entry_points  # noqa: PLC0415  registered deferred import

    seen: set[str] = set()
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        if point.value not in seen:
            seen.add(point.value)
            try:
                table.add(_checked(point.load()))
            except Exception as error:  # noqa: BLE001  named boundary 3: a broken plug-in is one warning
                what = f"{type(error).__name__}: {error}"[:300]
                table.warnings.append(one_line(f"plug-in {point.name} ({point.value}) is left out: {what}"))


def _checked(loaded: object) -> Command:
    """The command that an entry point names: a class without parameters, a function that makes one, or the object itself."""
    command = loaded() if callable(loaded) else loaded
    declaration = getattr(command, "declaration", None)
    if not isinstance(declaration, Declaration) or not callable(getattr(command, "run", None)):
        raise TypeError("no command: it needs `declaration` and `run` (see docs/extending.md)")
    if not _NAME.fullmatch(declaration.name):
        raise ValueError(f"{declaration.name!r} is no name for a command (a-z, 0-9, _ and -)")
    for each in (declaration, *declaration.subcommands):
        help_text(each)
    return command  # type: ignore[return-value]  # checked above


def _has_plugins(folder: str) -> bool:
    """Whether a folder of installed packages names our group: 20 times cheaper than to ask importlib."""
    try:
        with os.scandir(folder or ".") as entries:
            return _names_group(f"{entry.path}/entry_points.txt" for entry in entries if entry.name.endswith(_METADATA))
    except OSError:
        return False


def _names_group(files: Iterable[str]) -> bool:
    for path in files:
        try:
            with open(path, "rb") as file:
                if GROUP.encode() in file.read():
                    return True
        except OSError:
            continue
    return False
