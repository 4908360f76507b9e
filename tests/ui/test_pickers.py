"""Lists to choose from: searching, moving, choosing, whatever the rows hold and however small the terminal is."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from textual import events
from textual.pilot import Pilot

from agentclip.ui.app import ChatApp
from agentclip.ui.picker import Ask, Confirm, Look, Picker, Row
from agentclip.ui.picker_rows import Matcher
from tests.ui.screens import make_app, screen_text, until
from tests.ui.scripted import ScriptedAgent

NAMES = ("apple", "banana", "blueberry", "日本の林檎", "apricot")


def rows(*titles: str) -> list[Row[str]]:
    return [Row(title, title) for title in titles]


class Opened:
    """A picker over the screen of a test, and what came out of it."""

    def __init__(self, pilot: Pilot[int], given: Sequence[Row[str]], look: Look[str] | None = None) -> None:
        self.pilot = pilot
        self.picker: Picker[str] = Picker(given, look or Look("Fruit"))
        self.results: list[str | None] = []
        self.app.push_screen(self.picker, self.results.append)

    @property
    def app(self) -> ChatApp:
        assert isinstance(self.pilot.app, ChatApp)
        return self.pilot.app

    async def shown(self, text: str) -> str:
        await self.pilot.pause()  # a screen that was just pushed has no size yet
        await until(self.pilot, lambda: text in screen_text(self.app))
        return screen_text(self.app)


async def test_typing_filters_and_enter_chooses(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(100, 30)) as pilot:
        opened = Opened(pilot, rows(*NAMES))
        text = await opened.shown("> apple")
        assert "Fruit  (1 of 5)" in text
        await pilot.press("b", "e", "r")
        text = await opened.shown("> blueberry")
        assert "banana" not in text
        await pilot.press("enter")
        await until(pilot, lambda: opened.results == ["blueberry"])


async def test_enter_acts_on_what_the_letters_before_it_left(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(100, 30)) as pilot:
        opened = Opened(pilot, rows(*NAMES))
        await opened.shown("> apple")
        for key in ("b", "l", "enter"):  # all at once: nothing is drawn or waited for in between
            opened.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: opened.results == ["blueberry"])


async def test_keys_move_and_stop_at_the_ends(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, [Row(f"row {number}", str(number)) for number in range(100)])
        await opened.shown("> row 0")
        for key, place in (
            ("up", 0),
            ("down", 1),
            ("end", 99),
            ("down", 99),
            ("pageup", None),
            ("home", 0),
            ("pagedown", None),
        ):
            await pilot.press(key)
            if place is not None:
                assert opened.picker.chosen == str(place)
            else:
                assert 2 < int(opened.picker.chosen or "") < 97
        await opened.shown(f"> row {opened.picker.chosen} ")


async def test_escape_chooses_nothing_and_cancels_nothing(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, rows(*NAMES))
        await opened.shown("> apple")
        await pilot.press("escape")
        await until(pilot, lambda: opened.results == [None])
        assert agent.calls == []


async def test_ctrl_c_closes_the_list_and_touches_nothing_below(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(80, 24)) as pilot:
        app.board.prompt.insert("half a thought")
        agent.begin("work")
        opened = Opened(pilot, rows(*NAMES))
        await opened.shown("> apple")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: opened.results == [None])
        assert agent.calls == []
        assert app.board.prompt.text == "half a thought"


async def test_the_mouse_moves_with_a_click_and_chooses_with_a_second(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(100, 30)) as pilot:
        opened = Opened(pilot, rows(*NAMES))
        await opened.shown("> apple")
        await pilot.click("#picker-rows", offset=(4, 2))
        await opened.shown("> blueberry")
        assert opened.results == []
        await pilot.click("#picker-rows", offset=(4, 2))
        await until(pilot, lambda: opened.results == ["blueberry"])


async def test_the_cursor_begins_at_what_is_in_use(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, [Row(str(number), str(number), current=number == 70) for number in range(100)])
        await opened.shown("> * 70")


async def test_foreign_text_is_shown_not_obeyed(agent: ScriptedAgent) -> None:
    wild = "[red]a[/] \x1b[2J\x07 [@click=app.leave]x[/]\nsecond"
    async with make_app(agent).run_test(size=(100, 30)) as pilot:
        opened = Opened(pilot, [Row(wild, wild, detail=wild)], Look(wild, hint=wild, describe=lambda value: value))
        text = await opened.shown("second")
        assert "[red]a[/] ␛[2J␇ [@click=app.leave]x[/]" in text
        assert "\x1b" not in text
        await pilot.press("enter")
        await until(pilot, lambda: opened.results == [wild])


@pytest.mark.parametrize("size", [(140, 40), (100, 30), (80, 24), (40, 20), (40, 12), (30, 8)])
async def test_wide_characters_keep_their_columns_at_any_size(agent: ScriptedAgent, size: tuple[int, int]) -> None:
    given = [Row("日本の林檎とバナナ" * 9, "a", detail="細かい" * 20), Row("👩‍👩‍👧 family", "b", detail="x" * 90)]
    async with make_app(agent).run_test(size=size) as pilot:
        opened = Opened(pilot, given)
        text = await opened.shown("> 日本")  # `screen_text` checks the width of every line
        assert "…" in text
        assert "family" in text


async def test_nothing_to_choose_says_what_to_do(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, [], Look("Fruit", empty="no fruit yet: plant a tree"))
        await opened.shown("plant a tree")
        await pilot.press("enter", "down")
        assert opened.results == []


async def test_what_nothing_fits_can_be_taken_back(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, rows(*NAMES))
        await pilot.press("b", "z", "q")
        await opened.shown("nothing fits")
        await pilot.press("enter")
        assert opened.results == []
        await pilot.press("backspace", "backspace")
        await opened.shown("> banana")


async def test_a_row_is_tried_out_when_the_cursor_comes_to_it(agent: ScriptedAgent) -> None:
    seen: list[str] = []
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, rows(*NAMES), Look("Fruit", on_highlight=seen.append))
        await opened.shown("> apple")
        await pilot.press("down")
        await until(pilot, lambda: seen == ["apple", "banana"])
        await pilot.press("end", "up")
        await until(pilot, lambda: seen[-1] == "日本の林檎")


@pytest.mark.parametrize("size", [(140, 40), (80, 24)])
async def test_a_row_is_described_beside_or_below_the_list(agent: ScriptedAgent, size: tuple[int, int]) -> None:
    async with make_app(agent).run_test(size=size) as pilot:
        opened = Opened(pilot, rows(*NAMES), Look("Fruit", describe=lambda value: f"all about {value}"))
        await opened.shown("all about apple")
        await pilot.press("down")
        await opened.shown("all about banana")


async def test_a_long_description_is_scrolled_from_the_box(agent: ScriptedAgent) -> None:
    lines = "\n".join(f"line {number}" for number in range(200))
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, rows(*NAMES), Look("Fruit", describe=lambda _: lines))
        await opened.shown("line 0")
        await pilot.press("shift+pagedown")
        await until(pilot, lambda: "line 0" not in screen_text(opened.app))
        await pilot.press("shift+pageup")
        await until(pilot, lambda: "line 0" in screen_text(opened.app))
        assert opened.picker.chosen == "apple"


async def test_a_description_that_fails_is_its_error(agent: ScriptedAgent) -> None:
    def broken(_value: str) -> str:
        raise OSError("the disk is gone")

    async with make_app(agent).run_test(size=(140, 40)) as pilot:
        opened = Opened(pilot, rows(*NAMES), Look("Fruit", describe=broken))
        await opened.shown("the disk is gone")
        await pilot.press("enter")
        await until(pilot, lambda: opened.results == ["apple"])


async def test_what_was_typed_can_be_chosen_itself(agent: ScriptedAgent) -> None:
    def as_typed(text: str) -> Row[str]:
        return Row(f"use {text}", text)

    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, rows(*NAMES), Look("Fruit", typed=as_typed))
        await pilot.press(*"apr")
        await opened.shown("use apr")
        await pilot.press("enter")
        await until(pilot, lambda: opened.results == ["apricot"])
        again = Opened(pilot, rows(*NAMES), Look("Fruit", typed=as_typed))
        await again.shown("> apple")
        await pilot.press(*"kiwi", "enter")
        await until(pilot, lambda: again.results == ["kiwi"])


async def test_other_rows_leave_the_cursor_at_its_value(agent: ScriptedAgent) -> None:
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        opened = Opened(pilot, rows(*NAMES))
        await opened.shown("> apple")
        await pilot.press("down", "down")
        opened.picker.fill(rows("blueberry", "cherry"))
        assert opened.picker.chosen == "blueberry"
        opened.picker.fill([])
        await opened.shown("nothing to choose")
        assert opened.picker.chosen is None


async def test_ten_thousand_rows_answer_at_once(agent: ScriptedAgent) -> None:
    given = [
        Row(f"session {number} about things {number * 7919 % 10007}", str(number), detail="x" * 80) for number in range(10_000)
    ]
    async with make_app(agent).run_test(size=(140, 40)) as pilot:
        opened = Opened(pilot, given)
        await opened.shown("1 of 10,000")
        began = time.perf_counter()
        await pilot.press("7", "7", "end", "pageup", "home")
        assert time.perf_counter() - began < 20  # 0.2 s here
        await opened.shown("10,000 rows in all")


def test_words_may_stand_anywhere_and_letters_may_be_scattered() -> None:
    matcher = Matcher(
        [Row("fix the parser", 1, detail="/home/me/app"), Row("Parser notes", 2), Row("other", 3, words="hidden")]
    )
    titles = {query: matcher.fitting(query) for query in ("parser", "APP fix", "hidden", "prsr", "zzz", "", "  ")}
    assert titles == {
        "parser": [1, 0],
        "APP fix": [0],
        "hidden": [2],
        "prsr": [0, 1],
        "zzz": [],
        "": [0, 1, 2],
        "  ": [0, 1, 2],
    }


@pytest.mark.parametrize(("key", "answer"), [("y", True), ("n", False), ("enter", False), ("escape", None)])
async def test_only_y_means_yes(agent: ScriptedAgent, key: str, answer: object) -> None:
    found: list[bool | None] = []
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Confirm("Remove [b]it[/b]?"), found.append)
        await pilot.pause()
        await until(pilot, lambda: "Remove [b]it[/b]?" in screen_text(pilot.app))  # type: ignore[arg-type]  # it is a ChatApp
        await pilot.press(key)
        await until(pilot, lambda: found == [answer])


async def test_a_line_of_text_is_asked_for(agent: ScriptedAgent) -> None:
    found: list[str | None] = []
    async with make_app(agent).run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Ask("Title", "old"), found.append)
        await pilot.pause()
        await until(pilot, lambda: "old" in screen_text(pilot.app))  # type: ignore[arg-type]  # it is a ChatApp
        await pilot.press(*" name", "enter")
        await until(pilot, lambda: found == ["old name"])
