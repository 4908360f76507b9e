from __future__ import annotations

from textual.widgets import Input

from agentclip.ui.help_screen import HelpScreen
from agentclip.ui.picker import Ask, Confirm
from tests.ui.screens import make_app, until
from tests.ui.scripted import ScriptedAgent


async def test_a_key_that_came_twice_closes_once(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    results: list[str | None] = []
    async with app.run_test() as pilot:
        ask = Ask("name?", "n")
        await app.push_screen(ask, results.append)
        box = ask.query_one(Input)
        for _ in range(3):
            box.post_message(Input.Submitted(box, "n"))
        await until(pilot, lambda: len(app.screen_stack) == 1 and bool(results))
        assert results == ["n"]


async def test_what_lies_above_is_not_closed_in_its_place(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    results: list[bool | None] = []
    async with app.run_test() as pilot:
        question = Confirm("sure?")
        await app.push_screen(question, results.append)
        app.action_help()
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        question.dismiss(result=True)
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        assert results == []
        app.action_escape()
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert results == [True]
