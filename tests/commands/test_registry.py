from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping

import pytest

from agentclip.command import CommandIO, CommandTable, Declaration, Dialect, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.help import HelpCommand
from agentclip.commands.registry import CommandGroup, DeclaredCommand, Handler
from agentclip.commands.streams import say
from agentclip.commands.usage import LEVEL_0_CHARACTERS, LEVEL_0_LINES, tool_description_lines
from agentclip.shell.inprocess import CommandRunner
from agentclip.shell.process import Descriptors, Surroundings
from tests.commands.calls import Desk


class GreetCommand(DeclaredCommand):
    """What a plug-in is: one class."""

    declaration = Declaration(
        "greet",
        "Greet somebody",
        parameters=(
            Parameter("name", "whom", required=True),
            Parameter("--times", "how often", "integer", default="1", minimum=1, maximum=9),
        ),
        examples=("greet world", "greet --times 2 world", "greet world | wc -l"),
    )

    def handle(self, args: Arguments, io: CommandIO) -> int:
        for _ in range(args.integer("--times")):
            say(io, f"hello {args.text('name')}")
        return 0


class NotesCommand(CommandGroup):
    declaration = Declaration(
        "notes",
        "Keep notes",
        subcommands=(
            Declaration("notes add", "add one", parameters=(Parameter("text", "it", required=True),)),
            Declaration("notes list", "list them", parameters=(Parameter("--all", "old ones too", "boolean"),)),
        ),
    )

    def __init__(self) -> None:
        self.notes: list[str] = []

    def handlers(self) -> Mapping[str, Handler]:
        return {"add": self._add, "list": self._list}

    def _add(self, args: Arguments, io: CommandIO) -> int:
        del io
        self.notes.append(args.text("text"))
        return 0

    def _list(self, args: Arguments, io: CommandIO) -> int:
        say(io, f"{args.command} {args.given('--all')} {self.notes}")
        return 0


class BareCommand(NotesCommand):
    declaration = Declaration("notes", "Keep notes", subcommands=NotesCommand.declaration.subcommands, runs_bare=True)

    def handle(self, args: Arguments, io: CommandIO) -> int:
        say(io, f"bare {args.command}")
        return 7


def test_a_command_is_one_class_with_a_declaration(desk: Desk) -> None:
    assert desk.call(GreetCommand(), "greet", "--times", "2", "you").text == "hello you\nhello you\n"


def test_level_1_names_the_subcommands_with_exit_2(desk: Desk) -> None:
    outcome = desk.call(NotesCommand(), "notes")
    assert (outcome.status, outcome.out, outcome.error) == (2, b"", "[error] notes: usage: notes add|list")


def test_level_2_names_the_parameters_with_exit_2(desk: Desk) -> None:
    outcome = desk.call(NotesCommand(), "notes", "add")
    assert (outcome.status, outcome.error) == (2, "[error] notes: usage: notes add <text>")


def test_subcommands_reach_their_handlers(desk: Desk) -> None:
    notes = NotesCommand()
    assert desk.call(notes, "notes", "add", "milk").status == 0
    assert desk.call(notes, "notes", "list", "--all").text == "notes list True ['milk']\n"


def test_a_bare_group_runs_where_that_is_useful(desk: Desk) -> None:
    assert desk.call(BareCommand(), "notes").status == 7
    assert desk.call(BareCommand(), "notes", "add").error == "[error] notes: usage: notes add <text>"


@pytest.mark.parametrize("command", [NotesCommand(), BareCommand()])
def test_an_unknown_subcommand_is_told_the_known_ones(desk: Desk, command: NotesCommand) -> None:
    outcome = desk.call(command, "notes", "ad", "x")
    assert outcome.error == "[error] notes: unknown subcommand 'ad', there are: add, list (USAGE). Use: notes --help"
    assert outcome.status == 2


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("--help",), "notes — Keep notes"),
        (("nonsense", "--help"), "notes — Keep notes"),
        (("--nonsense", "--help"), "notes — Keep notes"),
        (("add", "--help"), "notes add — add one"),
        (("add", "milk", "--help"), "notes add — add one"),
        (("add", "--nonsense", "a", "b", "c", "--help"), "notes add — add one"),
    ],
)
def test_help_wins_over_everything_and_runs_nothing(desk: Desk, words: tuple[str, ...], first: str) -> None:
    notes = NotesCommand()
    outcome = desk.call(notes, "notes", *words)
    assert (outcome.status, outcome.err, outcome.text.splitlines()[0]) == (0, b"", first)
    assert notes.notes == []


def test_after_two_dashes_help_is_a_word(desk: Desk) -> None:
    notes = NotesCommand()
    assert desk.call(notes, "notes", "add", "--", "--help").status == 0
    assert notes.notes == ["--help"]


def test_help_names_type_range_default_examples_and_exit_codes(desk: Desk) -> None:
    text = desk.call(GreetCommand(), "greet", "--help").text
    assert "usage: greet <name> [--times times]" in text
    assert re.search(r"--times times +integer, 1\.\.9, default 1 +how often", text)
    assert "greet --times 2 world" in text
    assert re.search(r"^ +0 +done$", text, re.MULTILINE)


def test_a_reader_that_left_ends_the_command_as_sigpipe_would(desk: Desk) -> None:
    class Endless(GreetCommand):
        def handle(self, args: Arguments, io: CommandIO) -> int:
            del args
            while True:
                io.stdout.write(b"y\n" * 10_000)

    read_end, write_end = os.pipe()
    os.close(read_end)
    with open(os.devnull, "r+b") as null:
        descriptors = Descriptors(null.fileno(), write_end, null.fileno())
        where = Surroundings(str(desk.cwd), {})
        end = CommandRunner(desk.folder / "cmd-1").run(Endless(), ("greet", "x"), descriptors, where, threading.Event())
    os.close(write_end)
    assert (end.status, end.failure) == (141, None)


def plugged(count: int, summary: str = "Does what plug-ins do") -> CommandTable:
    table = CommandTable()
    table.add_dialect(Dialect("cat", "Read a text file", "", lambda argv, _cwd: argv))
    table.add(GreetCommand())
    table.add(HelpCommand(table))
    for number in range(count):
        table.add(type("Plug", (GreetCommand,), {"declaration": Declaration(f"plug{number}", summary)})())
    return table


def test_level_0_is_one_line_per_command_in_stable_order() -> None:
    assert tool_description_lines(plugged(2)) == (
        "cat — Read a text file",
        "greet — Greet somebody",
        "help — Overview, or all about one command: help COMMAND",
        "plug0 — Does what plug-ins do",
        "plug1 — Does what plug-ins do",
    )


@pytest.mark.parametrize("summary", ["Short", "A summary that says a good deal " * 4, "x" * 100_000, "two\nlines\x1b[2J"])
@pytest.mark.parametrize("count", [36, 37, 38, 63, 1000])
def test_level_0_stays_within_its_budget_and_says_how_to_find_the_rest(count: int, summary: str) -> None:
    table = plugged(count, summary)
    lines = tool_description_lines(table)
    assert len(lines) <= LEVEL_0_LINES
    assert len("\n".join(lines)) <= LEVEL_0_CHARACTERS
    assert all(len(line.splitlines()) == 1 for line in lines)
    assert lines[:2] == ("cat — Read a text file", "greet — Greet somebody")
    shown = {line.split(" ")[0] for line in lines}
    hidden = set(table.names()) - shown
    assert not hidden or lines[-1] == f"help — {len(hidden)} more: help WORD"


def test_level_0_keeps_the_most_used_when_not_all_fit() -> None:
    lines = tool_description_lines(plugged(100), {"plug99": 5, "plug50": 9})
    names = [line.split(" ")[0] for line in lines]
    assert names[:2] == ["cat", "greet"]
    assert names[-3:] == ["plug50", "plug99", "help"]
