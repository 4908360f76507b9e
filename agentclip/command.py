"""Commands, what they run on, their declarations, and the table they are looked up in.

A command has the shape of a Unix program, so commands and programs share pipelines. Layer 1 looks names up here;
`commands/` fills the table; neither knows the other.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from msgspec import Struct, field

from agentclip.errors import ErrorCode, one_line
from agentclip.messages import Image
from agentclip.results import CommandFailure

EVERYWHERE = ("ls", "grep", "find", "wc", "sort", "sed", "awk")
"""Programs that POSIX promises: named beside ours, though the model knows them."""

NAMED_WORDS = 20
"""How many words an unknown command is answered with; `help` has all."""

LONGEST_WORD = 64
"""Characters of an unknown word that are repeated back and compared."""


def _nobody_asks(path: Path, created: bool) -> None:  # noqa: FBT001  the shape of `CommandIO.made`
    """Where no result is kept."""


class CommandIO(Struct, frozen=True):
    """What one call of a command runs on. Streams are binary files on real descriptors."""

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: BinaryIO
    cwd: str
    """Absolute. The process' own directory is never changed: resolve names with `path`."""
    env: Mapping[str, str]
    cancelled: threading.Event
    """Set when the run is being stopped; long work looks at it."""
    attach: Callable[[bytes, str, str, int, int], Image]
    """`attach(data, mime, source, width, height)` puts a picture on the result."""
    made: Callable[[Path, bool], None] = _nobody_asks
    """`made(path, created)` names a file that the command has made (or, not created, changed) on the result."""

    def path(self, name: str) -> Path:
        """The file a word names, relative to the command's directory, `~` not expanded (the shell did)."""
        return Path(self.cwd) / name


class Parameter(Struct, frozen=True):
    """One parameter of a command, positional or flag."""

    name: str
    """Positional: `path`. Flag: `--append`, or `-b` when there is no long form."""
    description: str
    type: Literal["text", "integer", "boolean", "path"] = "text"
    """A flag of type boolean takes no value."""
    short: str | None = None
    """`-b`; None when there is no short form."""
    required: bool = False
    default: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    repeated: bool = False
    """A positional that takes all the remaining words."""
    value: str | None = None
    """How the value of a flag is called in usage, `topic_id`; None for the flag's own name."""

    @property
    def is_flag(self) -> bool:
        """Whether it is written with dashes."""
        return self.name.startswith("-")


class Declaration(Struct, frozen=True):
    """The one source of a command's three levels of help."""

    name: str
    """`memory`, or `memory search` for a subcommand."""
    summary: str
    """Level 0: one line."""
    parameters: tuple[Parameter, ...] = ()
    subcommands: tuple[Declaration, ...] = ()
    notes: tuple[str, ...] = ()
    """Lines that `--help` says below the parameters, where those do not tell all."""
    examples: tuple[str, ...] = ()
    """At least three lines that work as written."""
    exit_codes: tuple[tuple[int, str], ...] = ((0, "done"),)
    often_followed_by: tuple[str, ...] = ()
    runs_bare: bool = False
    """Useful without arguments: the bare command is no usage error."""


class Command(Protocol):
    """One word of the namespace."""

    @property
    def declaration(self) -> Declaration:
        """Name, summary, parameters: what help is made from."""

    def run(self, argv: Sequence[str], io: CommandIO) -> int:
        """Do the work and return the exit status. `argv[0]` is the name. May raise CommandError or BrokenPipeError."""


class Dialect(Struct, frozen=True):
    """What a model means by the words it gives a real program. Only the argv changes; the program itself runs on it."""

    name: str
    """The program's name, `head`."""
    summary: str
    """Level 0: one line."""
    help: str
    """What `help NAME` says; the program's own `--help` stays the program's."""
    rewrite: Callable[[Sequence[str], str], Sequence[str]]
    """`rewrite(argv, cwd) -> argv`, asked when the stage starts, since an earlier stage may make the file.

    The first word of the answer may be another program (`cat -b photo.png` becomes `base64 photo.png`).
    """


class CommandTable(Struct):
    """Names to commands, in the order they were added (stable, for prompt caching)."""

    commands: dict[str, Command] = field(default_factory=dict)
    dialects: dict[str, Dialect] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """One line each, for the person: plug-ins that could not be added."""

    def add(self, command: Command) -> None:
        """Register a command. Raises ValueError when the name is taken."""
        self._claim(command.declaration.name)
        self.commands[command.declaration.name] = command

    def add_dialect(self, dialect: Dialect) -> None:
        """Register what a model means by a program's words. Raises ValueError when the name is taken."""
        self._claim(dialect.name)
        self.dialects[dialect.name] = dialect

    def get(self, name: str) -> Command | None:
        """The command of that name, or None."""
        return self.commands.get(name)

    def __iter__(self) -> Iterator[Command]:
        return iter(self.commands.values())

    def summaries(self) -> tuple[tuple[str, str], ...]:
        """Name and summary of every word that is ours: dialects, then commands, each in the order they were added."""
        dialects = [(dialect.name, dialect.summary) for dialect in self.dialects.values()]
        return (*dialects, *((command.declaration.name, command.declaration.summary) for command in self))

    def names(self) -> tuple[str, ...]:
        """All words of the namespace that are ours, in the order of `summaries`."""
        return (*self.dialects, *self.commands)

    def nearest(self, word: str, candidates: Sequence[str] | None = None) -> tuple[str, ...]:
        """Up to three names that look like `word`, best first."""
        names = self.names() if candidates is None else candidates
        return tuple(difflib.get_close_matches(word[:LONGEST_WORD].lower(), names, n=3, cutoff=0.6))

    def _claim(self, name: str) -> None:
        if name in self.commands or name in self.dialects:
            raise ValueError(f"command {name!r} is registered twice")


def unknown_command_line(word: str, table: CommandTable, programs: Iterable[str] = ()) -> str:
    """The one line for a word that nothing runs: nearest names first, then what there is.

    `programs` are names on PATH, looked through for a near one beside our own.
    """
    ours = table.names()
    near = near_words(word, table, programs)
    guess = f"Did you mean: {', '.join(near)}? " if near else ""
    named = dict.fromkeys((*ours[: NAMED_WORDS - len(EVERYWHERE)], *EVERYWHERE))
    return one_line(f"[error] unknown command: {_cut(word)}. {guess}Available: {', '.join(named)}, ... (help lists all)")


def near_words(word: str, table: CommandTable, programs: Iterable[str] = ()) -> tuple[str, ...]:
    """Up to three words that can be run and look like `word`: our own first, then the best."""
    ours = table.names()
    near = table.nearest(word, tuple(dict.fromkeys((*ours, *EVERYWHERE, *programs))))
    return tuple(sorted(near, key=lambda name: name not in ours))


def unknown_command(word: str, table: CommandTable, programs: Iterable[str] = ()) -> CommandFailure:
    """The same for programs."""
    near = near_words(word, table, programs)
    code = ErrorCode.UNKNOWN_COMMAND
    hint = f"help {near[0]}" if near else code.hint
    details: dict[str, str | int] = {"near": " ".join(near)} if near else {}
    return CommandFailure(_cut(word), code, f"unknown command: {_cut(word)}", hint, _cut(word), details)


def _cut(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}..."
