"""Make the picture of the README from a recording: `python docs/pictures/take.py`. The commands really run."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from agentclip import runtime
from agentclip.config import load
from agentclip.model.choose import choose_model
from agentclip.ui.app import ChatApp, ScreenOptions
from agentclip.ui.picture import idle, take

HERE = Path(__file__).parent
PROMPT = "why does the nightly build fail?"
SIZE = (140, 40)
TESTS = ("test_cache",) * 20 + ("test_retry",) * 14 + ("test_login",) * 8


def build_log() -> str:
    """4,900 quiet lines and 42 errors between them."""
    lines = [f"12:{n // 60 % 60:02}:{n % 60:02} INFO  shard {n % 8}: compiled unit {n}" for n in range(4900)]
    for number, test in enumerate(TESTS):
        lines.insert(100 + number * 110, f"12:{number:02}:59 ERROR shard {number % 4 * 2}: assertion failed in {test}")
    return "\n".join(lines) + "\n"


async def main() -> None:
    """Play the recording in a scratch folder and write `docs/screen.svg`."""
    with tempfile.TemporaryDirectory(prefix="nightly-") as scratch:
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
            os.environ[name] = f"{scratch}/home"
        work = Path(scratch) / "work"
        work.mkdir()
        (work / "build.log").write_text(build_log())
        os.chdir(HERE)
        settings = load({}, work, {"model": "replay:readme.jsonl"})
        model = choose_model(settings, {})
        assert model is not None, "it is named"
        session = runtime.open_session(None, work, model.name)
        async with runtime.conversation(settings, model, session) as talk:
            talk.agent.submit(PROMPT)
            await take(ChatApp(talk.agent, ScreenOptions("dark")), HERE.parent / "screen.svg", SIZE, idle)


asyncio.run(main())
