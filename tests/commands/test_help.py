from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentclip.commands.help import HelpCommand
from tests.commands.calls import Desk
from tests.commands.namespace import built_in


@pytest.fixture
def command() -> HelpCommand:
    command = built_in().get("help")
    assert isinstance(command, HelpCommand)
    return command


def test_the_overview_names_every_command_and_how_lines_work(desk: Desk, command: HelpCommand) -> None:
    text = desk.call(command, "help").text
    for name, summary in built_in().summaries():
        assert f"  {name}" in text
        assert summary in text
    for word in ("a | b", "a && b", "a || b", "a ; b", "bash", "PATH", "[exit:N | time]", "127", "help COMMAND"):
        assert word in text
    assert len(text) < 2500


@pytest.mark.parametrize("words", [("write",), ("topic",), ("topic", "run"), ("jobs", "tail"), ("help",)])
def test_help_says_what_dashed_help_says(desk: Desk, command: HelpCommand, words: tuple[str, ...]) -> None:
    asked = built_in().get(words[0])
    assert asked is not None
    assert desk.call(command, "help", *words).out == desk.call(asked, *words, "--help").out


def test_help_of_a_dialect_explains_it_beside_the_programs_own(desk: Desk, command: HelpCommand) -> None:
    text = desk.call(command, "help", "cat").text
    assert "cat -b FILE" in text
    assert "cat --help" in text


def test_help_of_a_program_points_to_its_own(desk: Desk, command: HelpCommand, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ac_tool").write_text("#!/bin/sh\n")
    (folder / "ac_tool").chmod(0o755)
    desk.env = {"PATH": f"{folder}{os.pathsep}/usr/bin"}
    expected = "ac_tool is a program of this machine. Its help: ac_tool --help, or man ac_tool\n"
    assert desk.call(command, "help", "ac_tool").text == expected


def test_help_of_a_builtin_points_to_bash(desk: Desk, command: HelpCommand) -> None:
    assert desk.call(command, "help", "cd").text == "cd is a word of bash. Its help: bash -c 'help cd'\n"


def test_any_other_word_is_searched_for(desk: Desk, command: HelpCommand) -> None:
    lines = desk.call(command, "help", "Background").text.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["jobs"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("wirte",), "nothing is called 'wirte' and no summary has it (NOT_FOUND). Use: help write"),
        (("zzzzqqq",), "nothing is called 'zzzzqqq' and no summary has it (NOT_FOUND). Use: help"),
        (("",), "nothing is called '' and no summary has it (NOT_FOUND). Use: help"),
        (("topic", "lst"), "topic has no subcommand 'lst' (NOT_FOUND). Use: help topic"),
        (("see", "more"), "see has no subcommand 'more' (NOT_FOUND). Use: help see"),
        (("a\n\x1b[2J",), "nothing is called 'a\\n\\x1b[2J' and no summary has it (NOT_FOUND). Use: help"),
    ],
)
def test_what_nothing_fits_names_the_nearest(desk: Desk, command: HelpCommand, words: tuple[str, ...], line: str) -> None:
    outcome = desk.call(command, "help", *words)
    assert (outcome.status, outcome.out, outcome.error) == (1, b"", f"[error] help: {line}")


@pytest.mark.parametrize("word", ["nul\0", "half\ud83d", "x" * 100_000])
def test_no_word_breaks_help(desk: Desk, command: HelpCommand, word: str) -> None:
    outcome = desk.call(command, "help", word)
    assert outcome.status == 1
    assert len(outcome.error) < 300
