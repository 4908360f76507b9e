"""Random sessions against the strict server: bad calls, cuts, refusals, cancels, kills, resumes, in any mix.

Never a 400 that is our fault, never a finished message or command lost. A failure names its seed.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentclip.events import AssistantReplied, CommandFinished
from agentclip.shell.descendants import own_children
from tests.agent.crasher import DirectModel, Options
from tests.agent.scripted import ScriptedModel, reply
from tests.agent.test_broken_calls import AS_TEXT, BROKEN, NAMES
from tests.agent.workbench import asked, bench, crash
from tests.fake_model.script import Reply, text
from tests.fake_model.server import FakeModel

DEFAULT_SEEDS = range(16)
SLOW_SEEDS = range(1000, 1300)
COMMANDS = (
    "echo out",
    "echo out; echo err >&2; exit 3",
    "sleep 0.05; echo slept",
    "printf 'a\\000b\\377'",
    "seq 3000",
    "cd / && pwd",
    "export A=1; cd /nowhere",
    "sleep 0.1 & echo job",
    "nosuchprogram",
    "echo 'unbalanced",
    "trap '' INT; sleep 0.3",
    "echo 你好😀 | cat",
)


def random_replies(dice: random.Random) -> Callable[[dict[str, Any]], Reply]:
    """A model that answers soberly, but for everything that providers and models do wrong."""

    def call() -> dict[str, Any]:
        shape = dice.random()
        if shape < 0.7:
            return {"command": dice.choice(COMMANDS)}
        if shape < 0.9:
            return {"name": "run", "arguments": dice.choice(BROKEN)[0][:300]}
        return {"name": dice.choice(NAMES), "arguments": '{"command": "echo no"}'}

    def sound() -> dict[str, Any]:
        calls = [call() for _ in range(dice.choice([0, 0, 1, 1, 2, 3]))]
        said = (
            dice.choice(["", "I look.", "多言語 😀", "\n\n"])
            if calls
            else dice.choice(["done", "done", "a\u0000b", AS_TEXT[0]])
        )
        return {"calls": calls, "text": said, "reasoning": dice.choice(["", "hm"])}

    def one(_body: dict[str, Any]) -> Reply:
        shape = dice.random()
        if shape < 0.7:
            return sound()
        if shape < 0.85:
            return {**sound(), "cut": dice.choice([True, "reset"])}
        status = dice.choice([429, 500, 503, 401, 400])
        headers = {"Retry-After": "0"} if status == 429 else {}
        return {"status": status, "headers": headers, "body": {"error": {"message": "no"}}}

    return one


def random_cancels(dice: random.Random) -> tuple[float | None, ...]:
    return tuple(dice.choice([None, None, dice.random() * 0.3]) for _ in range(dice.choice([1, 2, 3])))


async def session_of(seed: int, folder: Path) -> None:
    """A session that is killed, resumed and killed again, and must answer in the end."""
    dice = random.Random(seed)
    before = own_children()
    name: str | None = None
    said: list[str] = []
    with FakeModel(random_replies(dice)) as server:
        for _ in range(dice.choice([1, 2])):
            point = dice.choice([-1, dice.randrange(1, 120)])
            options = Options(str(folder), server.url, point, name, random_cancels(dice))
            with crash(options) as process:
                assert process.stdout is not None
                first, *more = process.stdout.read().split("\n")
            continue_the_stopped(own_children() - before)
            said += more
            name = first if (folder / "sessions" / first).is_dir() else None
    assert our_violations(server) == []
    if name is None:
        return
    with FakeModel([text("pong")]) as server:
        async with bench(folder, DirectModel(server.url), resume=name) as it:
            assert_nothing_lost(said, [recorded.event for recorded in it.agent.history()])
            await asked(it, "ping", "pong")
        assert server.violations == []
    async with bench(folder, ScriptedModel([reply("", "echo fine"), reply("pong again")]), resume=name) as it:
        assert_nothing_lost(said, [recorded.event for recorded in it.agent.history()])
        await asked(it, "ping again", "pong again")


def continue_the_stopped(orphans: Iterable[int]) -> None:
    """A kill between the SIGSTOP and the SIGKILL of the ladder leaves a stopped process, which comes to us."""
    for pid in orphans:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def our_violations(server: FakeModel) -> list[str]:
    """What was refused, but for requests that a kill cut short."""
    whole = (request for request in server.requests if len(request.raw) == int(request.headers["content-length"]))
    return [request.violation for request in whole if request.violation is not None]


def assert_nothing_lost(said: Sequence[str], events: Sequence[object]) -> None:
    stored = {f"finished {event.number}" for event in events if isinstance(event, CommandFinished)}
    stored |= {f"replied {event.message.text!r}" for event in events if isinstance(event, AssistantReplied)}
    assert set(said) - {"", "closed"} <= stored


@pytest.mark.parametrize("seed", DEFAULT_SEEDS)
async def test_a_random_session_stays_valid(tmp_path: Path, seed: int) -> None:
    await session_of(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW_SEEDS)
async def test_a_random_session_stays_valid_many_times(tmp_path: Path, seed: int) -> None:
    await session_of(seed, tmp_path)
