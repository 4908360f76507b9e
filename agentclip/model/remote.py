"""The model whose provider runs in a process of its own.

A conversation comes in, parts of a reply go out. Starts the process early or at the first request, another one when it died,
and ends it. Knows neither HTTP nor what the process does inside (`worker.py`).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation
from agentclip.model.base import CallPart, Model, ModelFacts, Part, ReasoningPart, Reply, TextPart
from agentclip.model.protocol import (
    Answered,
    Beat,
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
)
from agentclip.model.worker_process import Inbox, Patience, WorkerProcess, ask_line


class WorkerModel:
    """A provider behind a pipe."""

    def __init__(
        self,
        name: str,
        settings: ProviderSettings,
        log: Path,
        *,
        patience: Patience | None = None,
        python: str = sys.executable,
    ) -> None:
        self.name = name
        self.settings = settings
        self.log = log
        """Where the process' stderr goes."""
        self._patience = patience or Patience()
        self._python = python
        self._worker: WorkerProcess | None = None
        self._window: int | None = None
        self._closed = False
        self._ids = itertools.count(1)

    @property
    def context_window(self) -> int | None:
        """As configured, or as the provider's data says; None while unknown."""
        if self._worker is not None and self._worker.context_window is not None:
            self._window = self._worker.context_window
        return self.settings.context_window or self._window

    @property
    def worker_pid(self) -> int | None:
        """The process that lives now; None when there is none."""
        return None if self._worker is None or self._worker.dead.is_set() else self._worker.pid

    def start(self) -> None:
        """Start the process now, so that its imports overlap with ours. Needs no event loop.

        Raises:
            ModelError: it cannot be started.
        """
        if self.worker_pid is None:
            try:
                self._worker = WorkerProcess(self.settings, self.log, self._patience, self._python)
            except OSError as error:
                message = f"the provider's process does not start: {error.strerror}"
                raise ModelError(message, code=ErrorCode.INTERNAL) from error

    async def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        """Stream one reply. When the process dies before anything came of it, another one is asked once."""
        for last_try in (False, True):
            worker = await self._living()
            delivered = False
            request_id = next(self._ids)
            with worker.request(request_id, ask_line(request_id, conversation)) as inbox:
                while (message := await self._next(worker, inbox)) is not None:
                    for part in _parts(message):
                        delivered = True
                        yield part
                    if isinstance(message, Answered):
                        return
            if delivered or last_try or self._closed:
                raise await self._death(worker)

    async def models(self) -> tuple[ModelFacts, ...]:
        """The models that the endpoint offers. Raises ModelError."""
        worker = await self._living()
        request_id = next(self._ids)
        with worker.request(request_id, line(List(request_id))) as inbox:
            while (message := await self._next(worker, inbox)) is not None:
                if isinstance(message, Listed):
                    return message.models
                _parts(message)
        raise await self._death(worker)

    async def aclose(self) -> None:
        """End the process, within a second."""
        self._closed = True
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()

    async def _living(self) -> WorkerProcess:
        if self._closed:
            raise ModelError("the model is closed", code=ErrorCode.CANCELLED)
        if self._worker is not None and self._worker.dead.is_set():
            await self._worker.how_it_ended()
        self.start()
        assert self._worker is not None
        await self._worker.attach()
        return self._worker

    async def _next(self, worker: WorkerProcess, inbox: Inbox) -> FromWorker | None:
        try:
            return await worker.next_message(inbox)
        except TimeoutError:
            worker.kill()
            message = "the provider's process hangs and was ended; the next request starts another"
            raise ModelError(message, hint=f"Its log is {self.log}") from None

    async def _death(self, worker: WorkerProcess) -> ModelError:
        if self._closed:
            return ModelError("the model was closed", code=ErrorCode.CANCELLED)
        how, hint = await worker.how_it_ended(), f"Its log is {self.log}"
        if worker.ready:
            return ModelError(f"the provider's process ended ({how}); the next request starts another", hint=hint)
        return ModelError(f"the provider's process does not start ({how})", hint=hint, code=ErrorCode.INTERNAL)


def _parts(message: FromWorker) -> tuple[Part, ...]:
    """The part that a message carries, if any.

    Raises:
        ModelError: the request failed.
    """
    match message:
        case Streamed(call_id=call_id) if call_id:
            return (CallPart(call_id, message.name, message.arguments),)
        case Streamed(reasoning=reasoning) if reasoning:
            return (ReasoningPart(reasoning),)
        case Streamed(text=text):
            return (TextPart(text),)
        case Answered():
            return (Reply(message.message, message.usage, message.notes),)
        case Failed():
            raise ModelError(message.message, hint=message.hint, code=message.code, retry_after_s=message.retry_after_s)
        case Ready() | Beat() | Window() | Listed() | Stopped():
            return ()


_: type[Model] = WorkerModel
