"""One life of the provider's process, seen from our side: its pipes, who waits for what, and its end.

Knows nothing of retries; it says when the process is dead and lets nobody wait for ever.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from agentclip.messages import Conversation
from agentclip.model.protocol import (
    Answered,
    Beat,
    Cancel,
    Configure,
    Failed,
    FromWorker,
    Listed,
    ProviderSettings,
    Ready,
    Stopped,
    Window,
    line,
    pack_ask,
    read_from_worker,
)
from agentclip.model.providers import KEY_VARIABLES
from agentclip.model.wire import clean_conversation
from agentclip.paths import make_private

MAX_LOG_BYTES = 1024 * 1024
POLL_S = 0.01
# httpx imports its own command line with click and rich, unless that fails: a third of the worker's start and 9 MB.
LAUNCH = "import sys; sys.modules['httpx._main'] = None; from agentclip.model.worker import main; main()"

LITELLM_SETTINGS = {
    "DISABLE_AIOHTTP_TRANSPORT": "True",  # httpx: an aborted stream closes its socket at once
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_OFFLINE_MODE": "true",
}

Inbox = asyncio.Queue[FromWorker | None]
"""What the worker says that matters to one request; None when it is dead."""


class Patience(Struct, frozen=True):
    """How long silence is believed, in seconds."""

    start_s: float = 60.0
    """Before Ready."""
    silence_s: float = 20.0
    """Between two messages while a request is open: a living worker beats."""
    stop_s: float = 5.0
    """From Cancel to Stopped."""
    close_s: float = 0.5
    """From the end of its stdin to its death."""


class WorkerProcess(asyncio.Protocol):
    """One life of the process."""

    def __init__(self, settings: ProviderSettings, log: Path, patience: Patience, python: str) -> None:
        self.ready = False
        self.context_window: int | None = None
        self.dead = asyncio.Event()
        self.patience = patience
        self._inboxes: dict[int, Inbox] = {}
        self._stopping: dict[int, asyncio.TimerHandle] = {}
        self._partial = bytearray()
        self._writer: asyncio.WriteTransport | None = None
        self._reader: asyncio.ReadTransport | None = None
        self._attaching = asyncio.Lock()
        self._process, self._stdin, self._stdout = _spawn(log, python, settings.key_variable)
        with suppress(BrokenPipeError):  # dead already: the first request finds that out
            os.write(self._stdin, line(Configure(settings, patience.silence_s / 5)))

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    async def attach(self) -> None:
        """Give the pipes to the running loop; a second call does nothing."""
        async with self._attaching:
            if self._writer is None:
                loop = asyncio.get_running_loop()
                self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(self._stdin, "wb", 0))
                self._reader, _ = await loop.connect_read_pipe(lambda: self, os.fdopen(self._stdout, "rb", 0))

    @contextmanager
    def request(self, request_id: int, question: bytes) -> Iterator[Inbox]:
        """Ask, and leave nothing running when the block is left. `question` is the line of an Ask or List with that id."""
        assert self._writer is not None
        inbox = self._inboxes[request_id] = Inbox()
        try:
            self._writer.write(question)
            yield inbox
        finally:
            if self._inboxes.pop(request_id, None) is not None:
                self._cancel(request_id)

    async def next_message(self, inbox: Inbox) -> FromWorker | None:
        """What the worker says next; None when it is dead.

        Raises:
            TimeoutError: it hangs.
        """
        if self.dead.is_set() and inbox.empty():
            return None
        async with asyncio.timeout(self.patience.silence_s if self.ready else self.patience.start_s):
            return await inbox.get()

    def data_received(self, data: bytes) -> None:
        """Sort what the worker says into the inboxes."""
        *lines, rest = data.split(b"\n")
        for piece in lines:
            self._partial += piece
            with suppress(msgspec.DecodeError):  # no message: a start-up file of that Python printed something
                self._sort(read_from_worker(bytes(self._partial)))
            self._partial.clear()
        self._partial += rest

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio.Protocol names it
        """The worker closed its stdout: it is dead or about to be."""
        self.dead.set()
        for inbox in self._inboxes.values():
            inbox.put_nowait(None)
        for timer in self._stopping.values():
            timer.cancel()

    def kill(self) -> None:
        """End it at once."""
        if self._process.poll() is None:
            self._process.kill()

    async def close(self) -> None:
        """End it, once: by closing its stdin, and by force when it does not go."""
        try:
            self._close_stdin()
            await self._gone(self.patience.close_s)
        finally:
            self.kill()
            if self._reader is None:
                os.close(self._stdout)
            else:
                self._reader.close()
            self.dead.set()
        await self._gone(self.patience.close_s)

    async def how_it_ended(self) -> str:
        """`killed by SIGKILL`, `exit status 1`; for a process that closed its stdout. Leaves none behind."""
        await self._gone(self.patience.close_s)
        self.kill()
        status = await self._gone(self.patience.close_s) or 0
        names = {number.value: number.name for number in signal.Signals}
        return f"killed by {names.get(-status, f'signal {-status}')}" if status < 0 else f"exit status {status}"

    async def _gone(self, within_s: float) -> int | None:
        """Wait for the process' end and reap it; its return code, None when it still lives."""
        for _ in range(int(within_s / POLL_S)):
            if self._process.poll() is not None:
                break
            await asyncio.sleep(POLL_S)
        return self._process.poll()

    def _close_stdin(self) -> None:
        if self._writer is None:
            os.close(self._stdin)
        elif not self._writer.is_closing():
            self._writer.abort()

    def _sort(self, message: FromWorker) -> None:
        match message:
            case Ready() | Beat():
                self.ready = True
                for inbox in self._inboxes.values():
                    inbox.put_nowait(message)
                return
            case Window(tokens):
                self.context_window = tokens
            case Answered() | Listed() | Failed() | Stopped():
                if message.id in self._stopping:
                    self._stopping.pop(message.id).cancel()
                inbox_of_ended = self._inboxes.pop(message.id, None)
                if inbox_of_ended is not None:
                    inbox_of_ended.put_nowait(message)
            case _:
                if message.id in self._inboxes:
                    self._inboxes[message.id].put_nowait(message)

    def _cancel(self, request_id: int) -> None:
        """Stop a request; a worker that does not obey is killed."""
        if self.dead.is_set() or self._writer is None:
            return
        self._writer.write(line(Cancel(request_id)))
        wait_s = self.patience.stop_s if self.ready else self.patience.start_s
        self._stopping[request_id] = asyncio.get_running_loop().call_later(wait_s, self.kill)


def ask_line(request_id: int, conversation: Conversation) -> bytes:
    """An Ask as a line, also of text that is not valid Unicode."""
    try:
        return line(pack_ask(request_id, conversation))
    except UnicodeEncodeError:
        return line(pack_ask(request_id, clean_conversation(conversation)))


def _spawn(log: Path, python: str, key_variable: str) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start the process; it, our end of its stdin, our end of its stdout. Raises OSError."""
    make_private(log.parent)
    fresh = os.O_TRUNC if log.exists() and log.stat().st_size > MAX_LOG_BYTES else 0
    opened = [os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | fresh, 0o600)]
    try:
        opened += os.pipe()
        opened += os.pipe()
        errors, its_stdin, our_stdin, our_stdout, its_stdout = opened
        process = subprocess.Popen(
            [python, "-P", "-c", LAUNCH],
            stdin=its_stdin,
            stdout=its_stdout,
            stderr=errors,
            cwd="/",
            env=worker_environment(os.environ, key_variable),
            start_new_session=True,
        )
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        raise
    for descriptor in (errors, its_stdin, its_stdout):
        os.close(descriptor)
    return process, our_stdin, our_stdout


def worker_environment(env: Mapping[str, str], key_variable: str) -> dict[str, str]:
    """Our environment without keys (the one it needs comes by pipe), and with what keeps litellm from reading `.env` files."""
    return {name: value for name, value in env.items() if name not in {*KEY_VARIABLES, key_variable}} | LITELLM_SETTINGS
