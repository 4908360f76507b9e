"""A process that works on a scripted session and kills itself, with SIGKILL, at the point it is told.

    python crasher.py '{"folder": "...", "url": "...", "point": 7, "session": null, "cancel_after_s": [null]}'

A point is a change of state, by number or by name. Numbers count the moments before and after each event is written and after
each is told; -1 for none. Names say which: `before CommandStarted 1`, `half ... 1` (killed in the middle of writing its line),
`after ... 1`, `told ... 1`; and of the facts, which are written whole to another file and then renamed: `before facts 1`,
`half facts 1`, `after facts 1`.
One turn per entry of `cancel_after_s`; null lets it run. On stdout: the session's id, then one line per finished command
and whole reply, written once the listener knows of it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agentclip.agent.loop import Agent
from agentclip.agent.options import AgentOptions
from agentclip.agent.prompt import instructions
from agentclip.command import CommandTable
from agentclip.events import AssistantReplied, CommandFinished, Event, Recorded
from agentclip.messages import Conversation
from agentclip.model.base import Part
from agentclip.model.openai import OpenAIEndpoint
from agentclip.model.protocol import ProviderSettings
from agentclip.shell.execute import Executor, Place
from agentclip.shell.state import command_environment
from agentclip.store import session as session_module
from agentclip.store.codec import encode
from agentclip.store.facts import SessionFacts, write_facts
from agentclip.store.log import EventLog
from agentclip.store.session import Session


@dataclass(frozen=True, slots=True)
class Options:
    folder: str
    url: str
    point: int = -1
    session: str | None = None
    cancel_after_s: tuple[float | None, ...] = (None,)
    name: str = ""
    """Of a point, instead of its number."""


class DirectModel:
    """The direct provider without its process: a kill takes both, and the test starts faster."""

    name = "fake-model"

    context_window: int | None = None

    def __init__(self, url: str) -> None:
        self.endpoint = OpenAIEndpoint(ProviderSettings("fake-model", url))

    def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        return self.endpoint.reply(conversation)

    async def aclose(self) -> None:
        await self.endpoint.aclose()


class Fuse:
    """Counts points and burns at one."""

    def __init__(self, at: int, name: str) -> None:
        self.left = at
        self.name = name
        self.seen: Counter[str] = Counter()

    def point(self, when: str, event: Event) -> None:
        """A moment of an event."""
        self.left -= 1
        if self.left == 0 or self.is_named(when, type(event).__name__):
            burn()

    def is_named(self, when: str, what: str) -> bool:
        """Whether this moment, counted, is the one that was named."""
        self.seen[f"{when} {what}"] += 1
        return self.name == f"{when} {what} {self.seen[f'{when} {what}']}"


def burn() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(fuse: Fuse) -> None:
    """Put points around every line that is written and around the facts."""
    write = EventLog.append

    def append(log: EventLog, event: Event) -> Recorded:
        fuse.point("before", event)
        if fuse.is_named("half", type(event).__name__):
            line = encode(Recorded(10**6, 0.0, event))
            os.write(os.open(log.path, os.O_WRONLY | os.O_APPEND), line[: len(line) // 2])
            burn()
        recorded = write(log, event)
        fuse.point("after", event)
        return recorded

    def facts(folder: Path, content: SessionFacts) -> None:
        if fuse.is_named("before", "facts"):
            burn()
        if fuse.is_named("half", "facts"):
            (folder / "meta.json.new").write_bytes(b'{"id":')
            burn()
        write_facts(folder, content)
        if fuse.is_named("after", "facts"):
            burn()

    EventLog.append = append  # type: ignore[method-assign, assignment]
    setattr(session_module, "write_facts", facts)  # noqa: B010  not a name that it exports


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def main(options: Options) -> None:
    fuse = Fuse(options.point, options.name)
    arm(fuse)
    folder = Path(options.folder)
    model = DirectModel(options.url)
    session = open_session(folder / "sessions", options)
    say(session.id)
    executor = Executor(CommandTable(), Place(session.folder, session.last_cwd, command_environment(os.environ)))
    told = instructions([], session.meta.cwd)
    waits = AgentOptions(max_retry_wait_s=0.02)
    agent = Agent(model=model, executor=executor, session=session, instructions=told, options=waits)

    def listener(event: Event) -> None:
        fuse.point("told", event)
        if isinstance(event, CommandFinished):
            say(f"finished {event.number}")
        if isinstance(event, AssistantReplied):
            say(f"replied {event.message.text!r}")

    agent.subscribe(listener)
    for number, delay_s in enumerate(options.cancel_after_s):
        if delay_s is not None:
            asyncio.get_running_loop().call_later(delay_s, agent.cancel)
        await agent.turn(f"prompt {number}")
    await agent.close()
    await model.aclose()
    executor.close()
    session.close()
    say("closed")


def open_session(sessions: Path, options: Options) -> Session:
    if options.session is not None:
        return Session.open(sessions, options.session)
    return Session.create(sessions, f"{options.folder}/work", "m", "0.1")


if __name__ == "__main__":
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Options)))
