"""The screen over an agent that is still being built."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentclip.errors import AgentclipError, ConfigError
from agentclip.events import Event, Notice, Recorded, TurnEnd, TurnFinished, TurnStarted
from agentclip.messages import UserMessage
from agentclip.ui.agent_api import AgentApi
from agentclip.ui.late_agent import LateAgent, Saved
from tests.ui.screens import make_app, screen_text, send, until
from tests.ui.scripted import ScriptedAgent


async def test_what_is_sent_before_there_is_an_agent_waits_for_it(tmp_path: Path) -> None:
    real = ScriptedAgent(tmp_path)
    built = asyncio.Event()

    async def build() -> AgentApi:
        await built.wait()
        return real

    app = make_app(LateAgent("fake-model", build, lambda _: None))
    async with app.run_test(size=(140, 40)) as pilot:
        for text in ("first", "!ls", "second", "/loops off"):
            await send(pilot, text)
        await until(pilot, lambda: '3 queued: "first" · "!ls" · "second"' in screen_text(app))
        assert "fake-model" in screen_text(app)
        await pilot.press("up")
        assert app.board.prompt.text == "second"
        built.set()
        await until(pilot, lambda: real.calls == ["submit first", "shell ls"])
        assert real.loop_detection is False
        real.begin("first")
        await until(pilot, lambda: "> first" in screen_text(app))


async def test_a_refusal_ends_the_screen_and_is_told() -> None:
    told: list[AgentclipError] = []

    async def build() -> AgentApi:
        raise ConfigError("nobody serves that model")

    def failed(error: AgentclipError) -> None:
        told.append(error)
        app.end(error.code.exit_status)

    app = make_app(LateAgent("m", build, failed))
    assert await app.run_async(headless=True) == 78
    assert [str(error) for error in told] == ["nobody serves that model"]


async def test_quitting_before_there_is_an_agent_ends_at_once() -> None:
    async def build() -> AgentApi:
        await asyncio.Event().wait()
        raise AssertionError

    app = make_app(LateAgent("m", build, lambda _: None))
    assert await app.run_async(headless=True, auto_pilot=lambda pilot: pilot.press("ctrl+d")) == 0


async def test_a_saved_session_is_shown_before_there_is_an_agent_and_what_it_adds_comes_once(tmp_path: Path) -> None:
    past: list[Event] = [TurnStarted(UserMessage("earlier")), TurnFinished(TurnEnd.ANSWERED)]
    real = ScriptedAgent(tmp_path, past)
    built = asyncio.Event()

    async def build() -> AgentApi:
        await built.wait()
        stored = real.history()
        assert isinstance(stored, list)
        stored.append(Recorded(len(stored) + 1, 0.0, Notice("the directory is gone")))
        return real

    late = LateAgent("fake-model", build, lambda _: None, Saved("s-1", "a title", real.history()[:]))
    app = make_app(late)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "> earlier" in screen_text(app) and "a title" in screen_text(app))
        assert (late.session_id, late.running) == ("s-1", False)
        counting = asyncio.create_task(late.count_usage())
        await pilot.pause()
        assert not counting.done()
        built.set()
        await until(pilot, lambda: "the directory is gone" in screen_text(app))
        await counting
        real.end(TurnEnd.CANCELLED)
        await until(pilot, lambda: "cancelled" in screen_text(app))
        assert screen_text(app).count("the directory is gone") == 1
        assert screen_text(app).count("> earlier") == 1
