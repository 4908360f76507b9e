"""What tests ask of a running screen: its text, and that it becomes what they wait for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from weakref import WeakSet

import textual.app
import textual.pilot
from textual.pilot import Pilot

from agentclip.ui.agent_api import AgentApi
from agentclip.ui.app import ChatApp
from agentclip.ui.options import ScreenOptions
from agentclip.ui.pane import Pane

IDLE_S = 0.001
APPS: WeakSet[ChatApp] = WeakSet()
"""Those that run, and some that ran."""


async def loop_is_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Three looks in a row at which nothing was left to do, and no key waits.

    Textual's own way takes 20 ms, and guesses on busy machines.
    """
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # noqa: SLF001  no public way
    began = time.monotonic()
    idle = 0
    while (idle < 3 or time.monotonic() - began < min_sleep) and time.monotonic() - began < max_sleep:
        await asyncio.sleep(IDLE_S)
        idle = 0 if ready or any(app.keys_wait for app in APPS if app.is_running) else idle + 1


textual.app.wait_for_idle = textual.pilot.wait_for_idle = loop_is_idle  # type: ignore[attr-defined]  # they are not exported


def make_app(agent: AgentApi, **options: object) -> ChatApp:
    app = ChatApp(agent, ScreenOptions(**options))  # type: ignore[arg-type]  # options of the test
    APPS.add(app)
    return app


def screen_rows(app: ChatApp) -> list[str]:
    """The whole screen as it would be printed, row by row."""
    width, height = app.size
    strips = app.screen._compositor.render_strips(app.size)  # noqa: SLF001  no public way to read the screen's text
    assert len(strips) == height
    rows = [strip.text for strip in strips]
    assert all(strip.cell_length == width for strip in strips)
    return rows


def screen_text(app: ChatApp) -> str:
    return "\n".join(screen_rows(app))


def pane_rows(pane: Pane) -> list[str]:
    """The rows of a pane that are in view, without their background."""
    last = min(pane.first_row + pane.view_height, pane.total_rows())
    return [pane.strip_at(row).text for row in range(pane.first_row, last)]


async def until(pilot: Pilot[int], condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    """Wait for a condition, and then for everything to be drawn."""
    app = pilot.app
    assert isinstance(app, ChatApp)
    APPS.add(app)
    waited_s = 0.0
    while not (condition() and app.quiet):
        assert waited_s < timeout_s, screen_text(app)
        await pilot.pause(0.02)
        waited_s += 0.02
    await pilot.pause()


async def drawn(pilot: Pilot[int]) -> None:
    await until(pilot, lambda: True)


async def send(pilot: Pilot[int], text: str) -> None:
    """Put a text into the prompt and press Enter: quicker than pressing each key."""
    app = pilot.app
    assert isinstance(app, ChatApp)
    app.board.prompt.insert(text)
    await pilot.press("enter")
