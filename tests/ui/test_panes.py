"""The virtual panes: following, reading above, floods, long lines, changes of width."""

from __future__ import annotations

import random
from pathlib import Path

import PIL.Image
import pytest
from rich.cells import cell_len
from textual import events
from textual.geometry import Offset, Region
from textual.selection import Selection

from agentclip.events import Notice, TextDelta
from agentclip.messages import Image
from agentclip.results import LineFate, LineRange, Presented
from agentclip.ui.heights import Heights
from agentclip.ui.rawpane import RawPane
from tests.ui.screens import drawn, make_app, pane_rows, screen_text, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)


def numbered(first: int, last: int) -> bytes:
    return b"".join(b"line-%d\n" % number for number in range(first, last))


async def test_a_living_run_is_followed_until_one_scrolls_up_and_again_after_end(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        run = agent.start("loop")
        run.write(numbered(0, 200))
        await until(pilot, lambda: pane_rows(raw)[-1:] == ["  line-199"])
        raw.focus()
        await pilot.press("pageup", "pageup")
        before = pane_rows(raw)
        run.write(numbered(200, 500))
        await until(pilot, lambda: raw.total_rows() == 500)
        assert pane_rows(raw) == before
        assert "300 new lines, End" in screen_text(app)
        await pilot.press("end")
        run.write(numbered(500, 600))
        await until(pilot, lambda: pane_rows(raw)[-1] == "  line-599")
        assert "new line" not in screen_text(app)


async def test_chat_does_not_move_while_one_reads_above(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        chat = app.board.chat
        for number in range(100):
            agent.say(f"answer {number}\n\n- a point\n- another")
        await until(pilot, lambda: "answer 99" in "\n".join(pane_rows(chat)))
        await pilot.press("pageup", "pageup")
        await drawn(pilot)
        before = pane_rows(chat)
        for number in range(100, 120):
            agent.say(f"answer {number}")
        await drawn(pilot)
        assert pane_rows(chat) == before
        assert "new lines, End" in screen_text(app)
        await pilot.press("end")
        await until(pilot, lambda: "answer 119" in "\n".join(pane_rows(chat)))


async def test_reading_upwards_through_estimated_heights_skips_nothing(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(60, 20)) as pilot:
        chat = app.board.chat
        for number in range(60):
            agent.say(f"number {number}\n\n| a | b |\n|---|---|\n| x | {'long ' * 30}|\n")
        await until(pilot, lambda: "number 59" in "\n".join(pane_rows(chat)))
        seen = pane_rows(chat)
        while chat.first_row > 0:
            chat.action_scroll_up()
            rows = pane_rows(chat)
            assert rows[1:] == seen[: len(rows) - 1], "one row up must show one more row above and move the others down by one"
            seen = rows
        assert rows[0] == "number 0"


async def test_another_width_keeps_what_one_reads_in_view(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        chat = app.board.chat
        for number in range(200):
            agent.say(f"number {number}: " + "words " * 40)
        await drawn(pilot)
        chat.go_to(chat.total_rows() // 2)
        await drawn(pilot)
        marker = next(row for row in pane_rows(chat) if row.startswith("number")).split(":")[0]
        for size in ((100, 30), (60, 20), WIDE):
            await pilot.resize_terminal(*size)
            await drawn(pilot)
        assert any(row.startswith(marker) for row in pane_rows(chat))
        assert not chat.following


async def test_keys_are_answered_while_a_large_spool_is_indexed(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        run = agent.start("flood")
        run.write(b"0123456\n" * 6_000_000)
        await pilot.press("x")
        assert app.board.prompt.text == "x"
        await until(pilot, lambda: app.board.raw.total_rows() == 6_000_000)
        assert pane_rows(app.board.raw)[-1] == "  0123456"
        await until(pilot, lambda: "6,000,000 lines" in screen_text(app))


async def test_a_line_of_ten_megabytes_is_clipped_and_says_so(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        short = Presented("abcdefgh... [+9,998,000 chars]\nafter\n[exit:0 | 1.2s]", (LineRange(0, 1, LineFate.SHOWN, 0),))
        agent.run("yes", b"abcdefgh" * 1_250_000 + b"\nafter\n", presented=short)
        await until(pilot, lambda: len(pane_rows(app.board.raw)) == 2)
        first, second = pane_rows(app.board.raw)
        assert first.startswith("= abcdefgh")
        assert first.endswith("»")
        assert second == "= after"
        app.board.raw.focus()
        await pilot.press("right")
        await drawn(pilot)
        assert pane_rows(app.board.raw)[0].startswith("= abcdefgh")
        for _ in range(510):
            app.board.raw.action_aside(1)
        await drawn(pilot)
        assert "efgh… +9,989,760 bytes …abcd" in pane_rows(app.board.raw)[0]
        for _ in range(200):
            app.board.raw.action_aside(1)
        await drawn(pilot)
        assert pane_rows(app.board.raw)[0].endswith("abcdefgh")


async def test_what_was_not_sent_is_marked_in_the_raw_stream(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        run = agent.start("seq")
        run.write(b"one\ntwo\x1b[1m\nthree\n")
        run.write_stderr(b"oops\n")
        ranges = (LineRange(0, 0, LineFate.SHOWN, 0), LineRange(1, 1, LineFate.CHANGED, 1), LineRange(2, 2, LineFate.CUT))
        run.finish(presented=Presented("one\ntwo\n--- output truncated ---\n[exit:0 | 1.2s]", ranges))
        await until(pilot, lambda: pane_rows(app.board.raw)[:1] == ["= one"])
        assert pane_rows(app.board.raw) == ["= one", "~ two", "- three", "! oops"]


async def test_the_model_pane_holds_the_text_to_the_letter_and_names_pictures(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    text = "a [/] b\n\n  indented\t中\n" + "x" * 300 + "\n[exit:0 | 1.2s]"
    image = Image("/p", "image/png", "photo [1].png", 640, 480)
    async with app.run_test(size=WIDE) as pilot:
        run = agent.start("see photo.png")
        run.finish(presented=Presented(text, (), (image,)))
        model = app.board.model
        await until(pilot, lambda: model.total_rows() > 3)
        rows = [model.strip_at(row).text for row in range(model.total_rows())]
        assert rows[-1] == "+ image photo [1].png image/png 640x480"
        whole = "".join(row[2:] if row.startswith("↳") else "\n" + row[2:] for row in rows[:-1])
        assert whole == "\n" + text.expandtabs()
        assert f"{len(text.encode())}B of 50KB" in screen_text(app)


async def test_tabs_behind_wide_characters_end_at_the_same_column_in_every_pane(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    text = "中文\ty\nab\ty\n日本e\u0301\ty\ny"
    async with app.run_test(size=WIDE) as pilot:
        agent.begin(text)
        agent.publish(Notice(text))
        agent.run("cat", text.encode() + b"\n")
        board = app.board
        await until(pilot, lambda: board.raw.total_rows() == 4 and board.model.total_rows() == 5)
        for pane, count in ((board.chat, 2), (board.raw, 1), (board.model, 1)):
            ends = [cell_len(row) for row in pane_rows(pane) if row.endswith("y")]
            assert ends == [11, 11, 11, 3] * count, pane


@pytest.mark.parametrize("no_color", [False, True])
async def test_a_picture_is_drawn_below_its_name_unless_there_is_no_colour(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, no_color: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    PIL.Image.new("RGB", (20, 8), "red").save(tmp_path / "see-1.png")
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        run = agent.start("see photo.png")
        run.finish(presented=Presented("x", (), (Image(str(tmp_path / "see-1.png"), "image/png", "photo.png", 20, 8),)))
        model = app.board.model
        await until(pilot, lambda: model.total_rows() == (2 if no_color else 6))
        assert pane_rows(model)[2:] == ([] if no_color else ["  " + "▀" * 20] * 4)


async def test_selected_rows_are_copied_without_their_signs(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("seq", numbered(0, 5))
        await drawn(pilot)
        app.screen.selections = {app.board.raw: Selection(Offset(4, 1), Offset(8, 2))}
        await pilot.press("ctrl+c")
        assert app.clipboard == "ne-1\nline-2"
        assert agent.calls == []


async def test_text_is_selected_with_the_mouse_and_copied(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.say("first line\n\nsecond 中文 line")
        agent.run("seq", numbered(0, 5))
        await drawn(pilot)
        await pilot.mouse_down("#chat", offset=(1, 1))
        await pilot.hover("#chat", offset=(12, 3))
        await pilot.mouse_up("#chat", offset=(12, 3))
        await pilot.press("ctrl+c")
        assert app.clipboard.startswith("first line\n\nsecond 中")
        assert "copied" in screen_text(app)


@pytest.mark.parametrize("seed", range(5))
def test_heights_agree_with_a_plain_sum(seed: int) -> None:
    chance = random.Random(seed)
    heights = Heights()
    plain: list[int] = []
    for _ in range(300):
        if plain and chance.random() < 0.4:
            index, height = chance.randrange(len(plain)), chance.randrange(1, 9)
            heights.replace(index, height)
            plain[index] = height
        else:
            plain.append(chance.randrange(1, 9))
            heights.append(plain[-1])
        assert heights.total == sum(plain)
        row = chance.randrange(sum(plain))
        index = heights.at(row)
        assert sum(plain[:index]) == heights.start(index) <= row < sum(plain[: index + 1])


async def test_a_run_whose_output_is_no_longer_kept_says_so(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        run = agent.start("old")
        run.path.write_bytes(b"kept once\n")
        done = run.finished()
        run.path.unlink()
        agent.publish(done)
        await until(pilot, lambda: any("the file is gone: " in row for row in pane_rows(app.board.raw)))
        assert "kept once" in screen_text(app)


async def test_chat_does_not_move_while_the_message_one_reads_grows(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        chat = app.board.chat
        agent.begin("write")
        for number in range(100):
            agent.publish(TextDelta(f"word-{number}\n\n"))
        await until(pilot, lambda: "word-99" in pane_rows(chat))
        await pilot.press("pageup")
        await drawn(pilot)
        before = pane_rows(chat)
        for number in range(100, 200):
            agent.publish(TextDelta(f"word-{number}\n\n"))
            await pilot.pause()
        await drawn(pilot)
        assert pane_rows(chat) == before
        assert "new lines, End" in screen_text(app)


async def test_long_lines_are_folded_with_w_and_the_end_is_reached(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        lines = [f"{number}:" + "日本語 wide " * (number % 40) + "end" for number in range(150)]
        agent.run("cat", "".join(f"{line}\n" for line in lines).encode())
        await until(pilot, lambda: raw.total_rows() == 150)
        raw.focus()
        await pilot.press("w")
        await drawn(pilot)
        assert "wrapped" in screen_text(app)
        seen: dict[tuple[int, int], str] = {}
        for _ in range(200):
            seen |= folded(raw)
            if raw.at_end:
                break
            await pilot.press("pagedown")
        expected = ["".join(line.split()) for line in lines]
        assert [joined(seen, row) for row in range(150)] == expected, "paging down passes over nothing"
        await pilot.press("home")
        for _ in range(5):
            await pilot.press("pagedown")
        top = raw.top
        await pilot.press("pagedown", "pageup")
        assert raw.top == top
        await pilot.press("w")
        await drawn(pilot)
        assert "wrapped" not in screen_text(app)
        assert any(row.endswith("»") for row in pane_rows(raw))


def folded(raw: RawPane) -> dict[tuple[int, int], str]:
    """What is in view, without blanks, by row and part."""
    found: dict[tuple[int, int], str] = {}
    strips = raw.render_lines(Region(0, 0, *raw.outer_size))[1:-1]
    for y, text in enumerate(strip.text[1:-2].rstrip() for strip in strips):
        place = raw.place_at(y)
        if place[0] < raw.total_rows():
            assert text.startswith("↳ ") == (place[1] > 0)
            found[place] = "".join(text[2:].split())
    return found


def joined(seen: dict[tuple[int, int], str], wanted: int) -> str:
    return "".join(text for (row, _), text in sorted(seen.items()) if row == wanted)


async def test_a_folded_stream_is_followed_and_huge_lines_leave_room_for_others(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        run = agent.start("loop")
        raw.focus()
        await pilot.press("w")
        for number in range(60):
            run.write(b"%d " % number + b"word " * 60 + b"last-%d\n" % number)
            await pilot.pause()
        await until(pilot, lambda: "last-59" in screen_text(app))
        run.write(b"x" * 1_000_000 + b"\nafter\n")
        await until(pilot, lambda: "after" in screen_text(app))
        end = raw.top
        await pilot.press("up")
        await drawn(pilot)
        assert raw.top == (60, end[1] - 1)
        run.write(b"more\n")
        await until(pilot, lambda: "1 new line, End" in screen_text(app))
        assert raw.top == (60, end[1] - 1)
        await pilot.press("down", "down")
        assert raw.following
        run.write(b"last\n")
        await until(pilot, lambda: "last" in pane_rows(raw)[-1])
        assert raw.at_end


async def test_the_newest_state_of_a_long_progress_bar_is_in_view(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        run = agent.start("download")
        raw.focus()
        await pilot.press("w")
        for number in (2_000, 4_000, 200_000):
            run.write(b"".join(b"\rdone %d" % each for each in range(number - 1_000, number + 1)))
            await until(pilot, lambda last=f"␍done {number}": joined(folded(raw), 0).endswith("".join(last.split())))  # type: ignore[misc]
        assert raw.following


async def test_a_row_higher_than_the_pane_is_read_to_its_end_by_keys_and_the_wheel(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        line = "".join(f"{number:04}日 " for number in range(900))
        agent.run("cat", f"{line}\n".encode())
        raw.focus()
        await pilot.press("w")
        await drawn(pilot)
        expected = "".join(line.split())
        for key, most in (("pagedown", 20), ("down", 200)):
            await pilot.press("home")
            assert raw.top == (0, 0)
            seen: dict[tuple[int, int], str] = {}
            for _ in range(most):
                seen |= folded(raw)
                if raw.at_end:
                    break
                await pilot.press(key)
            assert joined(seen, 0) == expected
        end = raw.top
        raw.post_message(wheel(raw, down=False))
        await drawn(pilot)
        assert raw.top < end
        assert not raw.at_end
        raw.post_message(wheel(raw, down=True))
        await drawn(pilot)
        assert raw.top == end
        await pilot.press("up")
        await pilot.resize_terminal(140, 60)
        await drawn(pilot)
        assert raw.top == raw.folding.end(1), "no empty lines below the end"
        await pilot.resize_terminal(*WIDE)
        await pilot.press("home", "end")
        assert raw.top == end
        for size in ((90, 40), (200, 20), WIDE):
            await pilot.resize_terminal(*size)
            await drawn(pilot)
            assert raw.top == raw.folding.end(1)
            assert joined(folded(raw), 0).endswith("0899日")


def wheel(raw: RawPane, *, down: bool) -> events.MouseEvent:
    made = events.MouseScrollDown if down else events.MouseScrollUp
    x, y = raw.content_region.offset
    return made(raw, 1, 1, 0, 1 if down else -1, 0, shift=False, meta=False, ctrl=False, screen_x=x, screen_y=y)


async def test_a_selection_and_a_hit_in_a_folded_line_are_the_right_characters(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        room = raw.columns
        agent.run("cat", b"short\n" + b"a" * (room - 5) + b"needle" + b"b" * 300 + b"\n")
        await until(pilot, lambda: raw.total_rows() == 2)
        raw.focus()
        await pilot.press("w", "slash")
        app.board.find.box.value = "needle"
        await pilot.press("enter")
        await drawn(pilot)
        strips = raw.render_lines(Region(0, 0, *raw.size))
        assert "".join(part.text for strip in strips for part in strip if part.style and part.style.reverse) == "needle"
        origin = raw.content_region.offset - raw.region.offset
        first = next(y for y in range(raw.view_height) if raw.place_at(y) == (1, 1))
        await pilot.mouse_down(raw, offset=(origin.x + 2, origin.y + first))
        await pilot.hover(raw, offset=(origin.x + 6, origin.y + first))
        await pilot.mouse_up(raw, offset=(origin.x + 6, origin.y + first))
        whole = raw.whole_at(1).text[2:]
        assert app.screen.get_selected_text() == whole[room - 2 : room + 3]
