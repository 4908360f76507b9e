"""Completion in the prompt: the list above it, what its keys do, and what never reaches the screen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual import events
from textual.pilot import Pilot

from agentclip.ui.app import ChatApp
from tests.ui.screens import drawn, make_app, screen_rows, screen_text, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    (here / "src").mkdir(parents=True)
    for name in ("src/main.py", "src/my notes.txt", "other.md"):
        (here / name).touch()
    Path(os.fsdecode(os.fsencode(here) + b"/bad\x1b[31m\xff")).touch()
    program = here / "bin" / "zzprogram"
    program.parent.mkdir()
    program.touch(0o755)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", f"{here}/bin:{os.environ['PATH']}")


def text(app: ChatApp) -> str:
    return app.board.prompt.text


async def offered(pilot: Pilot[int], app: ChatApp, words: str) -> None:
    await until(pilot, lambda: app.board.popup.display and words in screen_text(app))


async def test_slash_words_are_offered_with_what_they_do_and_enter_does_the_chosen_one(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"/sna")
        await offered(pilot, app, "> /snapshot")
        assert "the snapshot that the model reads" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: "there is no snapshot yet" in screen_text(app))
        assert text(app) == ""
        assert not app.board.popup.display


async def test_tab_takes_a_word_and_its_operands_are_offered_next(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"/loo", "tab")
        assert text(app) == "/loops "
        await offered(pilot, app, "> on")
        await pilot.press("down", "enter")
        await until(pilot, lambda: "loop detection is off" in screen_text(app))
        assert not agent.loop_detection


async def test_a_word_that_is_written_out_is_sent_at_once(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"/loops off", "enter")
        await until(pilot, lambda: not agent.loop_detection)


async def test_theme_names_are_offered(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"/theme ligh")
        await offered(pilot, app, "> light")
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "light")


async def test_files_are_found_by_parts_of_their_path_and_the_rest_of_the_text_stays(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"read @smain")
        await offered(pilot, app, "> @src/main.py")
        await pilot.press("enter")
        assert text(app) == "read @src/main.py "
        assert agent.calls == []
        await pilot.press(*"and @notes")
        await offered(pilot, app, '> @"src/my notes.txt"')
        await pilot.press("tab", "enter")
        await until(pilot, lambda: agent.calls == ['submit read @src/main.py and @"src/my notes.txt" '])


async def test_a_file_name_can_neither_act_on_the_terminal_nor_crash(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("@", "o")
        await offered(pilot, app, "other.md")
        await pilot.press("backspace")
        await offered(pilot, app, "@bin/")
        assert "bad" not in screen_text(app)
        assert all("\x1b" not in row for row in screen_rows(app))


async def test_a_shell_line_runs_as_it_was_typed_until_something_is_chosen(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"!zzp")
        await offered(pilot, app, "zzprogram")
        assert "> zzprogram" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: agent.calls == ["shell zzp"])
        await pilot.press(*"!zzp", "down", "enter", *"src/ma", "tab")
        assert text(app) == "!zzprogram src/main.py "


async def test_escape_closes_the_list_and_neither_cancels_nor_clears(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("x")
        await pilot.press(*"see @mai")
        await offered(pilot, app, "> @src/main.py")
        await pilot.press("escape")
        assert not app.board.popup.display
        await pilot.press("n")
        assert (text(app), app.board.popup.display, agent.calls) == ("see @main", False, [])
        await pilot.press("space", "@", "m")
        await offered(pilot, app, "> @src/main.py")
        await pilot.press("escape", "escape")
        assert agent.calls == ["cancel"]
        agent.end()


async def test_tab_without_a_list_moves_the_focus_and_up_without_one_the_cursor(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"plain", "tab")
        assert app.focused is not app.board.prompt
        assert text(app) == "plain"


async def test_a_word_in_a_message_of_many_lines_is_no_command(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("a", "ctrl+j", *"/sna")
        assert not app.board.popup.display
        await pilot.press("ctrl+j", "@", *"main")
        await offered(pilot, app, "> @src/main.py")


@pytest.mark.parametrize("size", [(40, 12), (30, 8), (80, 24)])
async def test_the_list_stays_inside_of_any_terminal_and_moves_nothing(agent: ScriptedAgent, size: tuple[int, int]) -> None:
    app = make_app(agent)
    async with app.run_test(size=size) as pilot:
        await drawn(pilot)
        before = app.board.chat.region
        await pilot.press("/")
        await offered(pilot, app, ">")
        assert app.board.chat.region == before
        assert app.screen.region.contains_region(app.board.popup.region)
        assert app.board.popup.region.bottom == app.board.prompt.region.y
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: app.board.popup.region.bottom == app.board.prompt.region.y)


async def test_typing_faster_than_the_screen_draws_takes_what_the_letters_left(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        for key in (*"/lo", "tab", *"of", "enter"):
            app.board.prompt.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: not agent.loop_detection)


async def test_a_row_can_be_clicked(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"/l")
        await offered(pilot, app, "/loops")
        row = next(y for y, line in enumerate(screen_rows(app)) if "/loops" in line)
        await pilot.click("#popup", offset=(3, row - app.board.popup.region.y))
        await until(pilot, lambda: text(app) == "/loops ")


async def test_the_keys_of_the_file_count_here_too(agent: ScriptedAgent) -> None:
    from agentclip import paths

    path = paths.keymap_file()
    path.parent.mkdir(parents=True)
    path.write_text('"completion.take" = "ctrl+n"\n')
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"/loo")
        await offered(pilot, app, "Ctrl+N take · Up up · Down down · Esc close")
        await pilot.press("ctrl+n")
        assert text(app) == "/loops "


async def test_files_of_the_folder_where_the_last_run_left_the_shell(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        event = agent.start("cd src").finished()
        agent.publish(replace(event, result=replace(event.result, cwd=os.path.join(os.getcwd(), "src"))))
        agent.start("sleep 100")
        await pilot.press(*"@main")
        await offered(pilot, app, "> @main.py")
