"""What was sent: Up and Down, the file shared with the line mode, Ctrl+R."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agentclip.history import history_file, read_history, remember
from agentclip.ui.app import ChatApp
from tests.ui.screens import drawn, make_app, screen_text, send, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)


def text(app: ChatApp) -> str:
    return app.board.prompt.text


async def with_history(pilot: Pilot[int], app: ChatApp, count: int) -> None:
    await until(pilot, lambda: len(app.board.prompt.entries.newest_first()) == count)


async def test_what_was_sent_before_and_elsewhere_comes_back_by_up_and_down(agent: ScriptedAgent) -> None:
    for each in ("first", "two\nlines", "last"):
        remember(history_file(), each)
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await with_history(pilot, app, 3)
        await send(pilot, "now")
        agent.queue = ("still waits",)
        await pilot.press("up")
        assert text(app) == "still waits"
        await pilot.press(*["backspace"] * len("still waits"))
        seen: list[str] = []
        for _ in range(6):
            await pilot.press("up")
            if app.board.prompt.cursor_location[0] == 0 and (not seen or seen[-1] != text(app)):
                seen.append(text(app))
        assert seen == ["now", "last", "two\nlines", "first"]
        for _ in range(9):
            await pilot.press("down")
        assert text(app) == ""


async def test_what_is_sent_or_cleared_goes_into_the_file(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        for each in ("one", "one", "!ls", "/loops on"):
            await send(pilot, each)
        await pilot.press(*"half", "ctrl+c")
        await until(pilot, lambda: len(read_history(history_file())) == 4)
    assert read_history(history_file()) == ["one", "!ls", "/loops on", "half"]


async def test_a_history_that_cannot_be_written_costs_nothing_else(agent: ScriptedAgent) -> None:
    history_file().mkdir(parents=True)
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await send(pilot, "go")
        await pilot.press("up")
        assert text(app) == "go"
        assert agent.calls == ["submit go"]


async def test_a_search_shows_what_has_the_words_and_enter_takes_it_without_sending(agent: ScriptedAgent) -> None:
    for each in ("fix the parser", "run tests", "fix the lexer", "[red]fix\x1b[31m"):
        remember(history_file(), each)
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await with_history(pilot, app, 4)
        await pilot.press(*"half a thought", "left", "ctrl+r")
        await until(pilot, lambda: "> [red]fix␛[31m" in screen_text(app))
        assert "search what you sent" in screen_text(app)
        await pilot.press(*"fix the")
        await until(pilot, lambda: "> fix the lexer" in screen_text(app))
        assert "run tests" not in screen_text(app)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "> fix the parser" in screen_text(app))
        await pilot.press("ctrl+r", "up", "down", "enter")
        assert text(app) == "fix the parser"
        assert agent.calls == []
        assert not app.board.popup.display
        await pilot.press("enter")
        await until(pilot, lambda: agent.calls == ["submit fix the parser"])


async def test_a_history_that_is_read_after_the_search_began_is_in_it(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = threading.Event()

    def read(path: Path) -> list[str]:
        searched.wait(10)
        return read_history(path)

    monkeypatch.setattr("agentclip.history.read_history", read)
    for each in ("from before", "and later"):
        remember(history_file(), each)
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await send(pilot, "sent here, before all")
        await pilot.press("ctrl+r", *"before")
        await until(pilot, lambda: "> sent here, before all" in screen_text(app))
        searched.set()
        await until(pilot, lambda: "from before" in screen_text(app))
        await pilot.press("enter")
        assert text(app) == "sent here, before all"


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_closing_a_search_gives_back_the_text_from_before(agent: ScriptedAgent, key: str) -> None:
    remember(history_file(), "something")
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await with_history(pilot, app, 1)
        await pilot.press(*"/half", "ctrl+j", *"a thought", "ctrl+r", *"some")
        assert text(app) == "some"
        await pilot.press(key)
        assert text(app) == "/half\na thought"
        assert not app.board.popup.display
        await pilot.press("!")
        assert text(app) == "/half\na thought!"
        assert app.is_running


async def test_a_search_in_the_middle_of_a_command_is_closed_before_anything_is_cancelled(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("x")
        await pilot.press("ctrl+r", *"nothing like it", "enter", "escape")
        assert (text(app), agent.calls) == ("", [])
        await pilot.press("escape")
        assert agent.calls == ["cancel"]
        agent.end()


async def test_a_search_from_another_pane_comes_to_the_prompt(agent: ScriptedAgent) -> None:
    remember(history_file(), "something")
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await with_history(pilot, app, 1)
        app.board.chat.focus()
        await drawn(pilot)
        await pilot.press("ctrl+r")
        await pilot.pause()
        await pilot.press(*"thing", "enter")
        assert text(app) == "something"


async def test_a_paste_that_was_folded_is_folded_again_after_a_search(agent: ScriptedAgent) -> None:
    from textual import events

    pasted = "\n".join(f"line {number}" for number in range(100))
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        app.board.prompt.post_message(events.Paste(pasted))
        await pilot.press("ctrl+r", "escape")
        await pilot.press("enter")
        await until(pilot, lambda: agent.calls == [f"submit {pasted}"])


async def test_what_a_line_of_the_person_showed_is_told_to_the_model_on_request(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await send(pilot, "/tell")
        await until(pilot, lambda: "nothing has run" in screen_text(app))
        agent.run("seq 2", b"1\n2\n")
        agent.run("seq 100", b"".join(b"%d\n" % number for number in range(100)))
        agent.start("sleep 9")
        await send(pilot, "/tell 1")
        await until(pilot, lambda: text(app) == "I ran this:\n\nseq 2\n\nand it showed:\n\n1\n2\n[exit:0 | 1.2s]\n")
        await pilot.press(*"why?", "enter")
        await send(pilot, "/tell")
        await until(pilot, lambda: text(app).startswith("[paste 1: 108 lines"))
        await send(pilot, "/tell 3")
        assert agent.calls[0] == "submit I ran this:\n\nseq 2\n\nand it showed:\n\n1\n2\n[exit:0 | 1.2s]\nwhy?"
