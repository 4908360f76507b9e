"""Whether the next step that an error names can be taken: a command of ours parses, a program exists, or it is plain words."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator

from agentclip.cli import COMMANDS
from agentclip.command import Declaration
from agentclip.commands.arguments import parse
from agentclip.errors import ErrorCode
from tests.commands.namespace import built_in

TABLE = built_in()


def declarations() -> Iterator[Declaration]:
    for command in TABLE:
        yield command.declaration
        yield from command.declaration.subcommands


ALL = {declaration.name: declaration for declaration in declarations()}

INSTRUCTIONS = {code.hint for code in ErrorCode}
"""Hints in plain words. Each is read by a person once, here."""


def check_hint(hint: str) -> None:
    """Raise AssertionError or CommandError for a hint that does not work as written."""
    assert hint
    assert hint.isprintable(), hint
    if hint in INSTRUCTIONS or hint.endswith(" --help"):
        return
    for call in simple_commands(hint):
        if TABLE.get(call[0]) is not None:
            check_call(call)
        elif call[0] == "agentclip":
            assert len(call) == 1 or call[1] in COMMANDS or call[1].startswith("--"), hint
        else:
            assert shutil.which(call[0]), f"neither a command nor a program nor one of the plain instructions: {hint}"


def check_call(call: list[str]) -> None:
    """Raise CommandError for words that the command's declaration does not take."""
    declaration = ALL.get(" ".join(call[:2]), ALL[call[0]])
    words = call[len(declaration.name.split()) :]
    assert "--help" in words or parse(declaration, words)


def simple_commands(line: str) -> Iterator[list[str]]:
    """The simple commands of a line as words; a here-document is left out."""
    words: list[str] = []
    for token in [*shlex.shlex(line.partition("<<")[0], posix=True, punctuation_chars=True), ";"]:
        if token and set(token) <= set("|&;"):
            if words:
                yield words
            words = []
        else:
            words.append(token)
