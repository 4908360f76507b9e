"""A picture of the screen made by the screen itself, without a terminal.

In: an app, a size, a condition. Out: an SVG file. The same events and the same clock give the same picture.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from agentclip.ui.app import ChatApp

STEP_S = 0.05


class NotReadyError(Exception):
    """The condition was not met in time."""


async def take(
    app: ChatApp, path: Path, size: tuple[int, int], ready: Callable[[ChatApp], bool], *, timeout_s: float = 60.0
) -> None:
    """Run the app unseen, wait until `ready` says so, and write the picture. Raises NotReadyError."""
    async with app.run_test(size=size) as pilot:
        waited_s = 0.0
        while not (ready(app) and app.quiet):
            if waited_s > timeout_s:
                raise NotReadyError(f"the screen was not ready within {timeout_s:.0f}s")
            await pilot.pause(STEP_S)
            waited_s += STEP_S
        await pilot.pause()
        svg = app.export_screenshot(title="agentclip")
    await asyncio.to_thread(path.write_text, svg, encoding="utf-8")


def idle(app: ChatApp) -> bool:
    """The agent has answered and waits."""
    return bool(app.state.items) and not app.agent.running and not app.agent.stopping and not app.agent.queue
