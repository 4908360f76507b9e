"""The screen with an agent that fails: a program for `test_terminal.py`. Its argument says how: `bug` or `hang`."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from agentclip.ui.app import ChatApp
from agentclip.ui.options import ScreenOptions
from tests.ui.scripted import ScriptedAgent


class FailingAgent(ScriptedAgent):
    """Lives for a moment, prints to file descriptor 2 as a native library does, and breaks or blocks the loop for ever."""

    async def serve(self) -> None:
        await asyncio.sleep(1.0)
        os.write(2, b"native noise\n")
        if sys.argv[1] == "hang":
            time.sleep(10_000)  # noqa: ASYNC251  blocking the loop is the point
        raise RuntimeError("[broken] on purpose")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ChatApp(FailingAgent(Path(folder)), ScreenOptions()).run()
