"""Walks every command and subcommand: all that is declared about it must hold."""

from __future__ import annotations

import re

import pytest

from agentclip.command import Command
from agentclip.commands.registry import CommandGroup, DeclaredCommand
from agentclip.commands.usage import LEVEL_0_CHARACTERS, LEVEL_0_LINES, tool_description_lines
from tests.commands.calls import Desk
from tests.commands.hints import ALL, TABLE, check_call, simple_commands


def command_of(name: str) -> Command:
    command = TABLE.get(name.partition(" ")[0])
    assert command is not None
    return command


def test_the_order_is_stable() -> None:
    assert TABLE.names() == ("cat", "head", "tail", "see", "write", "edit", "topic", "jobs", "time", "help")


def test_level_0_has_the_sentences_of_the_seed_and_fits_the_budget() -> None:
    lines = tool_description_lines(TABLE)
    assert lines[0] == "cat — Read a text file. For images use 'see'. For binary use 'cat -b'."
    assert "see — View an image (auto-attaches to vision)" in lines
    assert "write — Write file. Usage: write <path> [content] or stdin" in lines
    assert [line.partition(" — ")[0] for line in lines] == list(TABLE.names())
    assert len(lines) <= LEVEL_0_LINES
    assert len("\n".join(lines)) <= LEVEL_0_CHARACTERS


@pytest.mark.parametrize("name", ALL)
def test_everything_has_a_summary_three_examples_and_exit_codes(name: str) -> None:
    declaration = ALL[name]
    assert 10 < len(declaration.summary) < 100
    assert len(declaration.examples) >= 3
    assert declaration.exit_codes
    assert all(parameter.description for parameter in declaration.parameters)
    assert declaration.often_followed_by


@pytest.mark.parametrize("name", ALL)
def test_declarations_make_sense(name: str) -> None:
    declaration = ALL[name]
    positionals = [parameter for parameter in declaration.parameters if not parameter.is_flag]
    required = [parameter.required for parameter in positionals]
    assert required == sorted(required, reverse=True)
    assert not any(parameter.repeated for parameter in positionals[:-1])
    flags = [spelling for p in declaration.parameters if p.is_flag for spelling in (p.name, p.short) if spelling]
    assert len(flags) == len(set(flags))
    assert "--help" not in flags
    assert all(re.fullmatch(r"--[a-z][a-z0-9-]+|-[a-zA-Z]", flag) for flag in flags)
    assert all(parameter.type != "boolean" or parameter.is_flag for parameter in declaration.parameters)


@pytest.mark.parametrize("name", ALL)
def test_every_subcommand_has_a_handler_and_a_name_below_its_command(name: str) -> None:
    command = command_of(name)
    assert isinstance(command, DeclaredCommand)
    words = {sub.name.rpartition(" ")[2] for sub in command.declaration.subcommands}
    assert all(
        sub.name == f"{command.declaration.name} {sub.name.rpartition(' ')[2]}" for sub in command.declaration.subcommands
    )
    assert isinstance(command, CommandGroup) is bool(words)
    if isinstance(command, CommandGroup):
        assert set(command.handlers()) == words


@pytest.mark.parametrize("name", ALL)
def test_dashed_help_is_complete_and_on_stdout(desk: Desk, name: str) -> None:
    outcome = desk.call(command_of(name), *name.split(), "--help")
    assert (outcome.status, outcome.err) == (0, b"")
    text, declaration = outcome.text, ALL[name]
    assert text.startswith(f"{name} — {declaration.summary}\nusage: {name}")
    for parameter in declaration.parameters:
        assert parameter.name in text
        assert parameter.type in text
        assert parameter.default is None or f"default {parameter.default}" in text
        assert parameter.minimum is None or f"{parameter.minimum}.." in text
    for example in declaration.examples:
        assert f"\n  {example}\n" in text
    for code, meaning in declaration.exit_codes:
        assert re.search(rf"^ +{code} +{re.escape(meaning)}$", text, re.MULTILINE)
    assert "Often followed by: " in text
    assert text.isprintable() or set(text) - {"\n"} == {c for c in text if c.isprintable()}


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].subcommands and not ALL[name].runs_bare])
def test_level_1_is_the_usage_with_exit_2(desk: Desk, name: str) -> None:
    outcome = desk.call(command_of(name), name)
    subcommands = "|".join(sub.name.split()[1] for sub in ALL[name].subcommands)
    assert (outcome.status, outcome.out, outcome.error) == (2, b"", f"[error] {name}: usage: {name} {subcommands}")


@pytest.mark.parametrize("name", [name for name in ALL if any(parameter.required for parameter in ALL[name].parameters)])
def test_level_2_is_the_usage_with_its_parameters_with_exit_2(desk: Desk, name: str) -> None:
    outcome = desk.call(command_of(name), *name.split())
    assert (outcome.status, outcome.out) == (2, b"")
    assert re.fullmatch(rf"\[error\] {name.split(maxsplit=1)[0]}: usage: {name}( <\w+>(\.\.\.)?| \[[^]]+\])+", outcome.error)


@pytest.mark.parametrize("name", ALL)
def test_an_unknown_flag_is_refused_by_all_with_the_known_ones(desk: Desk, name: str) -> None:
    outcome = desk.call(command_of(name), *name.split(), "--ac-nonsense")
    assert (outcome.status, outcome.out) == (2, b"")
    assert "unknown flag --ac-nonsense; " in outcome.error
    assert "--help" in outcome.error
    assert outcome.error.endswith(f"(UNKNOWN_FLAG). Use: {name} --help")


@pytest.mark.parametrize(("name", "example"), [(name, example) for name in ALL for example in ALL[name].examples])
def test_every_example_calls_the_command_with_words_that_fit(name: str, example: str) -> None:
    calls = [call for call in simple_commands(example) if TABLE.get(call[0]) is not None]
    assert any(call[: len(name.split())] == name.split() for call in calls)
    for call in calls:
        check_call(call)
