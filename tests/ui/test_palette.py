"""The palette: everything there is to do, chosen and done."""

from __future__ import annotations

import pytest

from agentclip.agent.words import WORDS as AGENT_WORDS
from agentclip.ui.actions import ACTIONS, Place
from agentclip.ui.app import ChatApp
from agentclip.ui.help_screen import help_text
from agentclip.ui.keymap import KeyMap
from agentclip.ui.palette import entries, recent_first
from tests.ui.screens import drawn, make_app, screen_text, until
from tests.ui.scripted import ScriptedAgent

SIZE = (140, 40)


def test_every_word_is_there_and_its_keys_are_said() -> None:
    rows = {row.value.id: row for row in entries(KeyMap())}
    for action in ACTIONS:
        if action.word and action.id != "app.palette":
            assert action.word in rows[action.id].detail
            assert KeyMap().named(action.id) in rows[action.id].detail
    assert all(word in rows for word, _, _ in AGENT_WORDS)


def test_what_was_used_last_comes_first() -> None:
    rows = recent_first(entries(KeyMap()), ["/compress", "pane.next"])
    assert [row.value.id for row in rows[:3]] == ["/compress", "pane.next", "app.help"]


async def test_choosing_does_it(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=SIZE) as pilot:
        for key in ("ctrl+p", "f9"):
            before = app.board.split
            await pilot.press(key)
            await pilot.pause()
            await until(pilot, lambda: "What to do" in screen_text(app))
            await pilot.press(*"both layers", "enter")
            await until(pilot, lambda before=before: app.board.split is not before)  # type: ignore[misc]  # bound in the loop
        await pilot.press("ctrl+p")
        await pilot.pause()
        await until(pilot, lambda: "> Both layers" in screen_text(app))


async def test_a_word_of_the_agent_is_done(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+p", *"/compress", "enter")
        await until(pilot, lambda: agent.calls == ["compress"])


async def test_a_word_that_needs_more_waits_in_the_prompt_and_what_stood_there_is_not_lost(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=SIZE) as pilot:
        app.board.prompt.insert("half a thought")
        await pilot.press("ctrl+p", *"/loops", "enter")
        await until(pilot, lambda: app.board.prompt.text == "/loops ")
        assert app.board.prompt.entries.newest_first()[0] == "half a thought"
        await pilot.press(*"off", "enter")
        await until(pilot, lambda: not agent.loop_detection)


async def test_a_word_whose_operand_may_be_left_out_is_done_at_once(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+p", *"/model", "enter")
        await until(pilot, lambda: "there are no other models here" in screen_text(app))


async def test_what_only_a_pane_does_is_done_there(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=SIZE) as pilot:
        agent.run("printf", b"x" * 500 + b"\n")
        await drawn(pilot)
        await pilot.press("ctrl+p", *"to the right", "enter")
        await until(pilot, lambda: app.board.raw.has_focus)


async def test_keys_of_what_lies_below_do_nothing_while_it_is_open(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        await until(pilot, lambda: "What to do" in screen_text(app))
        split = app.board.split
        await pilot.press("f2", "f6", "ctrl+p", "f12")
        await drawn(pilot)
        assert app.board.split is split
        assert len(app.screen_stack) == 2
        agent.begin("work")
        await pilot.press("f8")
        await until(pilot, lambda: agent.calls == ["cancel"])
        await pilot.press("f1")
        await pilot.pause()
        await until(pilot, lambda: "In a list to choose from" in screen_text(app))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert agent.calls == ["cancel"]


def first_rows(app: ChatApp) -> list[str]:
    """What help shows before what holds anywhere."""
    rows = [row.strip("│┃╭╮─━┏┓ ") for row in screen_text(app).split("\n")]
    return rows[: rows.index("Anywhere")] if "Anywhere" in rows else rows


async def test_help_begins_where_the_focus_is(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=SIZE) as pilot:
        for place in ("In the prompt", "In Layer 1", "In Layer 2", "In Chat"):
            await pilot.press("f1")
            await until(pilot, lambda: place in first_rows(app))  # noqa: B023  called before the next one
            await pilot.press("f1", "f6")
            await drawn(pilot)


@pytest.mark.parametrize("width", [30, 40, 75, 76, 100])
def test_no_line_of_help_is_wider_than_there_is_room(width: int) -> None:
    lines = help_text(KeyMap(), (Place.CHAT,), width).split("\n")
    assert lines[0] == "In Chat"
    assert max(len(line) for line in lines if line.startswith(" ")) <= width
    assert any("new line" in line for line in lines)
