"""What a command of ours is made of: one class with a declaration and a `handle`. A plug-in is the same class.

The declaration alone decides what is parsed and what help says; `handle` gets typed values and real descriptors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from agentclip.command import CommandIO, Declaration
from agentclip.commands.arguments import HELP, Arguments, asks_for_help, parse, shown, usage_error
from agentclip.commands.usage import help_text
from agentclip.errors import CommandError, ErrorCode

Handler = Callable[[Arguments, CommandIO], int]
"""Does the work of one command or subcommand and returns the exit status. May raise CommandError or BrokenPipeError."""


class DeclaredCommand(ABC):
    """A command whose words are checked by its declaration before `handle` sees them."""

    declaration: ClassVar[Declaration]

    @abstractmethod
    def handle(self, args: Arguments, io: CommandIO) -> int:
        """Do the work and return the exit status."""

    def run(self, argv: Sequence[str], io: CommandIO) -> int:
        """Parse, then `handle`; `--help` prints the help of the command or subcommand instead and runs nothing."""
        declaration, handler, words = self._choose(tuple(argv[1:]))
        if asks_for_help(words):
            io.stdout.write(help_text(declaration).encode())
            status = 0
        else:
            status = handler(parse(declaration, words), io)
        io.stdout.flush()
        return status

    def _choose(self, words: tuple[str, ...]) -> tuple[Declaration, Handler, tuple[str, ...]]:
        """The declaration that the words are for, who handles it, and the words that are left."""
        return self.declaration, self.handle, words


class CommandGroup(DeclaredCommand):
    """A command with subcommands. `handle` does the bare command, when the declaration says that it `runs_bare`."""

    @abstractmethod
    def handlers(self) -> Mapping[str, Handler]:
        """Who handles each declared subcommand, by its last word."""

    def handle(self, args: Arguments, io: CommandIO) -> int:  # noqa: ARG002  level 1 needs none of it
        """Level 1 of help: usage."""
        raise usage_error(self.declaration)

    def _choose(self, words: tuple[str, ...]) -> tuple[Declaration, Handler, tuple[str, ...]]:
        own = self.declaration
        for sub in own.subcommands:
            word = sub.name.rpartition(" ")[2]
            if words[:1] == (word,):
                return sub, self.handlers()[word], words[1:]
        if words and not words[0].startswith("-") and not asks_for_help(words):
            raise _unknown_subcommand(own, words[0])
        return own, self.handle, words


def _unknown_subcommand(declaration: Declaration, word: str) -> CommandError:
    names = ", ".join(sub.name.rpartition(" ")[2] for sub in declaration.subcommands)
    return CommandError(
        f"unknown subcommand {shown(word)}, there are: {names}", hint=f"{declaration.name} {HELP}", code=ErrorCode.USAGE
    )
