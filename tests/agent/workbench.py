"""An agent at work against the strict fake server: real HTTP, a real provider, real bash, a real session on disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from agentclip.agent.loop import Agent
from agentclip.agent.options import AgentOptions
from agentclip.agent.prompt import instructions
from agentclip.command import CommandTable
from agentclip.events import AssistantReplied, Event, TurnFinished
from agentclip.model.base import Model
from agentclip.model.protocol import ProviderSettings
from agentclip.model.remote import WorkerModel
from agentclip.shell.execute import Executor, Place
from agentclip.shell.state import command_environment
from agentclip.store.session import Session
from tests.agent.crasher import DirectModel, Options
from tests.fake_model.script import ScriptItem, text
from tests.fake_model.server import FakeModel

CRASHER = Path(__file__).with_name("crasher.py")
PATIENCE_S = 30
E = TypeVar("E")


@dataclass(slots=True)
class Bench:
    """What a test looks at."""

    agent: Agent
    session: Session
    executor: Executor
    work: Path
    """The commands' directory."""
    told: list[Event] = field(default_factory=list)
    """Everything the listener heard, in order."""

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.told if isinstance(event, kind)]


@contextlib.asynccontextmanager
async def bench(
    tmp_path: Path, model: Model, *, options: AgentOptions | None = None, resume: str | None = None
) -> AsyncIterator[Bench]:
    """An agent on a new session, or on a saved one."""
    work = tmp_path / "work"
    work.mkdir(parents=True, exist_ok=True)
    sessions = tmp_path / "sessions"
    session = Session.open(sessions, resume) if resume else Session.create(sessions, str(work), model.name, "0.1")
    executor = Executor(CommandTable(), Place(session.folder, session.last_cwd, command_environment(os.environ)))
    agent = Agent(
        model=model,
        executor=executor,
        session=session,
        instructions=instructions(["help — list all"], session.meta.cwd),
        options=options or AgentOptions(judge_progress=False),
    )
    it = Bench(agent, session, executor, work)
    agent.subscribe(it.told.append)
    try:
        yield it
    finally:
        await agent.close()
        await model.aclose()
        executor.close()
        session.close()


def provider(server: FakeModel, tmp_path: Path) -> WorkerModel:
    return WorkerModel("fake-model", ProviderSettings("fake-model", server.url, stall_timeout_s=20), tmp_path / "model.log")


@contextlib.asynccontextmanager
async def against(
    tmp_path: Path, script: Sequence[ScriptItem], *, options: AgentOptions | None = None, in_process: bool = True
) -> AsyncIterator[tuple[Bench, FakeModel]]:
    """An agent against a server with that script; the provider in our own process, which starts faster, or in its own.

    When the block ends without error, INV of the case log is shown to hold: the next prompt is accepted and answered, and
    once more after quit and resume.
    """
    with FakeModel(script) as server:
        first, second = (DirectModel(server.url) if in_process else provider(server, tmp_path) for _ in range(2))
        async with bench(tmp_path, first, options=options) as it:
            yield it, server
            server.script[:] = [text("pong")]
            await asked(it, "ping", "pong")
        name = it.session.id
        async with bench(tmp_path, second, resume=name) as it:
            server.script[:] = [text("pong again")]
            await asked(it, "ping", "pong again")
        assert server.violations == []


async def asked(it: Bench, prompt: str, answer: str) -> None:
    """Ask, and see the answer."""
    end = await it.agent.turn(prompt)
    assert end.reason == "answered", end
    reply = it.of(AssistantReplied)[-1]
    assert reply.message.text == answer


async def until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Wait for something that will come."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def turn_in_the_background(it: Bench, prompt: str) -> AsyncIterator[asyncio.Task[TurnFinished]]:
    """Do a turn while the block watches; the turn is over when the block is left."""
    async with asyncio.TaskGroup() as group:
        yield group.create_task(it.agent.turn(prompt))


def crash(options: Options) -> subprocess.Popen[str]:
    """Start a process that works on a session and kills itself; see `crasher.py`."""
    Path(options.folder, "work").mkdir(parents=True, exist_ok=True)
    argument = msgspec.json.encode(options).decode()
    return subprocess.Popen([sys.executable, str(CRASHER), argument], stdout=subprocess.PIPE, text=True)


def answers(server: FakeModel) -> dict[str, str]:
    """The tool messages of the newest request by call id."""
    return {message["tool_call_id"]: message["content"] for message in server.last.messages if message["role"] == "tool"}


def roles(server: FakeModel) -> list[str]:
    return [message["role"] for message in server.last.messages]


def assistant_messages(server: FakeModel) -> list[dict[str, Any]]:
    return [message for message in server.last.messages if message["role"] == "assistant"]
