"""What can stand where the cursor is: slash words and their operands, files behind `@`, programs and paths of a `!` line.

In: the line up to the cursor. Out: candidates. For the screen and the line mode alike. A file behind `@` is a path in the text,
no more: the model reads it with a command. A name with blanks or quotes stands in double quotes: `@"my file.txt"`.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto

from msgspec import Struct, field

from agentclip.file_index import FileIndex
from agentclip.foreign import FOREIGN_OR_TAB

MOST = 200
PROGRAMS_S = 30.0
"""So long the names on PATH are taken to be the same."""
_FILE = re.compile(r'(?:^|\s)@("(?:[^"\\]|\\.)*|[^\s@"]*)$')
_WORD = re.compile(r"^/\w*$")
_OPERAND = re.compile(r"^(/\w+) +(\S*)$")
_PROGRAM = re.compile(r"(?:^!|[|&;(])\s*([^\s/|&;()'\"]+)$")
_PATH = re.compile(r"^!.*[\s=<>]([^\s|&;()<>'\"=]+)$", re.DOTALL)
_ELSEWHERE = ("/", "~", "./", "../")
"""Beginnings of paths that are looked up in their folder, not in the index."""
_NEEDS_QUOTES = re.compile(r"[\s\"\\@]")


class Kind(Enum):
    """What is completed."""

    WORD = auto()
    OPERAND = auto()
    FILE = auto()
    PROGRAM = auto()
    PATH = auto()


class Candidate(Struct, frozen=True):
    """One of them."""

    text: str
    """What takes the place of what was begun."""
    detail: str = ""
    more: bool = False
    """Something may follow directly: operands of a word, what is in a folder."""


class Offer(Struct, frozen=True):
    """Candidates for one place."""

    kind: Kind
    begun: str
    """The end of the line that a candidate takes the place of."""
    candidates: tuple[Candidate, ...]
    """Not empty."""


class Completer(Struct):
    """Where candidates come from."""

    words: Sequence[tuple[str, str, str]]
    """Slash words: the word, its operands, what it does."""
    cwd: Callable[[], str]
    index: FileIndex
    operands: Mapping[str, Callable[[], Sequence[str]]] = field(default_factory=dict)
    """What may follow a word, for words that do not say it themselves (`[on | off]`)."""
    wait_s: float = 0.0
    """How long to wait for the index when it is not there yet."""
    _programs: tuple[str, ...] = ()
    _programs_of: tuple[str, float] = ("", 0.0)

    def offer(self, line: str, *, first: bool = True) -> Offer | None:
        """What may stand at the end of the line, at most MOST; None for nothing. `first`: it is the first line of its text."""
        kind, begun, found = self._found(line, first=first)
        candidates: list[Candidate] = []
        for each in found:
            if FOREIGN_OR_TAB.search(each.text) is None:
                candidates.append(each)
            if len(candidates) == MOST:
                break
        return Offer(kind, begun, tuple(candidates)) if candidates else None

    def _found(self, line: str, *, first: bool) -> tuple[Kind, str, Iterator[Candidate]]:
        if first and line.startswith("!"):
            if match := _PROGRAM.search(line):
                return Kind.PROGRAM, match[1], self._named_programs(match[1])
            if match := _PATH.match(line):
                return Kind.PATH, match[1], _paths(match[1], self.cwd())
        elif first and _WORD.match(line):
            return Kind.WORD, line, self._slash_words(line)
        elif first and (match := _OPERAND.match(line)):
            return Kind.OPERAND, match[2], self._operands_of(match[1], match[2])
        elif match := _FILE.search(line):
            return Kind.FILE, f"@{match[1]}", self._files(match[1])
        return Kind.FILE, "", iter(())

    def _slash_words(self, begun: str) -> Iterator[Candidate]:
        starting = [each for each in self.words if each[0].startswith(begun)]
        within = [each for each in self.words if begun[1:] in each[0] and each not in starting]
        for word, operands, title in (*starting, *within):
            yield Candidate(word, f"{operands}  {title}".strip(), more=bool(operands))

    def _operands_of(self, word: str, begun: str) -> Iterator[Candidate]:
        known = self.operands.get(word)
        said = next((operands for each, operands, _ in self.words if each == word), "")
        names = known() if known is not None else _alternatives(said)
        for name in sorted(names, key=lambda name: not name.startswith(begun)):
            if begun.lower() in name.lower():
                yield Candidate(name)

    def _files(self, typed: str) -> Iterator[Candidate]:
        begun = re.sub(r"\\(.)", r"\1", typed[1:]) if typed.startswith('"') else typed
        found: Sequence[str] = ()
        if not begun.startswith(_ELSEWHERE):
            names = self.index.names(self.cwd(), self.wait_s)
            found = names.search(begun, MOST) if names is not None else ()
        for name in found or _in_folder(begun, self.cwd()):
            yield Candidate(f"@{quoted(name)}", more=name.endswith("/"))

    def _named_programs(self, begun: str) -> Iterator[Candidate]:
        path, now = os.environ.get("PATH", os.defpath), time.monotonic()
        if path != self._programs_of[0] or now >= self._programs_of[1]:
            self._programs, self._programs_of = tuple(sorted(_programs(path))), (path, now + PROGRAMS_S)
        return (Candidate(name) for name in self._programs if name.startswith(begun))


def quoted(name: str) -> str:
    """As it stands behind `@`. The quotes of a folder stay open: something follows."""
    if _NEEDS_QUOTES.search(name) is None:
        return name
    inside = re.sub(r'(["\\])', r"\\\1", name)
    return f'"{inside}' if name.endswith("/") else f'"{inside}"'


def _alternatives(operands: str) -> Sequence[str]:
    """`[on | off]` says itself what may stand there."""
    names = operands.strip("[]").split(" | ")
    return names if all(name.islower() and name.isalpha() for name in names) else ()


def _paths(begun: str, cwd: str) -> Iterator[Candidate]:
    for name in _in_folder(begun, cwd):
        home = "~/" if name.startswith("~/") else ""
        yield Candidate(home + shlex.quote(name.removeprefix(home)), more=name.endswith("/"))


def _in_folder(begun: str, cwd: str) -> Iterator[str]:
    """What begins so in its own folder, hidden files only when asked for by their dot."""
    folder, name = os.path.split(begun)
    try:
        with os.scandir(os.path.join(cwd, os.path.expanduser(folder))) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(name))
    except (OSError, ValueError):
        return
    for each, is_folder in found:
        if not each.startswith(".") or name.startswith("."):
            yield os.path.join(folder, each) + ("/" if is_folder else "")


def _programs(path: str) -> set[str]:
    found: set[str] = set()
    for folder in path.split(os.pathsep):
        try:
            with os.scandir(folder or ".") as entries:
                found.update(entry.name for entry in entries if os.access(entry.path, os.X_OK))
        except OSError:
            continue
    return found
