"""The provider's own process: `python -m agentclip.model.worker`, started by `remote.py`.

Requests come in on stdin, parts go out on stdout (`protocol.py`); stderr is a log file. It alone imports httpx and holds the
key. It ends when stdin closes, whatever it is doing: a parent's death never leaves it behind.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import BinaryIO

from agentclip.errors import ModelError
from agentclip.messages import Conversation
from agentclip.model.base import CallPart, Part, ReasoningPart, Reply, TextPart
from agentclip.model.openai import OpenAIEndpoint
from agentclip.model.protocol import (
    Answered,
    Ask,
    Beat,
    Cancel,
    Configure,
    Failed,
    FromWorker,
    ProviderSettings,
    Ready,
    Stopped,
    Streamed,
    line,
    read_to_worker,
)
from agentclip.undumpable import make_undumpable


def make_endpoint(settings: ProviderSettings) -> OpenAIEndpoint:
    """The provider that serves the settings: here other providers branch off."""
    return OpenAIEndpoint(settings)


@dataclass(slots=True)
class Worker:
    """Serves requests side by side."""

    out: int
    """Descriptor of the pipe to the parent."""
    endpoint: OpenAIEndpoint
    group: asyncio.TaskGroup
    running: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    def say(self, message: FromWorker) -> None:
        """Send a message; ends the process when nobody listens."""
        data = memoryview(line(message))
        try:
            while data:
                data = data[os.write(self.out, data) :]
        except BrokenPipeError:
            os._exit(0)

    def hear(self, raw: bytes) -> None:
        """Do what the parent asks."""
        match read_to_worker(raw):
            case Ask() as ask:
                task = self.group.create_task(self.answer(ask.id, ask.conversation))
                self.running[ask.id] = task
                task.add_done_callback(lambda task: self.finished(ask.id, task))
            case Cancel(id=request_id):
                if request_id in self.running:
                    self.running[request_id].cancel()
            case Configure():
                raise ValueError("configured twice")

    async def answer(self, request_id: int, conversation: Conversation) -> None:
        """Answer one request."""
        try:
            async with aclosing(self.endpoint.reply(conversation)) as parts:
                async for part in parts:
                    self.say(as_message(request_id, part))
        except ModelError as error:
            self.say(Failed(request_id, error.code, error.message, error.hint, error.retry_after_s))

    def finished(self, request_id: int, task: asyncio.Task[None]) -> None:
        """A request is over; its socket is closed. Also called for one that was cancelled before it began."""
        del self.running[request_id]
        if task.cancelled():
            self.say(Stopped(request_id))

    async def beat(self, beat_s: float) -> None:
        """Show that the loop is alive as long as a request is open."""
        while True:
            await asyncio.sleep(beat_s)
            if self.running:
                self.say(Beat())


def as_message(request_id: int, part: Part) -> FromWorker:
    """A part on its way to the parent."""
    match part:
        case TextPart(text):
            return Streamed(request_id, text=text)
        case ReasoningPart(text):
            return Streamed(request_id, reasoning=text)
        case CallPart(call_id, name, arguments):
            return Streamed(request_id, call_id=call_id, name=name, arguments=arguments)
        case Reply(message, usage, notes):
            return Answered(request_id, message, usage, notes)


async def serve(out: int, requests: BinaryIO, configure: Configure) -> None:
    """Serve until stdin closes."""
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        worker = Worker(out, make_endpoint(configure.provider), group)
        group.create_task(worker.beat(configure.beat_s))

        def listen() -> None:
            # In a thread of its own, so that the end of stdin ends a process whose loop is stuck too.
            for raw in requests:
                loop.call_soon_threadsafe(worker.hear, raw)
            os._exit(0)

        threading.Thread(target=listen, daemon=True).start()
        worker.say(Ready())


def main() -> None:
    """Entry of the process."""
    make_undumpable()
    requests = os.fdopen(0, "rb", closefd=False)  # not sys.stdin: its lock is taken when the interpreter ends
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints goes to the log, not between the messages
    first = requests.readline()
    configure = read_to_worker(first) if first else None
    if isinstance(configure, Configure):
        asyncio.run(serve(out, requests, configure))


if __name__ == "__main__":
    main()
