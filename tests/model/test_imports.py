"""Which process loads what: a start that loads too much is slow, and a key that is in two processes is in one too many."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentclip.model.worker_process import LAUNCH


def loaded_by(code: str, *, among: set[str]) -> set[str]:
    """Which of the packages a fresh interpreter holds after `code`."""
    program = f"{code}\nimport sys\nprint(*[name for name in {sorted(among)!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["base", "catalog", "protocol", "providers", "remote", "replay", "wire", "worker_process"])
def test_our_side_loads_no_http(module: str) -> None:
    assert loaded_by(f"import agentclip.model.{module}", among={"httpx", "httpcore", "litellm", "click", "textual"}) == set()


def test_the_worker_loads_no_command_line_and_no_screen() -> None:
    without_main = LAUNCH.removesuffix("; main()")
    assert without_main != LAUNCH
    loaded = loaded_by(without_main, among={"httpx", "click", "rich", "pygments", "textual", "PIL", "litellm", "platformdirs"})
    assert loaded == {"httpx"}


def test_the_direct_route_never_loads_litellm_also_when_it_answers_and_reads_its_table() -> None:
    code = """
import asyncio
from agentclip.messages import Conversation, UserMessage
from agentclip.model.facts import table_facts
from agentclip.model.protocol import ProviderSettings
from agentclip.model.worker import make_endpoint
from tests.fake_model.server import FakeModel, text
async def ask():
    with FakeModel([text("hi")]) as server:
        endpoint = make_endpoint(ProviderSettings("m", server.url))
        assert [part async for part in endpoint.reply(Conversation("", (UserMessage("hi"),), ()))]
        assert await endpoint.models()
        await endpoint.aclose()
    assert table_facts(("gpt-4o",))
asyncio.run(ask())
"""
    root = str(Path(__file__).parents[2])
    loaded = loaded_by(f"import sys; sys.path.insert(0, {root!r})\n{code}", among={"litellm", "openai", "httpx"})
    assert loaded == {"httpx"}
