"""Finding words in the three panes: keys, marks, counts, spools that are still being indexed."""

from __future__ import annotations

import re
import time
from functools import partial

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from agentclip.ui.app import ChatApp
from agentclip.ui.pane import Pane
from tests.ui.screens import drawn, make_app, pane_rows, screen_text, send, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)


def reversed_texts(pane: Pane) -> list[str]:
    """What is drawn reversed in a pane."""
    strips = pane.render_lines(Region(0, 0, *pane.size))
    return [segment.text for strip in strips for segment in strip if segment.style and segment.style.reverse]


def unfolded(pane: Pane) -> str:
    """What is in view, without the ends of folded rows."""
    places = [place for place in map(pane.place_at, range(pane.view_height)) if place[0] < pane.total_rows()]
    texts = [pane.in_view(row, pane.whole_at(row), part).text for row, part in places]
    return "\n".join(texts).replace("\n↳ ", "")


async def find(pilot: Pilot[int], text: str) -> None:
    """Type into the open box."""
    app = pilot.app
    assert isinstance(app, ChatApp)
    assert app.focused is app.board.find.box
    app.board.find.box.value = text
    await pilot.press("enter")
    await drawn(pilot)


def said(app: ChatApp) -> str:
    assert app.board.find.display
    return app.board.find.said.render_line(0).text


async def test_layer_1_goes_from_hit_to_hit_and_says_when_it_begins_again(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        agent.run("seq", b"".join(b"Number-%d\n" % number for number in range(2000)))
        await until(pilot, lambda: raw.total_rows() == 2000)
        raw.focus()
        raw.go_to(598)
        await pilot.press("slash")
        await find(pilot, "number-5")
        assert (raw.pointed_row, app.focused) == (598, raw)
        assert "line 110 of 111 · n, N" in said(app)
        await pilot.press("n")
        await drawn(pilot)
        assert (raw.pointed_row, "line 111 of 111 · n" in said(app)) == (599, True)
        await pilot.press("n")
        await drawn(pilot)
        assert raw.pointed_row == 5
        assert "= Number-5" in pane_rows(raw)
        assert "line 1 of 111 · from the top" in said(app)
        await pilot.press("N")
        await drawn(pilot)
        assert raw.pointed_row == 599
        assert "line 111 of 111 · from the end" in said(app)
        await pilot.press("N")
        await drawn(pilot)
        assert raw.pointed_row == 598
        assert {text.lower() for text in reversed_texts(raw)} == {"number-5"}


async def test_a_capital_finds_itself_only_and_nothing_found_is_said(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("cat", "error\nError\nERROR\nÄRGER\närger\n".encode())
        app.board.raw.focus()
        for words, expected in (
            ("error", "of 3"),
            ("Error", "of 1"),
            ("ERROR", "of 1"),
            ("ärger", "of 2"),
            ("ERROr", "no match"),
        ):
            await pilot.press("slash")
            await find(pilot, words)
            assert expected in said(app), words


async def test_stdout_and_stderr_are_gone_through_in_the_order_of_the_rows(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        run = agent.start("make")
        for number in range(5):
            run.write(b"out hit %d\nnothing\n" % number)
            run.write_stderr(b"err hit %d\n" % number)
            await until(pilot, partial(lambda last: pane_rows(raw)[-1:] == [last], f"! err hit {number}"))
        run.finish()
        await drawn(pilot)
        raw.focus()
        raw.go_to(0)
        await pilot.press("slash")
        await find(pilot, "hit")
        seen = []
        for _ in range(10):
            seen.append(raw.strip_at(raw.pointed_row).text)
            await pilot.press("n")
            await drawn(pilot)
        rows = [raw.strip_at(row).text for row in range(raw.total_rows())]
        assert seen == [row for row in rows if "hit" in row]
        assert len(seen) == 10
        assert "line 1 of 10 · from the top" in said(app)


async def test_colours_inside_of_words_do_not_hide_them(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("grep", b"plain\nfoo\x1b[01;31mbar\x1b[m baz\n")
        app.board.raw.focus()
        await pilot.press("slash")
        await find(pilot, "foobar baz")
        assert app.board.raw.pointed_row == 1
        assert "".join(reversed_texts(app.board.raw)) == "foobar baz"


async def test_a_hit_far_to_the_right_is_brought_into_view(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("cat", b"short\n" + b"x" * 3000 + b"needle" + b"y" * 3000 + b"\nlast needle\n")
        app.board.raw.focus()
        await pilot.press("slash")
        await find(pilot, "needle")
        assert any("needle" in row for row in pane_rows(app.board.raw))
        await pilot.press("n")
        await drawn(pilot)
        assert pane_rows(app.board.raw)[-1] == "= last needle"


async def test_a_hit_in_a_folded_row_higher_than_the_pane_comes_into_view(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        line = b"x" * 3000 + b"NEEDLE" + b"y" * 3000 + b"\n"
        agent.run("cat", line + b"1\n2\n" + line)
        raw.focus()
        await pilot.press("w", "home", "slash")
        for key, row in (("", 0), ("n", 3), ("n", 0), ("N", 3)):
            if key:
                await pilot.press(key)
                await drawn(pilot)
            else:
                await find(pilot, "NEEDLE")
            assert raw.pointed_row == row
            assert "".join(reversed_texts(raw)) == "NEEDLE"


@pytest.mark.parametrize("key", ["w", "left"])
async def test_a_hit_in_what_is_left_out_of_a_line_is_said_and_our_mark_is_no_hit(agent: ScriptedAgent, key: str) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        agent.run("cat", b"x" * 9000 + b"FARAWAY bytes" + b"y" * 9000 + b"\nbytes\n\n\n")
        raw.focus()
        await pilot.press(key, "home", "slash")
        await find(pilot, "FARAWAY")
        for _ in range(2):
            assert (raw.pointed_row, raw.hits_at(0)) == (0, [])
            assert "not in the part shown; o opens all" in said(app)
            assert "xxx… +7,773 bytes …yyy" in unfolded(raw)
            await pilot.press("slash")
            await find(pilot, "bytes")
            assert (raw.pointed_row, reversed_texts(raw)) == (1, ["bytes"])
            assert "not in" not in said(app)
            await pilot.press("n")
            await drawn(pilot)


@pytest.mark.parametrize("key", ["w", "left"])
async def test_a_hit_at_the_end_of_a_line_of_any_length_comes_into_view(agent: ScriptedAgent, key: str) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        agent.run("cat", b"".join(b"x" * size + b"FARAWAY\n" for size in (9_000, 20_000, 3_000_000)))
        raw.focus()
        await pilot.press(key, "home", "slash")
        await find(pilot, "FARAWAY")
        for row in range(3):
            assert raw.pointed_row == row
            assert "FARAWAY" in unfolded(raw)
            assert "not in" not in said(app)
            await pilot.press("n")
            await drawn(pilot)


async def test_a_long_line_that_is_all_hits_is_drawn_at_once(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("cat", b"\x1b[1mxx\x1b[0mx" * 900 + b"\n")
        app.board.raw.focus()
        await pilot.press("slash")
        began = time.monotonic()
        await find(pilot, "x")
        assert time.monotonic() - began < 5
        assert set("".join(reversed_texts(app.board.raw))) == {"x"}
        assert len("".join(reversed_texts(app.board.raw))) == app.board.raw.columns - 3


async def test_hits_beyond_what_is_indexed_are_reached_while_keys_are_answered(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        run = agent.start("flood")
        with run.path.open("wb") as file:
            for _ in range(50):
                file.write(b"0123456789abcdef\n" * 240_000)
            file.write(b"the needle\n" + b"behind\n" * 100)
        assert run.path.stat().st_size > 200_000_000
        run.write(b"")
        raw.focus()
        await pilot.press("slash")
        app.board.find.box.value = "needle"
        await pilot.press("enter")
        await pilot.press("f6", "f6", "f6", "x")
        assert app.board.prompt.text in {"x", ""}
        await until(pilot, lambda: "line 1 of 1" in screen_text(app), timeout_s=60)
        assert raw.pointed_row == 50 * 240_000
        assert "  the needle" in pane_rows(raw)


async def test_a_search_tells_how_far_it_is_and_esc_ends_it_without_cancelling(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        run = agent.start("flood")
        agent.running = True
        with run.path.open("wb") as file:
            file.write(b"line\n" * 1000)
            file.truncate(4 << 30)
        run.write(b"")
        await pilot.pause(0.1)
        app.board.raw.go_to(0)
        app.board.raw.focus()
        await pilot.press("slash")
        app.board.find.box.value = "needle"
        await pilot.press("enter")
        waited = 0
        while re.search(r"finding… [0-9]+%", screen_text(app)) is None:
            await pilot.pause(0.02)
            waited += 1
            assert waited < 1000, screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "finding" not in screen_text(app)
        assert agent.calls == []
        await pilot.press("escape")
        assert agent.calls == ["cancel"]


async def test_output_that_came_since_is_looked_at_too(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        run = agent.start("loop")
        run.write(b"hit 1\nhit")
        raw.focus()
        await pilot.press("slash")
        await find(pilot, "hit")
        assert "line 1 of 2" in said(app)
        run.write(b" 2\nhit 3\n")
        await drawn(pilot)
        await pilot.press("n", "n")
        await drawn(pilot)
        assert "line 3 of 3" in said(app)
        assert raw.pointed_row == 2


async def test_a_hit_stays_in_view_while_the_run_goes_on(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        run = agent.start("loop")
        run.write(b"the hit\n")
        raw.focus()
        await pilot.press("slash")
        await find(pilot, "hit")
        for _ in range(20):
            run.write(b"more\n" * 20)
        await until(pilot, lambda: raw.total_rows() == 401)
        assert pane_rows(raw)[0] == "  the hit"


async def test_another_run_in_the_pane_is_another_search_for_the_same_words(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("one", b"hit\nhit\n")
        app.board.raw.focus()
        await pilot.press("slash")
        await find(pilot, "hit")
        assert "of 2" in said(app)
        agent.run("two", b"nothing\nhit\n")
        await drawn(pilot)
        await pilot.press("n")
        await drawn(pilot)
        assert "line 1 of 1" in said(app)
        assert app.board.raw.pointed_row == 1


async def test_layer_2_finds_words_that_go_over_the_end_of_a_row(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        model = app.board.model
        room = model.columns - 2
        agent.run("cat", b"a" * (room - 3) + b"needle\n" + b"b\n" * 100 + b"needle\n")
        await until(pilot, lambda: model.total_rows() > 100)
        model.focus()
        await pilot.press("slash")
        await find(pilot, "needle")
        assert "row 1 of 2" in said(app)
        assert reversed_texts(model) == ["nee", "dle"]
        await pilot.press("n")
        await drawn(pilot)
        assert "row 2 of 2" in said(app)
        assert "  needle" in pane_rows(model)


async def test_chat_finds_words_in_items_that_were_never_in_view(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(60, 20)) as pilot:
        chat = app.board.chat
        for number in range(300):
            words = "very **important** point" if number % 100 == 50 else "nothing of the kind " * 9
            agent.begin(f"ask {number}")
            agent.say(f"answer {number}: {words}")
            agent.end()
        await until(pilot, lambda: "answer 299" in "\n".join(pane_rows(chat)))
        await pilot.press("ctrl+f")
        await find(pilot, "very important")
        assert "message 1 of 3 · from the top" in said(app)
        assert any("answer 50: very important" in row for row in pane_rows(chat))
        for expected in (150, 250, 50):
            await pilot.press("enter")
            await drawn(pilot)
            assert any(f"answer {expected}: very important" in row for row in pane_rows(chat))
        await pilot.press("escape")
        await drawn(pilot)
        assert app.focused is app.board.prompt
        assert reversed_texts(chat) == []
        chat.focus()
        await pilot.press("N")
        await drawn(pilot)
        assert any("answer 250: very important" in row for row in pane_rows(chat))
        assert reversed_texts(chat) == ["very important"] or "".join(reversed_texts(chat)) == "very important"


@pytest.mark.parametrize("width", [40, 41, 60, 140])
async def test_words_that_are_wrapped_are_marked_over_both_rows(agent: ScriptedAgent, width: int) -> None:
    app = make_app(agent)
    async with app.run_test(size=(width, 24)) as pilot:
        agent.say("- " + "long words that are wrapped somewhere around here " * 3 + "\n\n" + "中文日本語テスト" * 8)
        app.board.chat.focus()
        await pilot.press("slash")
        await find(pilot, "are wrapped somewhere around")
        assert "".join("".join(reversed_texts(app.board.chat)).split()) == "arewrappedsomewherearound" * 3
        await pilot.press("slash")
        await find(pilot, "日本語テスト")
        assert "".join(reversed_texts(app.board.chat)) == "日本語テスト" * 8


async def test_a_command_is_found_in_chat(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        for number in range(50):
            agent.run(f"make target-{number}", b"")
        app.board.chat.focus()
        await pilot.press("slash")
        await find(pilot, "target-7")
        assert "message 1 of 1" in said(app)
        assert reversed_texts(app.board.chat) == ["target-7"]


async def test_the_slash_word_and_narrow_screens_find_too(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(80, 24)) as pilot:
        agent.run("seq", b"one\ntwo\n")
        await drawn(pilot)
        await pilot.press("f6")
        app.board.prompt.focus()
        await send(pilot, "/find two")
        await drawn(pilot)
        assert "line 1 of 1" in said(app)
        assert app.board.raw.pointed_row == 1
        await pilot.press("escape")
        assert app.focused is app.board.prompt


async def test_an_empty_box_closes_and_a_session_without_runs_has_no_match(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        for pane in app.board.panes.values():
            pane.focus()
            await pilot.press("slash")
            await find(pilot, "needle")
            assert "no match" in said(app)
            await pilot.press("escape", "slash")
            app.board.find.box.value = ""
            await pilot.press("enter")
            await drawn(pilot)
            assert "Esc closes" not in screen_text(app)
        assert agent.calls == []


async def test_ctrl_f_does_nothing_under_the_help(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("f1", "ctrl+f")
        await pilot.pause()
        assert not app.board.find.opened


async def test_ctrl_c_closes_the_line_of_a_search(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+f", "x")
        await until(pilot, lambda: app.board.find.opened)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.board.find.opened)
        assert "to quit" not in screen_text(app)
