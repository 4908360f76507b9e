"""What can stand where the cursor is: slash words, programs of a `!` line, files behind `@`. Text in, candidates out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from agentclip.foreign import FOREIGN_OR_TAB

MOST = 200
_FILE = re.compile(r"(?:^|\s)@([^\s@]*)$")
_PROGRAM = re.compile(r"^!\s*([^\s/]+)$")
_ARGUMENT = re.compile(r"^!.*\s([^\s]*)$", re.DOTALL)


def candidates(before: str, cwd: str, slash_words: Sequence[str], path: str) -> list[tuple[str, str]]:
    """What the cursor stands behind and what may stand there instead, at most MOST; `before` is the text up to the cursor."""
    found: list[tuple[str, str]] = []
    for pair in _all(before, cwd, slash_words, path):
        if FOREIGN_OR_TAB.search(pair[1]) is None:
            found.append(pair)
        if len(found) == MOST:
            break
    return found


def _all(before: str, cwd: str, slash_words: Sequence[str], path: str) -> Iterator[tuple[str, str]]:
    if before.startswith("/") and before[1:].isalnum() | (before == "/"):
        yield from ((before, word) for word in slash_words if word.startswith(before))
    elif match := _FILE.search(before) or _ARGUMENT.search(before):
        yield from ((match[1], name) for name in _files(match[1], cwd))
    elif match := _PROGRAM.search(before):
        yield from ((match[1], name) for name in _programs(match[1], path))


def _files(begun: str, cwd: str) -> Iterator[str]:
    folder, name = os.path.split(begun)
    try:
        with os.scandir(os.path.join(cwd, os.path.expanduser(folder))) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(name))
    except OSError:
        return
    for each, is_folder in found:
        if not each.startswith(".") or name.startswith("."):
            yield os.path.join(folder, each) + ("/" if is_folder else "")


def _programs(begun: str, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for folder in path.split(os.pathsep):
        try:
            names = [name for name in os.listdir(folder or ".") if name.startswith(begun) and name not in seen]
        except OSError:
            continue
        seen.update(name for name in names if os.access(os.path.join(folder, name), os.X_OK))
    yield from sorted(seen)
