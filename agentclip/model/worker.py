"""The provider's own process: `python -m agentclip.model.worker`, started by `remote.py`.

Requests come in on stdin, parts go out on stdout (`protocol.py`); stderr is a log file. It alone imports httpx (or, for other
providers, litellm) and holds the key. It ends when stdin closes, whatever it is doing: a parent's death never leaves it behind.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import BinaryIO

from msgspec import Struct, field

from agentclip.errors import ModelError
from agentclip.keys import MAX_KEY_CHARS
from agentclip.messages import Conversation
from agentclip.model.base import CallPart, Endpoint, Part, ReasoningPart, Reply, TextPart
from agentclip.model.facts import table_facts
from agentclip.model.openai import OpenAIEndpoint
from agentclip.model.protocol import (
    Answered,
    Ask,
    Beat,
    Cancel,
    Configure,
    Failed,
    FromWorker,
    List,
    Listed,
    ProviderSettings,
    Ready,
    Stopped,
    Streamed,
    Window,
    line,
    read_to_worker,
)
from agentclip.model.providers import Route
from agentclip.model.text_protocol import TextProtocol
from agentclip.model.wire import clean
from agentclip.undumpable import make_undumpable


def make_endpoint(settings: ProviderSettings) -> Endpoint:
    """The route that serves the settings; for litellm this takes seconds.

    Raises:
        OSError: the file of the key cannot be read.
    """
    if settings.key_file:
        with open(settings.key_file, encoding="utf-8", errors="replace") as file:
            settings = replace(settings, key=clean(file.read(MAX_KEY_CHARS).strip()))
    endpoint: Endpoint
    if settings.route is Route.LITELLM:
        from agentclip.model.litellm_route import LitellmEndpoint  # noqa: PLC0415  registered deferred import

        endpoint = LitellmEndpoint(settings)
    else:
        endpoint = OpenAIEndpoint(settings)
    return TextProtocol(endpoint) if settings.text_protocol else endpoint


class Worker(Struct):
    """Serves requests side by side."""

    out: int
    """Descriptor of the pipe to the parent."""
    settings: ProviderSettings
    group: asyncio.TaskGroup
    endpoint: Endpoint
    window_told: bool = False
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
                self.begin(ask.id, self.answer(ask.id, ask.conversation))
            case List(id=request_id):
                self.begin(request_id, self.list_models(request_id))
            case Cancel(id=request_id):
                if request_id in self.running:
                    self.running[request_id].cancel()
            case Configure():
                raise ValueError("configured twice")

    def begin(self, request_id: int, work: Coroutine[None, None, None]) -> None:
        """Work on a request beside the others."""
        task = self.group.create_task(work)
        self.running[request_id] = task
        task.add_done_callback(lambda task: self.finished(request_id, task))

    async def list_models(self, request_id: int) -> None:
        """Answer with the models of the endpoint."""
        try:
            self.say(Listed(request_id, await self.endpoint.models()))
        except ModelError as error:
            self.say(Failed(request_id, error.code, error.message, error.hint, error.retry_after_s))

    async def tell_window(self) -> None:
        """Find out the context window, once, when nothing waits for it."""
        if self.window_told or self.settings.context_window is not None:
            return
        self.window_told = True
        tokens = await find_window(self.endpoint, self.settings)
        if tokens is not None:
            self.say(Window(tokens))

    async def answer(self, request_id: int, conversation: Conversation) -> None:
        """Answer one request."""
        try:
            async with aclosing(self.endpoint.reply(conversation)) as parts:
                async for part in parts:
                    self.say(as_message(request_id, part))
        except ModelError as error:
            self.say(Failed(request_id, error.code, error.message, error.hint, error.retry_after_s))
        else:
            self.group.create_task(self.tell_window())

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


async def find_window(endpoint: Endpoint, settings: ProviderSettings) -> int | None:
    """The model's context window: by the route, by litellm's table, by the endpoint's list; None when nobody tells."""
    if endpoint.context_window is not None:
        return endpoint.context_window
    if settings.well_known:
        facts = await asyncio.to_thread(table_facts, (settings.known_as, settings.model))
        if facts is not None and facts.context_window is not None:
            return facts.context_window
    try:
        listed = await endpoint.models()
    except ModelError:
        return None
    return next((facts.context_window for facts in listed if facts.name == settings.model), None)


async def serve(out: int, requests: BinaryIO, configure: Configure) -> None:
    """Serve until stdin closes."""
    loop = asyncio.get_running_loop()

    def listen() -> None:
        # In a thread of its own, so that the end of stdin ends a process whose loop is stuck (or still loading litellm) too.
        for raw in requests:
            loop.call_soon_threadsafe(heard, raw)
        os._exit(0)

    def heard(raw: bytes) -> None:
        worker.hear(raw)

    threading.Thread(target=listen, daemon=True).start()
    async with asyncio.TaskGroup() as group:
        worker = Worker(out, configure.provider, group, make_endpoint(configure.provider))
        group.create_task(worker.beat(configure.beat_s))
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
