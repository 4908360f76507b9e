"""A process that works on a scripted session and kills itself, with SIGKILL, at the point it is told.

    python crasher.py FOLDER URL POINT [SESSION]

A point is the number of a change of state: before and after each event is written, and after each is told. On stdout:
the session's id, and then one line per finished command, written once its result is known to the listener.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from agentclip.agent.loop import Agent
from agentclip.agent.options import AgentOptions
from agentclip.agent.prompt import instructions
from agentclip.command import CommandTable
from agentclip.events import CommandFinished, Event, Recorded
from agentclip.model.protocol import ProviderSettings
from agentclip.model.remote import WorkerModel
from agentclip.shell.execute import Executor, Place
from agentclip.shell.state import command_environment
from agentclip.store.log import EventLog
from agentclip.store.session import Session


class Fuse:
    """Counts points and burns at one."""

    def __init__(self, at: int) -> None:
        self.left = at

    def point(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def arm(fuse: Fuse) -> None:
    """Put a point before and after every line that is written."""
    write = EventLog.append

    def append(log: EventLog, event: Event) -> Recorded:
        fuse.point()
        recorded = write(log, event)
        fuse.point()
        return recorded

    EventLog.append = append  # type: ignore[method-assign, assignment]


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def main(folder: Path, url: str, point: int, name: str | None) -> None:
    fuse = Fuse(point)
    arm(fuse)
    model = WorkerModel("fake-model", ProviderSettings("fake-model", url), folder / "model.log")
    sessions = folder / "sessions"
    session = Session.open(sessions, name) if name else Session.create(sessions, str(folder / "work"), "m", "0.1")
    say(session.id)
    executor = Executor(CommandTable(), Place(session.folder, session.last_cwd, command_environment(os.environ)))
    told = instructions([], session.meta.cwd)
    agent = Agent(model=model, executor=executor, session=session, instructions=told, options=AgentOptions())

    def listener(event: Event) -> None:
        fuse.point()
        if isinstance(event, CommandFinished):
            say(f"finished {event.number}")

    agent.subscribe(listener)
    end = await agent.turn("go" if name is None else "go on")
    say(f"end {end.reason}")
    await agent.close()
    await model.aclose()
    executor.close()
    session.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None))
