from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentclip.command import CommandIO, CommandTable, Declaration, Dialect, unknown_command_line
from agentclip.errors import CommandError, ErrorCode, one_line


class Named:
    def __init__(self, name: str) -> None:
        self.declaration = Declaration(name, f"What {name} does")

    def run(self, argv: Sequence[str], io: CommandIO) -> int:
        raise NotImplementedError


def same(argv: Sequence[str], _cwd: str) -> Sequence[str]:
    return argv


def table(*names: str) -> CommandTable:
    table = CommandTable()
    for name in names:
        table.add(Named(name))
    table.add_dialect(Dialect("cat", "Read a text file", "", same))
    return table


def test_names_keep_the_order_they_were_added_in_with_dialects_first() -> None:
    assert table("write", "see").names() == ("cat", "write", "see")


def test_a_name_is_taken_once_by_a_command_or_a_dialect() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        table("see").add(Named("cat"))
    with pytest.raises(ValueError, match="registered twice"):
        table("see").add_dialect(Dialect("see", "", "", same))


def test_an_unknown_command_is_answered_with_what_there_is() -> None:
    line = unknown_command_line("foo", table("see", "write"))
    assert line == (
        "[error] unknown command: foo. Available: cat, see, write, ls, grep, find, wc, sort, sed, awk, ... (help lists all)"
    )


@pytest.mark.parametrize(
    ("word", "near"),
    [("seee", "see"), ("SEE", "see"), ("gerp", "grep"), ("wirte", "write"), ("pyhton3", "python3")],
)
def test_the_nearest_name_comes_first(word: str, near: str) -> None:
    line = unknown_command_line(word, table("see", "write"), programs=("python3", "perl"))
    assert line.startswith(f"[error] unknown command: {word}. Did you mean: {near}")


@pytest.mark.parametrize("word", ["a\nb", "\x1b[2J", "\x9b2J", "\udcff", "x" * 1_000_000, "", "\x00", "a\u2028b"])
def test_an_unknown_word_can_neither_break_the_line_nor_draw(word: str) -> None:
    line = unknown_command_line(word, table(*(f"command{number}" for number in range(200))))
    assert len(line.encode()) < 600
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


def test_an_error_of_a_command_is_one_line_whatever_it_quotes() -> None:
    error = CommandError("no such file: a\nb\x1b[2J\udcff", hint="ls", code=ErrorCode.INPUT_NOT_FOUND)
    assert error.line("see") == r"[error] see: no such file: a\nb\x1b[2J\udcff (INPUT_NOT_FOUND). Use: ls"
    assert CommandError("", text="not an image\nfile").line("see") == r"[error] not an image\nfile"


def test_text_of_any_language_stays_as_it_is() -> None:
    text = "ファイル　notes 😀\u00a0é 👨\u200d👩"
    assert one_line(text) == text
