"""How hints look at this machine: which names a folder holds, which programs PATH has.

In: the namespace, PATH and directory of a session. Out: names. Nothing is opened, started or followed further than one
folder, and no folder is read beyond MAX_NAMES entries. All reading that hints need is here.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import os
import shutil
import stat
from collections.abc import Iterable

from msgspec import Struct

MAX_NAMES = 2000
MAX_NEAR = 3
LONGEST_NAME = 120
"""Characters of a name that is compared."""
_LIKE = 0.75
_PERHAPS_LIKE = 0.6


class Machine(Struct, frozen=True):
    """What a session can reach."""

    commands: tuple[str, ...]
    """Words of our own namespace."""
    path: str
    """PATH of the session's commands."""
    cwd: str
    """Absolute; relative names start here."""

    def has(self, program: str) -> bool:
        """Whether PATH has an executable program of that name."""
        return _program(program, self._absolute_path()) is not None

    def near_programs(self, word: str) -> tuple[str, ...]:
        """Up to three of our commands and programs that look like a word, best first."""
        programs = itertools.chain.from_iterable(_names(folder) for folder in self._absolute_path().split(os.pathsep))
        known = dict.fromkeys((*self.commands, *itertools.islice(programs, 4 * MAX_NAMES)))
        short = word[:LONGEST_NAME].lower()
        near = difflib.get_close_matches(short, known, n=4 * MAX_NEAR, cutoff=_PERHAPS_LIKE)
        # Short names that share two letters of three are many: the same letters in another order are a slip of the hand.
        near.sort(key=lambda name: (sorted(name) != sorted(short), name[:1] != short[:1]))
        return tuple(name for name in near if name in self.commands or self.has(name))[:MAX_NEAR]

    def mode(self, name: str) -> int | None:
        """The mode of a file, links followed; None when there is none or it cannot be reached."""
        try:
            return os.stat(self._at(name)).st_mode
        except (OSError, ValueError):
            return None

    def is_folder(self, name: str) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode(name) or 0)

    def is_missing(self, name: str) -> bool:
        """Whether nothing has that name; a broken link is there."""
        try:
            return not os.path.lexists(self._at(name))
        except ValueError:
            return True

    def may_change(self, name: str) -> bool:
        """Whether the mode of a file is ours to change."""
        try:
            return os.geteuid() in {0, os.stat(self._at(name)).st_uid}
        except (OSError, ValueError):
            return False

    def near_files(self, name: str) -> tuple[str, ...]:
        """Up to three names that exist and look like a missing one, written as it was written; folders end with a slash.

        The first part that is missing is looked for in its folder; the parts behind it must then exist, or the folder is named.
        """
        parts = name.rstrip("/").split("/")
        there = "/" if name.startswith("/") else ""
        for number, part in enumerate(parts):
            if part and self.is_missing(there + part):
                near = [there + found for found in _like(part, _names(self._at(there or ".")))]
                behind = "".join(f"/{rest}" for rest in parts[number + 1 :])
                whole = [found + behind for found in near if not self.is_missing(found + behind)]
                folders = [found for found in near if self.is_folder(found)]
                return tuple(self._marked(found) for found in (whole or folders)[:MAX_NEAR])
            there += f"{part}/" if part else ""
        return ()

    def missing_folder(self, name: str) -> str | None:
        """The folder that a new file needs and that is not there; None when it is there, or something else is."""
        folder = os.path.dirname(name.rstrip("/"))
        return folder if folder and self.is_missing(folder) else None

    def _marked(self, name: str) -> str:
        return f"{name}/" if self.is_folder(name) else name

    def _at(self, name: str) -> str:
        return os.path.join(self.cwd, name)

    def _absolute_path(self) -> str:
        return os.pathsep.join(self._at(folder) for folder in self.path.split(os.pathsep))


def _names(folder: str) -> list[str]:
    """The names in a folder that text can say; none when it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in itertools.islice(entries, MAX_NAMES) if entry.name.isprintable()]
    except (OSError, ValueError):
        return []


def _like(missing: str, names: Iterable[str]) -> list[str]:
    """Names like a missing one, the best first: its stem decides, so that `a.txt` is not taken for `b.txt`."""
    by_stem: dict[str, list[str]] = {}
    for name in names:
        by_stem.setdefault(_stem(name), []).append(name)
    wanted = _stem(missing)[:LONGEST_NAME]
    perhaps = difflib.get_close_matches(wanted, by_stem, n=4 * MAX_NEAR, cutoff=_PERHAPS_LIKE)
    stems = [stem for stem in perhaps if _likeness(wanted, stem) >= _LIKE or sorted(stem) == sorted(wanted)]
    likeness = functools.partial(_likeness, missing.lower())
    return [name for stem in stems for name in sorted(by_stem[stem], key=likeness, reverse=True)]


def _likeness(missing: str, name: str) -> float:
    return difflib.SequenceMatcher(None, missing, name.lower()).ratio()


def _stem(name: str) -> str:
    return os.path.splitext(name)[0].lower()


def _program(name: str, path: str) -> str | None:
    return None if os.sep in name else shutil.which(name, path=path)
