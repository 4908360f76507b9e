"""`help [COMMAND]`: the namespace in one screen, and the same text as `COMMAND --help`."""

from __future__ import annotations

import re
import shlex
import shutil

from agentclip.command import CommandIO, CommandTable, Declaration, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.registry import DeclaredCommand
from agentclip.commands.usage import help_text
from agentclip.errors import CommandError, ErrorCode, one_line

_BASH_WORD = re.compile(
    r"""alias | bg | break | case | cd | command | continue | declare | echo | eval | exec | exit | export | false | fg | for
    | function | getopts | hash | if | kill | let | local | printf | pwd | read | readonly | return | select | set | shift
    | shopt | source | test | trap | true | type | ulimit | umask | unalias | unset | until | wait | while""",
    re.VERBOSE,
)
"""Builtins and keywords that bash itself explains."""

_OVERVIEW = """\
Commands of agentclip:
{commands}

All programs on PATH work as well (ls, grep, git, ...), and so does bash: quotes, $VAR, $(...), globs, loops, redirects.
Join them as usual:
  a | b     b reads what a prints       a && b    b runs only if a succeeded
  a ; b     b runs after a              a || b    b runs only if a failed
The directory (cd) and exported variables stay from one run to the next.

Every result ends with [exit:N | time]: 0 is success, 1 usually an answer of "no" or an error that the text explains,
2 wrong words, 124 the time limit, 126 not executable, 127 not found, 130 cancelled, 128+N ended by signal N.
Longer output is cut for reading; the full text stays in the file that the result names.

More: help COMMAND, COMMAND --help, help WORD (searches names and summaries)
"""


class HelpCommand(DeclaredCommand):
    """Explains the commands of a table, and says who explains the rest."""

    declaration = Declaration(
        name="help",
        summary="Overview, or all about one command: help COMMAND",
        parameters=(Parameter("command", "a command, and its subcommand; or a word to search for", repeated=True),),
        examples=("help", "help write", "help topic run", "help image"),
        exit_codes=((0, "done"), (1, "nothing fits the word"), (2, "wrong words")),
        often_followed_by=("the command it explained",),
    )

    def __init__(self, table: CommandTable) -> None:
        self._table = table

    def handle(self, args: Arguments, io: CommandIO) -> int:
        """The overview, a command's help, or what fits the word."""
        words = args.words("command")
        io.stdout.write((self._about(words, io) if words else self._overview()).encode("utf-8", "backslashreplace"))
        return 0

    def _overview(self) -> str:
        summaries = self._table.summaries()
        width = max(len(name) for name, _ in summaries)
        return _OVERVIEW.format(commands="\n".join(f"  {name:<{width}}  {one_line(text)}" for name, text in summaries))

    def _about(self, words: tuple[str, ...], io: CommandIO) -> str:
        word = words[0]
        command, dialect = self._table.get(word), self._table.dialects.get(word)
        if command is not None:
            return help_text(_subcommand(command.declaration, words[1:]))
        if dialect is not None:
            return dialect.help
        if _BASH_WORD.fullmatch(word):
            return f"{word} is a word of bash. Its help: bash -c 'help {word}'\n"
        if "/" not in word and shutil.which(word, path=io.env.get("PATH")) is not None:
            return f"{word} is a program of this machine. Its help: {shlex.quote(word)} --help, or man {shlex.quote(word)}\n"
        return self._search(word)

    def _search(self, word: str) -> str:
        summaries = self._table.summaries()
        found = [f"{name} — {one_line(text)}\n" for name, text in summaries if word.lower() in f"{name} {text}".lower()]
        if word and found:
            return "".join(found)
        near = self._table.nearest(word)
        hint = f"help {near[0]}" if near else "help"
        raise CommandError(f"nothing is called {word[:64]!r} and no summary has it", hint=hint, code=ErrorCode.NOT_FOUND)


def _subcommand(declaration: Declaration, words: tuple[str, ...]) -> Declaration:
    """The subcommand that the words name; Raises CommandError when there is none."""
    if not words:
        return declaration
    for sub in declaration.subcommands:
        if sub.name == f"{declaration.name} {words[0]}":
            return sub
    raise CommandError(
        f"{declaration.name} has no subcommand {words[0][:64]!r}", hint=f"help {declaration.name}", code=ErrorCode.NOT_FOUND
    )
