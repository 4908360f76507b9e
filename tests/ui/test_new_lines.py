"""The mark for new lines in Chat counts what came, and nothing that only takes other room than before."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from agentclip.events import TextDelta
from agentclip.ui.app import ChatApp
from tests.ui.screens import drawn, make_app, pane_rows, screen_text, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)
REPLIES = {
    "paragraphs": "\n\n".join(f"paragraph {number} " + "some words of it " * 30 for number in range(12)),
    "code": "```\n" + "\n".join(f"line {number} " + "x" * (number % 150) for number in range(3000)) + "\n```\nend",
}


async def above(pilot: Pilot[int]) -> ChatApp:
    """Read above the end of Chat."""
    app = pilot.app
    assert isinstance(app, ChatApp)
    await drawn(pilot)
    app.board.chat.focus()
    await pilot.press("pageup")
    await drawn(pilot)
    assert not app.board.chat.following
    assert app.board.chat.new_rows == 0
    return app


@pytest.mark.parametrize("reply", REPLIES)
async def test_another_width_makes_no_new_lines(agent: ScriptedAgent, reply: str) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.say(REPLIES[reply])
        chat = (await above(pilot)).board.chat
        for width in (125, 80, 100, 60, 140):
            await pilot.resize_terminal(width, 40)
            await drawn(pilot)
            assert (chat.following, chat.new_rows) == (False, 0)
            assert "new line" not in screen_text(app)
        agent.say("one\n\ntwo")
        await until(pilot, lambda: " 4 new lines, End" in screen_text(app))


@pytest.mark.parametrize("ended", [False, True])
async def test_expanding_and_collapsing_a_run_makes_no_new_lines(agent: ScriptedAgent, *, ended: bool) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        for number in range(60):
            agent.run(f"echo {number}", b"output\n" * 20)
        last = agent.start("loop")
        last.write(b"one\ntwo\nthree\nfour\nfive\n")
        await above(pilot)
        if ended:
            last.finish()
        for _ in range(2):
            await pilot.press("e")
            await drawn(pilot)
            assert "new line" not in screen_text(app)
        for key in ("e", "pageup", "pageup", "pagedown"):
            await pilot.press(key)
            await drawn(pilot)
        assert not app.board.chat.following
        assert "new line" not in screen_text(app)
        agent.say("that was it")
        await until(pilot, lambda: " 2 new lines, End" in screen_text(app))


async def test_heights_that_were_estimated_make_no_new_lines(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(100, 30)) as pilot:
        for number in range(60):
            agent.say(f"number {number}\n\n| a | b |\n|---|---|\n| x | {'long ' * 60}|\n")
        chat = (await above(pilot)).board.chat
        while chat.first_row > 0:
            await pilot.press("pageup")
            assert chat.new_rows == 0
        agent.say("news")
        await until(pilot, lambda: chat.new_rows == 2)
        for _ in range(30):
            await pilot.press("pagedown")
            assert chat.new_rows in {0, 2}


async def test_what_a_growing_message_got_stays_new_at_another_width(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        chat = app.board.chat
        agent.begin("write")
        agent.publish(TextDelta("".join(f"word-{number}\n\n" for number in range(100))))
        await until(pilot, lambda: "word-99" in pane_rows(chat))
        await above(pilot)
        agent.publish(TextDelta("".join(f"word-{number}\n\n" for number in range(100, 110))))
        await until(pilot, lambda: chat.new_rows == 20)
        await pilot.resize_terminal(100, 40)
        await drawn(pilot)
        assert chat.new_rows == 20
        agent.publish(TextDelta("word-110"))
        await until(pilot, lambda: chat.new_rows == 22)
