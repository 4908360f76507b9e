"""Expanded runs in Chat: the whole command and what the model reads, folded, with a sign wherever something is left out."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from agentclip.ui.app import ChatApp
from agentclip.ui.pane import Pane
from agentclip.ui.transcript_items import COMMAND_LINES, EXPANDED_CHARACTERS, EXPANDED_LINES
from tests.ui.screens import drawn, make_app, screen_text, until
from tests.ui.scripted import ScriptedAgent

WIDE, NARROW = (140, 40), (80, 24)
HIDDEN = "touch THE_END_OF_THE_COMMAND_NOBODY_SEES"


async def expanded(pilot: Pilot[int]) -> list[str]:
    """All rows of Chat below the row of the only run, expanded with the key."""
    app = pilot.app
    assert isinstance(app, ChatApp)
    await drawn(pilot)
    app.board.chat.focus()
    await pilot.press("e")
    await drawn(pilot)
    return rows_of(app.board.chat)[1:]


def rows_of(pane: Pane) -> list[str]:
    return [pane.strip_at(row).text for row in range(pane.total_rows())]


def unfolded(rows: list[str]) -> list[str]:
    """Lines as they were before they were folded."""
    lines: list[str] = []
    for row in rows:
        assert row[:4] in {"  │ ", "  ↳ "}
        if row.startswith("  │ "):
            lines.append(row[4:])
        else:
            lines[-1] += row[4:]
    return lines


@pytest.mark.parametrize("size", [WIDE, NARROW, (30, 20)])
async def test_a_long_command_is_there_to_its_end(agent: ScriptedAgent, size: tuple[int, int]) -> None:
    command = "printf '%s\\n' " + "word " * 18 + f"| tr ' ' '\\n' | sort; {HIDDEN}"
    app = make_app(agent)
    async with app.run_test(size=size) as pilot:
        agent.run(command, b"out\n")
        rows = await expanded(pilot)
        assert unfolded(rows) == ["$ " + command, "out", "[exit:0 | 1.2s]"]
        assert max(map(len, rows)) <= app.board.chat.columns
        app.board.chat.go_to(0)
        await drawn(pilot)
        if size == WIDE:
            assert "NOBODY_SEES" in screen_text(app)


async def test_a_command_that_only_the_row_of_a_narrow_run_cuts_is_there_too(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(30, 20)) as pilot:
        agent.run("rm -rf ./x", b"")
        assert unfolded(await expanded(pilot))[0] == "$ rm -rf ./x"


async def test_escapes_in_a_command_are_marks_and_those_of_its_output_colours(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("echo a\n\x1b[38;2;0;0;0mtouch X\x1b[0m\r\n\ttail\x9b", b"\x1b[31mred\x1b[0m\n")
        rows = await expanded(pilot)
        lines = ["$ echo a", "$ ␛[38;2;0;0;0mtouch X␛[0m␍", "$       tail\\x9b", "red", "[exit:0 | 1.2s]"]
        assert unfolded(rows) == lines
        red = next(part for part in app.board.chat.strip_at(4) if part.text == "red")
        muted = app.board.chat.ink["muted"].color
        assert red.style is not None
        assert red.style.color != muted
        touch = next(part for part in app.board.chat.strip_at(2) if "touch X" in part.text)
        assert touch.style is not None
        assert touch.style.color == muted


async def test_what_is_left_out_of_a_huge_command_is_counted(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("\n".join(f"line {number}" for number in range(10_000)), b"")
        lines = unfolded(await expanded(pilot))
        assert lines[: COMMAND_LINES + 1] == [
            *(f"$ line {number}" for number in range(COMMAND_LINES)),
            f"… {10_000 - COMMAND_LINES:,} more lines of the command",
        ]


async def test_what_is_left_out_of_a_huge_line_of_a_command_is_counted(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("日" * 100_000, b"")
        first, more, _ = unfolded(await expanded(pilot))
        assert first == "$ " + "日" * EXPANDED_CHARACTERS
        assert more == f"… {100_000 - EXPANDED_CHARACTERS:,} more characters of the command"


async def test_long_lines_of_what_the_model_reads_are_folded_and_the_rest_is_counted(agent: ScriptedAgent) -> None:
    path = "Full output: /tmp/" + "long/" * 60 + "end"
    app = make_app(agent)
    async with app.run_test(size=NARROW) as pilot:
        agent.run("seq", f"{path}\n".encode() + b"x\n" * 100)
        lines = unfolded(await expanded(pilot))
        assert lines == [path, *["x"] * (EXPANDED_LINES - 1), "… 62 more lines, see Layer 2"]


async def test_a_place_that_goes_over_the_end_of_a_folded_row_is_found(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=NARROW) as pilot:
        chat = app.board.chat
        agent.run("x" * (chat.columns - 9) + "needle" + "y" * 100, b"")
        await expanded(pilot)
        await pilot.press("slash")
        app.board.find.box.value = "needle"
        await pilot.press("enter")
        await drawn(pilot)
        assert (chat.pointed_row, [chat.hits_at(row) != [] for row in range(4)]) == (1, [False, True, True, False])


async def test_the_last_lines_of_a_living_run_say_where_they_are_cut(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=NARROW) as pilot:
        chat = app.board.chat
        room = chat.columns - 4
        run = agent.start("build")
        run.write(b"a" * room + b"\n" + b"b" * (room + 1) + b"\n" + b"\x1b[31m" * 100 + b"c\n")
        await until(pilot, lambda: chat.total_rows() == 4)
        assert rows_of(chat)[1:] == ["  │ " + "a" * room, "  │ " + "b" * (room - 1) + "…", "  │ c"]
