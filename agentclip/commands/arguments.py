"""The words of one call, read by a declaration: argv comes in, typed values go out, nothing is run.

Strict: an unknown flag, a flag given twice, a number that is none and a word too many are errors that name what would
have worked. No abbreviations. `--` ends the flags; a lone `-` is a word (standard input, for commands that read).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from agentclip.command import Declaration, Parameter
from agentclip.commands.usage import flag_names, usage_line
from agentclip.errors import CommandError, ErrorCode, ErrorContext

HELP = "--help"

Value = str | int | bool | tuple[str, ...]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")

_FLAG = re.compile(r"-{1,2}[A-Za-z][\w-]*(=.*)?", re.DOTALL)
"""What can be meant as a flag. `- item`, `---` and `-5` cannot: they are words, often content."""

_SHOWN = 64
"""Characters of a wrong word that its error repeats."""


class Arguments(Struct, frozen=True):
    """What was given, by the names of the declaration. Asking for a name that was not declared is a KeyError."""

    command: str
    """The declaration's name, `topic run`."""
    values: Mapping[str, Value | None]
    """None for what was neither given nor has a default."""

    def text(self, name: str) -> str:
        """A required word, or one with a default."""
        value = self.values[name]
        assert isinstance(value, str)
        return value

    def optional_text(self, name: str) -> str | None:
        """A word that may be missing."""
        return None if self.values[name] is None else self.text(name)

    def integer(self, name: str) -> int:
        """A required number, or one with a default."""
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def optional_integer(self, name: str) -> int | None:
        """A number that may be missing."""
        return None if self.values[name] is None else self.integer(name)

    def given(self, flag: str) -> bool:
        """Whether a boolean flag was set."""
        return self.values[flag] is True

    def words(self, name: str) -> tuple[str, ...]:
        """All words of a repeated positional; empty when there are none."""
        value = self.values[name]
        return value if isinstance(value, tuple) else ()


def asks_for_help(words: Sequence[str]) -> bool:
    """`--help` anywhere before `--` wins over everything else."""
    return HELP in (words[: words.index("--")] if "--" in words else words)


def parse(declaration: Declaration, words: Sequence[str]) -> Arguments:
    """Read the words after the command's name. Raises CommandError with exit 2 when they do not fit."""
    given, positionals = _Reader(declaration, words).read()
    for parameter in (parameter for parameter in declaration.parameters if not parameter.is_flag):
        if parameter.repeated and positionals:
            given[parameter.name] = tuple(positionals)
            positionals = []
        elif positionals:
            given[parameter.name] = _converted(declaration, parameter, positionals.pop(0))
    if positionals:
        raise CommandError(
            f"unexpected argument {shown(positionals[0])}, usage: {usage_line(declaration)}",
            hint=f"{declaration.name} {HELP}",
            code=ErrorCode.USAGE,
            about=ErrorContext(positionals[0]),
        )
    if any(parameter.required and parameter.name not in given for parameter in declaration.parameters):
        raise usage_error(declaration)
    return Arguments(declaration.name, {p.name: given.get(p.name, _default(declaration, p)) for p in declaration.parameters})


def usage_error(declaration: Declaration) -> CommandError:
    """Levels 1 and 2 of help, in the form of the seed: `[error] memory: usage: memory search <query> [-t topic_id]`."""
    program = declaration.name.partition(" ")[0]
    usage = usage_line(declaration)
    hint = f"{declaration.name} {HELP}"
    return CommandError(f"usage: {usage}", hint=hint, text=f"{program}: usage: {usage}", code=ErrorCode.USAGE)


def shown(word: str) -> str:
    """A wrong word as its error repeats it: quoted, and cut when long."""
    return repr(word if len(word) <= _SHOWN else f"{word[:_SHOWN]}...")


class _Reader:
    """Walks the words once, left to right, and tells flags from positionals."""

    def __init__(self, declaration: Declaration, words: Sequence[str]) -> None:
        self._declaration = declaration
        self._words = list(words)
        self._flags = {name: p for p in declaration.parameters if p.is_flag for name in flag_names(p)}
        self._given: dict[str, Value] = {}

    def read(self) -> tuple[dict[str, Value], list[str]]:
        positionals: list[str] = []
        while self._words:
            word = self._words.pop(0)
            if word == "--":
                return self._given, positionals + self._words
            if _FLAG.fullmatch(word) or self._attached(word):
                self._flag(word)
            else:
                positionals.append(word)
        return self._given, positionals

    def _flag(self, word: str) -> None:
        parameter, name, attached = self._find(word)
        if parameter.name in self._given:
            raise self._error(f"flag {name} is given twice", ErrorCode.INVALID_VALUE)
        if parameter.type == "boolean":
            if attached is not None:
                raise self._error(f"flag {name} takes no value, got {shown(attached)}", ErrorCode.INVALID_TYPE)
            self._given[parameter.name] = True
            return
        value = self._next(name) if attached is None else attached
        self._given[parameter.name] = _converted(self._declaration, parameter, value)

    def _find(self, word: str) -> tuple[Parameter, str, str | None]:
        """The flag a word means, the name it was given by, and the value after `=` or after a short name (`-n5`)."""
        name, equals, value = word.partition("=")
        if name in self._flags:
            return self._flags[name], name, value if equals else None
        short = self._attached(word)
        if short is not None:
            return short, word[:2], word[2:]
        raise self._unknown(name)

    def _attached(self, word: str) -> Parameter | None:
        """The short flag that has its value in the same word."""
        short = self._flags.get(word[:2])
        return short if short is not None and short.type != "boolean" else None

    def _next(self, name: str) -> str:
        if not self._words or self._words[0] in self._flags or self._words[0] == "--":
            raise self._error(f"flag {name} needs a value", ErrorCode.MISSING_ARGUMENT)
        return self._words.pop(0)

    def _unknown(self, name: str) -> CommandError:
        flags = (*self._flags, HELP)
        near = difflib.get_close_matches(name[:_SHOWN], flags, n=1, cutoff=0.5)
        nearest = f"nearest: {near[0]}; " if near else ""
        message = f"unknown flag {name[:_SHOWN]}; {nearest}flags: {', '.join(flags)}"
        return self._error(message, ErrorCode.UNKNOWN_FLAG, name)

    def _error(self, message: str, code: ErrorCode, given: str = "") -> CommandError:
        return CommandError(message, hint=f"{self._declaration.name} {HELP}", code=code, about=ErrorContext(given))


def _default(declaration: Declaration, parameter: Parameter) -> Value | None:
    return None if parameter.default is None else _converted(declaration, parameter, parameter.default)


def _converted(declaration: Declaration, parameter: Parameter, value: str) -> Value:
    """The value in the parameter's type."""
    if parameter.type != "integer":
        return value
    hint = f"{declaration.name} {HELP}"
    if not _INTEGER.fullmatch(value):
        message = f"{parameter.name} must be an integer, got {shown(value)}"
        raise CommandError(message, hint=hint, code=ErrorCode.INVALID_TYPE, about=ErrorContext(value))
    number = int(value)
    low, high = parameter.minimum, parameter.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        message = f"{parameter.name} is {number}, allowed: {_range(low, high)}"
        raise CommandError(message, hint=hint, code=ErrorCode.INVALID_VALUE, about=ErrorContext(value))
    return number


def _range(low: int | None, high: int | None) -> str:
    return f"{'' if low is None else low}..{'' if high is None else high}"
