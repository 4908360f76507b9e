"""/settings: every declared setting, where its value came from, and changing it in the person's own file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agentclip import config, paths
from agentclip.preferences import Preferences
from agentclip.ui.app import ChatApp
from tests.ui.screens import make_app, screen_text, send, until
from tests.ui.scripted import ScriptedAgent


def app_with(agent: ScriptedAgent, cwd: Path, **environ: str) -> ChatApp:
    return make_app(agent, preferences=Preferences(environ, cwd, {}))


async def shown(pilot: Pilot[int], *texts: str) -> str:
    app = pilot.app
    assert isinstance(app, ChatApp)

    def all_there() -> bool:
        laid_out = app.screen._compositor.size == app.size  # noqa: SLF001  a screen that was just pushed has no size yet
        return laid_out and all(text in screen_text(app) for text in texts)

    await until(pilot, all_there)
    return screen_text(app)


def own_settings() -> object:
    return tomllib.loads(paths.config_file().read_text())


async def test_every_setting_is_listed_and_described(agent: ScriptedAgent, tmp_path: Path) -> None:
    app = app_with(agent, tmp_path, AGENTCLIP_TIMEOUT_S="9")
    async with app.run_test(size=(140, 60)) as pilot:
        await send(pilot, "/settings")
        text = await shown(pilot, "Settings", "model.name")
        assert all(f.metadata["key"] in text for f in config.declared())
        await pilot.press(*"run.timeout_s")
        text = await shown(pilot, "Time limit of a command", "AGENTCLIP_TIMEOUT_S goes before")
        assert "9  (AGENTCLIP_TIMEOUT_S)" in text
        assert "A change holds from the next start." in text
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_a_value_is_checked_then_written(agent: ScriptedAgent, tmp_path: Path) -> None:
    app = app_with(agent, tmp_path)
    async with app.run_test(size=(140, 40)) as pilot:
        await send(pilot, "/settings run.timeout_s")
        await shown(pilot, "(1 of 1", "Time limit of a command")
        await pilot.press("enter")
        await shown(pilot, "Enter take it", "default, 120")
        await pilot.press("end", *["backspace"] * 3, *"soon", "enter")
        await shown(pilot, "is 'soon'", "Allowed: a whole number, 1 or")
        assert not paths.config_file().exists()
        await pilot.press("end", *["backspace"] * 4, *"77", "enter")
        await shown(pilot, "run.timeout_s is 77 from the next start", "77  (yours)")
        assert own_settings() == {"run": {"timeout_s": 77}}
        await pilot.press("enter")
        await shown(pilot, "Enter take it", "default, 120")
        await pilot.press("end", *["backspace"] * 2, "enter")
        await shown(pilot, "run.timeout_s is 120 from the next start")
        assert own_settings() == {"run": {}}


async def test_a_choice_is_offered_and_one_that_holds_at_once_does(agent: ScriptedAgent, tmp_path: Path) -> None:
    app = app_with(agent, tmp_path)
    async with app.run_test(size=(140, 40)) as pilot:
        await send(pilot, "/settings screen.theme")
        await shown(pilot, "(1 of 1", "A change holds at once.")
        await pilot.press("enter")
        await shown(pilot, "the default, auto", "light")
        await pilot.press(*"light", "enter")
        await shown(pilot, "screen.theme is light now")
        await until(pilot, lambda: app.theme == "light")
        assert own_settings() == {"screen": {"theme": "light"}}
        await pilot.press("escape")
        await send(pilot, "/settings screen.notify ")
        await shown(pilot, "nothing, a bell, a notification")
        await pilot.press("enter")
        await shown(pilot, "the default, auto")
        await pilot.press(*"off", "enter")
        await until(pilot, lambda: app.options.notify == "off")


async def test_a_value_that_something_goes_before_is_saved_and_says_so(agent: ScriptedAgent, tmp_path: Path) -> None:
    app = app_with(agent, tmp_path, AGENTCLIP_STREAM="true")
    async with app.run_test(size=(140, 40)) as pilot:
        await send(pilot, "/settings model.stream")
        await shown(pilot, "(1 of 1", "Stream replies")
        await pilot.press("enter")
        await shown(pilot, "the default, true")
        await pilot.press(*"false", "enter")
        await shown(pilot, "saved, but AGENTCLIP_STREAM goes before it: model.stream is true")
        assert own_settings() == {"model": {"stream": False}}


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_a_file_that_is_wrong_is_one_message(agent: ScriptedAgent, tmp_path: Path, size: tuple[int, int]) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text("[run\n")
    app = app_with(agent, tmp_path)
    async with app.run_test(size=size) as pilot:
        await send(pilot, "/settings")
        await shown(pilot, "not valid TOML")
        assert len(app.screen_stack) == 1
