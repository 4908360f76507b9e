"""Keys that come all at once act as if they had come one by one."""

from __future__ import annotations

import asyncio
import time

import pytest
from textual import events
from textual.widgets import Input

from agentclip.ui import key_order
from agentclip.ui.app import ChatApp
from agentclip.ui.pane import Pane
from agentclip.ui.picker import Ask, Look, Picker, Row
from tests.ui.screens import make_app, screen_text, until
from tests.ui.scripted import ScriptedAgent

USUAL_WAIT_S = key_order.MAX_WAIT_S


@pytest.fixture(autouse=True)
def _slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Order is what is tested here, on a machine of any speed."""
    monkeypatch.setattr(key_order, "MAX_WAIT_S", 30)


def all_at_once(app: ChatApp, *keys: str) -> None:
    """As a driver sends what it read together: nothing is done between them. More than one sign is the name of a key."""
    for key in keys:
        app.post_message(events.Key(key, {"space": " "}.get(key, key if len(key) == 1 else None)))


async def test_a_key_of_the_app_waits_for_the_letters_before_it(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test() as pilot:
        all_at_once(app, *"abc", "ctrl+c", *"tail")
        await until(pilot, lambda: app.board.prompt.text == "tail")


async def test_a_paste_waits_for_the_keys_before_it(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test() as pilot:
        all_at_once(app, *"one", "ctrl+c", *"two", "space")
        app.post_message(events.Paste("three"))
        all_at_once(app, "!", "enter")
        await until(pilot, lambda: bool(agent.calls))
    assert agent.calls == ["submit two three!"]


async def test_tab_and_enter_press_the_button(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test() as pilot:
        agent.begin("go")
        agent.start("sleep 100")
        await pilot.pause()
        all_at_once(app, "tab", "enter")
        await until(pilot, lambda: agent.calls == ["cancel"])


async def test_letters_follow_the_focus(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(120, 40)) as pilot:
        all_at_once(app, *"ab", "f6", "slash", *"word", "escape", "f6", "f6", "f6", *"cd")
        await until(pilot, lambda: app.board.prompt.text == "abcd")
        all_at_once(app, "f6", *"xyz")
        await until(pilot, lambda: isinstance(app.focused, Pane))
        assert app.board.prompt.text == "abcd"


async def test_what_is_typed_for_a_list_or_a_question_waits_until_it_is_there(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    chosen: list[str | None] = []
    async with app.run_test() as pilot:
        rows = [Row(each, each) for each in ("one", "two", "three")]
        app.push_screen(Picker(rows, Look("Numbers")), chosen.append)
        all_at_once(app, *"thr", "enter", *"behind")
        await until(pilot, lambda: app.board.prompt.text == "behind")
        app.push_screen(Ask("name?"), chosen.append)
        all_at_once(app, *"me", "enter", "space", *"it")
        await until(pilot, lambda: app.board.prompt.text == "behind it")
    assert chosen == ["three", "me"]


async def test_a_list_that_nobody_can_type_into_holds_keys_for_a_moment_only(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_order, "MAX_WAIT_S", USUAL_WAIT_S)
    app = make_app(agent)
    async with app.run_test() as pilot:
        question = Ask("name?")
        app.push_screen(question)
        await until(pilot, lambda: question.begun)
        question.begun = False  # as if its box had never come
        all_at_once(app, *"ab")
        await until(pilot, lambda: question.query_one(Input).value == "ab")


async def test_a_receiver_that_is_gone_holds_no_key(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test() as pilot:
        box = Input()
        await app.screen.mount(box)
        box.focus()
        await until(pilot, lambda: app.focused is box)
        app.post_message(events.Key("home", None))
        box.remove()
        all_at_once(app, "home", *"ab")
        await until(pilot, lambda: app.focused is None or app.focused is app.board.prompt)
        app.board.prompt.focus()
        all_at_once(app, *"cd")
        await until(pilot, lambda: app.board.prompt.text.endswith("cd"))


async def test_whoever_types_at_the_button_means_the_prompt(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test() as pilot:
        all_at_once(app, "tab", "space", *"no,", "space", *"wait")
        await until(pilot, lambda: app.board.prompt.text == "no, wait")
        assert app.focused is app.board.prompt
        assert agent.calls == ["cancel"]


async def test_a_paste_goes_to_the_prompt_from_everywhere_but_a_list(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(120, 40)) as pilot:
        for keys in (["tab"], ["f6"], ["f6", "f6"]):
            all_at_once(app, *keys)
            app.post_message(events.Paste("text "))
            await until(pilot, lambda: app.focused is app.board.prompt)
        await until(pilot, lambda: app.board.prompt.text == "text text text ")
        app.push_screen(Ask("name?"))
        app.post_message(events.Paste("a name"))
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "a name")
        assert app.board.prompt.text == "text text text "


async def test_a_click_waits_for_the_keys_before_it(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(120, 40)) as pilot:
        agent.run("echo hello", b"hello\n")
        await until(pilot, lambda: "hello" in screen_text(app))
        all_at_once(app, *"word", "ctrl+c", "r")
        click(app, 10, 15)
        await until(pilot, lambda: app.focused is app.board.chat)
        assert (app.board.prompt.text, agent.calls) == ("r", [])


def click(app: ChatApp, x: int, y: int) -> None:
    for kind in (events.MouseDown, events.MouseUp):
        app.post_message(kind(None, x, y, 0, 0, 1, shift=False, meta=False, ctrl=False, screen_x=x, screen_y=y))


@pytest.mark.parametrize("before", [[], ["f6"], ["f6", "f6"], ["tab"]])
async def test_letters_wait_for_the_focus_that_a_key_of_the_app_moves(agent: ScriptedAgent, before: list[str]) -> None:
    app = make_app(agent)
    async with app.run_test(size=(120, 40)) as pilot:
        app.board.prompt.entries.share(["echo one", "other"])
        all_at_once(app, *before, "ctrl+r", *"ech")
        await until(pilot, lambda: app.board.prompt.text == "ech" and app.board.prompt.search.opened)


async def test_a_cancel_does_not_stand_in_line_for_long(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_order, "MAX_WAIT_S", USUAL_WAIT_S)
    app = make_app(agent)
    async with app.run_test(size=(120, 40)) as pilot:
        agent.begin("go")
        app.action_theme("")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        began = time.monotonic()
        all_at_once(app, *["down", "up"] * 100, "f8")
        await until(pilot, lambda: agent.calls == ["cancel"])
        assert time.monotonic() - began < 5  # 0.5 s here


@pytest.mark.parametrize(("key", "at", "typed"), [("down", 2, ""), ("f3", 1, ""), ("x", 1, "x")])
async def test_a_list_that_lost_the_focus_takes_it_back_with_the_next_key(
    agent: ScriptedAgent, key: str, at: int, typed: str
) -> None:
    app = make_app(agent)
    async with app.run_test() as pilot:
        picker = Picker([Row(each, each) for each in ("one", "two", "x")], Look("Numbers"))
        app.push_screen(picker)
        await until(pilot, lambda: picker.begun)
        picker.set_focus(None)
        all_at_once(app, key)
        box = picker.query_one(Input)
        await until(pilot, lambda: picker.focused is box and (picker.rows.amount[0], box.value) == (at, typed))
        spent = time.process_time()
        await asyncio.sleep(0.3)
        assert time.process_time() - spent < 0.2  # the key is not handed round for ever
