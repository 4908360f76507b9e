"""Text selected with the mouse: the characters under the pointer, and the same text whatever is drawn again."""

from __future__ import annotations

from textual.geometry import Region
from textual.pilot import Pilot

from agentclip.ui.app import ChatApp
from agentclip.ui.pane import Pane
from tests.ui.screens import drawn, make_app, pane_rows, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)


async def drag(pilot: Pilot[int], pane: Pane, start: tuple[int, int], end: tuple[int, int]) -> str:
    """From one cell of a pane's content to another; the text that is selected."""
    origin = pane.content_region.offset - pane.region.offset
    first, last = ((origin.x + column, origin.y + row) for column, row in (start, end))
    await pilot.mouse_down(pane, offset=first)
    await pilot.hover(pane, offset=last)
    await pilot.mouse_up(pane, offset=last)
    await drawn(pilot)
    return selected(pilot.app)


def selected(app: object) -> str:
    assert isinstance(app, ChatApp)
    return app.screen.get_selected_text() or ""


def highlighted(pane: Pane) -> str:
    """What is drawn in the colours of the selection."""
    colour = pane.screen.get_component_rich_style("screen--selection").bgcolor
    strips = pane.render_lines(Region(0, 0, *pane.size))
    rows = ["".join(part.text for part in strip if part.style and part.style.bgcolor == colour) for strip in strips]
    return "\n".join(row for row in rows if row)


DRAGS = (
    (0, 2, "a日"),  # a wide character by either of its cells
    (0, 1, "a日"),
    (1, 4, "日本"),
    (2, 3, "日本"),
    (3, 4, "本"),
    (6, 7, "語b"),
    (7, 8, "b👩‍🔬"),
    (8, 9, "👩‍🔬"),
    (9, 10, "👩‍🔬c"),
    (11, 12, "e\u0301f"),
    (12, 14, "f🇩🇪"),
    (14, 0, "a日本語b👩‍🔬ce\u0301f🇩🇪"),
)
"""From one cell to another of the text below, and what that selects."""


async def test_the_characters_under_the_pointer_are_selected(agent: ScriptedAgent) -> None:
    text = "a日本語b👩‍🔬ce\u0301f🇩🇪|"
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.say(text)
        agent.run("echo", text.encode() + b"\n")
        await until(pilot, lambda: bool(pane_rows(app.board.raw)))
        for start, end, expected in DRAGS:
            assert await drag(pilot, app.board.chat, (start, 0), (end, 0)) == expected
            assert highlighted(app.board.chat) == expected
            assert await drag(pilot, app.board.raw, (start + 2, 0), (end + 2, 0)) == expected
            assert highlighted(app.board.raw) == expected


async def test_what_is_selected_in_chat_stays_selected_while_items_above_change_their_height(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        chat = app.board.chat
        run = agent.start("loop")
        run.write(b"one\ntwo\nthree\n")
        agent.say("before\n\nthe 日本語 text\n\nbehind")
        await until(pilot, lambda: "the 日本語 text" in pane_rows(chat))
        row = pane_rows(chat).index("the 日本語 text")
        assert await drag(pilot, chat, (4, row), (9, row)) == "日本語"
        run.finish()
        await until(pilot, lambda: pane_rows(chat).index("the 日本語 text") == row - 3)
        assert (selected(app), highlighted(chat)) == ("日本語", "日本語")
        app.state.row(1).expanded = True
        app.state.touch(app.state.row(1))
        app.plan_frame()
        await until(pilot, lambda: pane_rows(chat).index("the 日本語 text") > row)
        assert (selected(app), highlighted(chat)) == ("日本語", "日本語")


async def test_what_is_selected_stays_selected_while_output_streams(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw, chat = app.board.raw, app.board.chat
        run = agent.start("loop")
        run.write(b"".join(b"line-%d\n" % number for number in range(100)))
        await until(pilot, lambda: pane_rows(raw)[-1:] == ["  line-99"])
        last = pane_rows(raw).index("  line-97")
        assert await drag(pilot, raw, (2, last), (8, last)) == "line-97"
        for number in range(100, 120):
            run.write(b"line-%d\n" % number)
            agent.publish()
        await until(pilot, lambda: pane_rows(raw)[-1:] == ["  line-119"])
        assert (selected(app), highlighted(raw)) == ("line-97", "line-97" if "  line-97" in pane_rows(raw) else "")
        assert chat.text_selection is None


async def test_a_selection_in_a_long_line_moves_with_it_to_the_side(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        agent.run("cat", "".join(f"{number:04}日" for number in range(200)).encode() + b"\n")
        await until(pilot, lambda: bool(pane_rows(raw)))
        raw.focus()
        await pilot.press("right")
        await drawn(pilot)
        shown = pane_rows(raw)[0]
        text = await drag(pilot, raw, (4, 0), (13, 0))
        assert text in shown
        assert text == highlighted(raw)
        await pilot.press("left")
        await drawn(pilot)
        assert (selected(app), highlighted(raw)) == (text, text)


async def test_the_whole_of_a_long_line_is_copied(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        agent.run("cat", b"x" * 500 + b"end\nnext\n")
        await until(pilot, lambda: bool(pane_rows(raw)))
        assert await drag(pilot, raw, (2, 0), (5, 1)) == "x" * 500 + "end\nnext"


async def test_another_run_or_another_width_ends_the_selection_of_what_is_gone(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("one", b"first output\n")
        agent.say("some words")
        await until(pilot, lambda: pane_rows(app.board.raw) == ["= first output"])
        assert await drag(pilot, app.board.raw, (2, 0), (6, 0)) == "first"
        agent.run("two", b"other\n")
        await until(pilot, lambda: pane_rows(app.board.raw) == ["= other"])
        assert selected(app) == ""
        assert await drag(pilot, app.board.model, (2, 0), (6, 0)) == "other"
        await pilot.resize_terminal(130, 40)
        await drawn(pilot)
        assert selected(app) == ""
