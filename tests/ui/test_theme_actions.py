"""Choosing a theme with a live preview, files that change under the screen, the terminal's own background."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agentclip import paths
from agentclip.config import load
from agentclip.preferences import Preferences
from agentclip.ui.app import ChatApp
from agentclip.ui.terminal import BackgroundTold
from tests.ui.screens import drawn, make_app, screen_text, send, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)


def mine(**changes: str) -> Path:
    """A theme of the user's own, or another state of it."""
    folder = paths.user_themes_dir()
    folder.mkdir(parents=True, exist_ok=True)
    text = (paths.shipped_themes_dir() / "dark.toml").read_text(encoding="utf-8").replace('name = "dark"', 'name = "mine"')
    for old, new in changes.items():
        assert f'{old} = "' in text
        text = "\n".join(f'{old} = "{new}"' if line.startswith(f"{old} = ") else line for line in text.split("\n"))
    path = folder / "mine.toml"
    aside = folder / "mine.new"
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
    return path


def ground(app: ChatApp) -> str:
    return app.board.chat.styles.background.hex


async def pick(pilot: Pilot[int], *keys: str) -> None:
    await send(pilot, "/theme")
    await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
    await pilot.press(*keys)
    await pilot.pause()


async def test_a_highlighted_theme_is_seen_at_once_and_esc_takes_it_back(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.say("`code`")
        await pick(pilot, *"solar")
        await until(pilot, lambda: app.theme == "solarized-light" and ground(app) == "#FDF6E3")
        assert app.board.chat.ink.theme.name == "solarized-light"
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "dark")
        assert app.theme_wanted == "dark"
        assert app.board.chat.ink.theme.name == "dark"


async def test_enter_keeps_the_chosen_theme(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pick(pilot, *"nord", "enter")
        await until(pilot, lambda: app.theme == "nord" and len(app.screen_stack) == 1)
        assert app.theme_wanted == "nord"
        await pick(pilot)
        await until(pilot, lambda: "* nord" in screen_text(app))


async def test_a_chosen_theme_is_kept_for_the_next_start_and_a_tried_one_is_not(agent: ScriptedAgent, tmp_path: Path) -> None:
    app = make_app(agent, preferences=Preferences({}, tmp_path, {}))
    async with app.run_test(size=WIDE) as pilot:
        await pick(pilot, "down", "down", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert not paths.config_file().exists()
        await pick(pilot, *"nord", "enter")
        await until(pilot, lambda: paths.config_file().exists())
        assert load({}, tmp_path, {}).theme == "nord"


async def test_a_settings_file_that_cannot_be_read_is_a_message_and_the_theme_is_worn(
    agent: ScriptedAgent, tmp_path: Path
) -> None:
    paths.config_file().parent.mkdir(parents=True, exist_ok=True)
    paths.config_file().write_text("not toml", encoding="utf-8")
    app = make_app(agent, preferences=Preferences({}, tmp_path, {}))
    async with app.run_test(size=WIDE) as pilot:
        await send(pilot, "/theme nord")
        await until(pilot, lambda: "is not kept for the next" in screen_text(app))
        assert app.theme == "nord"


async def test_a_changed_file_is_worn_at_once(agent: ScriptedAgent) -> None:
    mine()
    app = make_app(agent, theme="mine")
    async with app.run_test(size=WIDE) as pilot:
        await drawn(pilot)
        mine(surface="#000011")
        await until(pilot, lambda: ground(app) == "#000011")
        assert app.theme == "mine"


async def test_a_file_that_goes_wrong_is_one_message_and_the_last_good_one_stays(agent: ScriptedAgent) -> None:
    mine(surface="#000011")
    app = make_app(agent, theme="mine")
    async with app.run_test(size=WIDE) as pilot:
        await drawn(pilot)
        path = mine(surface="blueish")
        await until(pilot, lambda: "palette.surface" in screen_text(app))
        assert f"{path}: `palette.surface`" in app.state.items[-1].text  # type: ignore[attr-defined]  # it is a notice
        assert ground(app) == "#000011"
        path.write_text("name = ", encoding="utf-8")
        await until(pilot, lambda: "Invalid value" in screen_text(app))
        assert ground(app) == "#000011"
        await send(pilot, "/theme dark")
        await send(pilot, "/theme mine")
        await until(pilot, lambda: app.theme == "mine" and ground(app) == "#000011")
        mine(surface="#000022")
        await until(pilot, lambda: ground(app) == "#000022")
        assert app.themes.errors == ()


async def test_a_file_that_is_gone_stays_worn_and_its_theme_is_no_more_to_choose(agent: ScriptedAgent) -> None:
    path = mine()
    app = make_app(agent, theme="mine")
    async with app.run_test(size=WIDE) as pilot:
        await drawn(pilot)
        path.unlink()
        await until(pilot, lambda: "mine" not in app.themes.by_name)
        assert app.theme == "mine"
        await send(pilot, "/theme mine")
        await until(pilot, lambda: "no theme mine" in screen_text(app))


async def test_a_new_file_is_there_when_the_list_is_opened(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await drawn(pilot)
        mine()
        await pick(pilot, *"mine", "enter")
        await until(pilot, lambda: app.theme == "mine")


@pytest.mark.parametrize(("told", "name"), [(False, "light"), (True, "dark")])
async def test_auto_follows_what_the_terminal_tells(agent: ScriptedAgent, *, told: bool, name: str) -> None:
    app = make_app(agent, theme="auto")
    async with app.run_test(size=WIDE) as pilot:
        assert app.theme == "dark", "before anybody tells"
        app.post_message(BackgroundTold(dark=told))
        await pilot.pause()
        await until(pilot, lambda: app.theme == name)


async def test_a_theme_that_was_asked_for_by_name_stays_whatever_the_terminal_tells(agent: ScriptedAgent) -> None:
    app = make_app(agent, theme="dark")
    async with app.run_test(size=WIDE) as pilot:
        app.post_message(BackgroundTold(dark=False))
        await pilot.pause()
        assert app.theme == "dark"
        await pick(pilot)
        await until(pilot, lambda: "the terminal is light" in screen_text(app))
        await pilot.press("escape")
        await send(pilot, "/theme auto")
        await until(pilot, lambda: app.theme == "light")


async def test_colorfgbg_is_taken_before_the_terminal_tells(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert os.environ["COLORFGBG"]
    assert make_app(agent, theme="auto").theme == "light"
    assert make_app(agent, theme="dark").theme == "dark"
