"""The loop: prompts, `!` lines and cancels come in, events go out in order. It never knows who listens.

A step: the history is checked, the model streams a reply, each of its calls is run or answered. Everything is stored the
moment it is known, so that whatever ends the process, the log says how far it came.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TypeVar

from agentclip.agent.budget import Budget
from agentclip.agent.context import NOT_RUN, check, with_sound_ids
from agentclip.agent.options import AgentOptions
from agentclip.agent.past import Past
from agentclip.agent.prompt import Instructions
from agentclip.agent.reply import CUT_ADVICE, MAX_ADVICE, Fault, Streamed, fault_of, receive, retry_wait_s
from agentclip.agent.resume import INTERRUPTED, missing_events
from agentclip.agent.runs import Runs
from agentclip.agent.tool import Refusal, WantedRun, fault_of_line, read_call
from agentclip.errors import AgentclipError, CommandError, ErrorCode, ModelError, SessionError, one_line
from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    Event,
    Notice,
    Recorded,
    RetryWaiting,
    Severity,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.messages import AssistantMessage, Conversation, ToolCall, ToolMessage, Usage, UserMessage
from agentclip.model.base import Model, Reply
from agentclip.model.wire import clean
from agentclip.shell.execute import Executor, RunHandle
from agentclip.store.session import Session

_T = TypeVar("_T")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An entry of the queue."""

    text: str
    is_shell: bool = False


class Agent:
    """One session at work: a queue of prompts, one turn at a time, everything told as events.

    All methods are called on the thread of its event loop.
    """

    def __init__(
        self, *, model: Model, executor: Executor, session: Session, instructions: Instructions, options: AgentOptions
    ) -> None:
        self._model = model
        self._session = session
        self._instructions = instructions
        self._options = options
        self._runs = Runs(executor, options.limits, self._record, self._tell)
        self._listeners: list[Callable[[Event], None]] = []
        self._queue: deque[_Waiting] = deque()
        self._past = Past(session.events)
        self._told_repairs: set[str] = set()
        self._budget = Budget(options)
        self._running = self._stopping = self._closed = False
        self._waiting_on: asyncio.Task[object] | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._take_up()

    @property
    def model_name(self) -> str:
        """As shown in the status line."""
        return self._model.name

    @property
    def session_id(self) -> str:
        """What `--resume` takes."""
        return self._session.id

    @property
    def title(self) -> str:
        """The session's title: the first line of its first prompt unless renamed; empty before that."""
        return self._session.meta.title

    @property
    def running(self) -> bool:
        """A turn or a `!` line is being worked on."""
        return self._running

    @property
    def stopping(self) -> bool:
        """Cancelled, but something still winds down; `submit` already takes the next prompt."""
        return self._stopping

    @property
    def queue(self) -> tuple[str, ...]:
        """What waits, oldest first; `!` lines with their mark."""
        return tuple(_shown(entry) for entry in self._queue)

    @property
    def active(self) -> RunHandle | None:
        """The run that is going on, or None."""
        return self._runs.active

    @property
    def usage(self) -> Usage:
        """What the provider reported over the session; the cost is None as soon as one whole reply's cost is unknown."""
        self._past.take_up()
        return self._past.usage

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event from now on, in order, on the loop's thread; events that are not stored too."""
        self._listeners.append(listener)

    def history(self) -> Sequence[Recorded]:
        """All stored events so far, oldest first. Grows; never changes what it holds."""
        return self._session.events

    def submit(self, text: str) -> None:
        """Start a turn when idle, else queue: folded in before the next step. A blank text is ignored."""
        self._enqueue(_Waiting(clean(text)))

    def shell(self, line: str) -> None:
        """Run a line of the person through both layers, without the model, as soon as nothing else runs."""
        self._enqueue(_Waiting(line, is_shell=True))

    def unqueue(self) -> str | None:
        """Take back the newest waiting entry, to edit it; None when nothing waits."""
        return _shown(self._queue.pop()) if self._queue else None

    def cancel(self) -> None:
        """Stop the turn, keeping what is finished; again while stopping: KILL now. Nothing happens when idle."""
        if not self._running:
            return
        if self._waiting_on is not None:
            self._waiting_on.cancel()
        if self._runs.active is not None:
            (self._runs.active.kill if self._stopping else self._runs.active.cancel)()
        self._stopping = True

    async def serve(self) -> None:
        """Work off what is submitted until `close`."""
        while not self._closed:
            if self._queue:
                entry = self._queue.popleft()
                await self._guarded(self._shell_line(entry.text) if entry.is_shell else self._turn(entry.text))
            else:
                self._wake.clear()
                await self._wake.wait()

    async def turn(self, text: str) -> TurnFinished:
        """Do one whole turn, without `serve`."""
        assert not self._running, "one turn at a time"
        end = await self._guarded(self._turn(clean(text)))
        assert end is not None
        return end

    async def close(self) -> None:
        """Stop what runs, keep what is finished, end `serve`. Session, model and executor stay open: they are the caller's."""
        self._closed = True
        self._queue.clear()
        self.cancel()
        self._wake.set()
        await self._idle.wait()

    # --- a turn ------------------------------------------------------------------------------------------------------

    async def _guarded(self, work: Coroutine[None, None, TurnFinished | None]) -> TurnFinished | None:
        """Do a turn or a `!` line; however it ends, the history is whole and the next one can begin."""
        self._running, self._stopping = True, False
        self._idle.clear()
        end = INTERRUPTED
        try:
            return await work
        except AgentclipError as error:
            end = _failed(error)
            return end
        except Exception as error:
            # The boundary of the loop: a bug of ours ends the turn, not the session.
            _logger.exception("a turn failed")
            end = TurnFinished(TurnEnd.FAILED, one_line(f"internal error: {_innermost(error)!r}"), ErrorCode.INTERNAL)
            return end
        finally:
            self._make_whole(end)
            self._running = self._stopping = False
            self._idle.set()

    async def _turn(self, text: str) -> TurnFinished:
        start = TurnStarted(UserMessage(text))
        try:
            self._record(start)
        except SessionError as error:
            self._tell(start)
            self._tell(end := _failed(error))
            return end
        self._budget = Budget(self._options)
        with self._budget.clock(self.cancel):
            end = self._budget.after_cancel(await self._steps())
        self._record(end)
        return end

    async def _steps(self) -> TurnFinished:
        advice = 0
        while (end := self._budget.end()) is None:
            self._fold()
            self._budget.steps += 1
            reply = await self._reply()
            if isinstance(reply, TurnFinished):
                return reply
            for call in reply.tool_calls:
                await self._answer(call)
            if self._stopping:
                return TurnFinished(TurnEnd.CANCELLED, "cancelled")
            if reply.tool_calls:
                continue
            fault = fault_of(reply)
            if fault is None or advice >= MAX_ADVICE:
                return _answered(reply, fault)
            advice += 1
            self._record(Advised(UserMessage(fault.advice), f"{fault.reason}: asked again ({advice} of {MAX_ADVICE})"))
        return end

    def _fold(self) -> None:
        """Messages typed meanwhile join in, up to the first `!` line: the order of what the person typed stays."""
        while self._queue and not self._queue[0].is_shell:
            self._record(UserMessageFolded(UserMessage(self._queue.popleft().text)))

    async def _reply(self) -> AssistantMessage | TurnFinished:
        """One reply, asked for again when that can help; stored unless it is empty."""
        attempt = 0
        while True:
            streamed = Streamed()
            outcome = await self._interruptible(self._asked(streamed))
            if isinstance(outcome, Reply):
                return self._accept(outcome)
            partial = streamed.message()
            if partial is not None:
                self._record(AssistantReplied(partial, partial=True))
            if outcome is None:
                return TurnFinished(TurnEnd.CANCELLED, "cancelled")
            attempt += 1
            seconds = retry_wait_s(outcome, attempt, self._options.max_retry_wait_s)
            if seconds is None or attempt > self._options.max_retries:
                return _failed(outcome)
            if partial is not None:
                self._record(Advised(UserMessage(CUT_ADVICE), "the connection was lost: asked to go on"))
            self._tell(RetryWaiting(seconds, attempt, one_line(outcome.message)))
            if await self._interruptible(_pause(seconds)) is None:
                return TurnFinished(TurnEnd.CANCELLED, "cancelled")

    def _accept(self, reply: Reply) -> AssistantMessage:
        message = with_sound_ids(reply.message, self._past.call_ids)
        self._budget.add(reply.usage)
        if message.tool_calls or message.text.strip():
            self._record(AssistantReplied(message, reply.usage))
        for note in reply.notes:
            self._record(Notice(one_line(note), Severity.WARNING))
        return message

    async def _answer(self, call: ToolCall) -> None:
        """Run a call, or say why not; either way it has its answer."""
        if self._stopping:
            self._record(CallAnswered(ToolMessage(call.id, NOT_RUN), "not run: cancelled"))
            return
        wanted = read_call(call, self._options.max_timeout_s)
        if isinstance(wanted, Refusal):
            self._record(CallAnswered(ToolMessage(call.id, wanted.text), wanted.reason))
            return
        try:
            await self._runs.run(wanted, wanted.timeout_s or self._options.timeout_s, call.id)
        except CommandError as error:
            text = f"{error.line('run')}\n[exit:{error.code.exit_status} | 0ms]"
            self._record(CallAnswered(ToolMessage(call.id, text), one_line(error.message)))

    async def _shell_line(self, line: str) -> None:
        fault = fault_of_line(line)
        try:
            if fault is None:
                await self._runs.run(WantedRun(line), None, None)
        except AgentclipError as error:
            fault = str(error)
        if fault is not None:
            self._tell(Notice(one_line(f"{clean(line)[:200]}: {fault}"), Severity.ERROR))

    # --- inside ------------------------------------------------------------------------------------------------------

    async def _interruptible(self, work: Coroutine[None, None, _T]) -> _T | None:
        """Await `work`; None when `cancel` ended it."""
        if self._stopping:
            work.close()
            return None
        try:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(work)
                self._waiting_on = task
        finally:
            self._waiting_on = None
        return None if task.cancelled() else task.result()

    async def _asked(self, streamed: Streamed) -> Reply | ModelError:
        if not self._past.is_whole:
            await asyncio.to_thread(self._past.take_up)
        return await receive(self._model, self._conversation(), self._tell, streamed)

    def _conversation(self) -> Conversation:
        checked = check(self._past.messages)
        for repair in checked.repairs:
            if repair not in self._told_repairs:
                self._told_repairs.add(repair)
                _logger.warning("history repaired: %s", repair)
                self._record(Notice(f"history repaired: {repair}", Severity.WARNING))
        return Conversation(self._instructions.system, checked.messages, (self._instructions.tool,))

    def _enqueue(self, entry: _Waiting) -> None:
        if entry.text.strip() and not self._closed:
            self._queue.append(entry)
            self._wake.set()

    def _record(self, event: Event) -> None:
        """Store an event, then tell it. A notice is not worth a session of its own."""
        if self._session.begun or not isinstance(event, Notice):
            self._past.add(self._session.append(event))
        self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    def _take_up(self) -> None:
        """Continue a saved session: its messages, what was cut off when it died, and what was repaired on disk."""
        self._session.use_model(self._model.name)
        self._make_whole(INTERRUPTED)
        if self._session.notices:
            said = {r.event.text for r in self._session.events.of(Notice) if isinstance(r.event, Notice)}
            for text in self._session.notices:
                if text not in said:
                    with contextlib.suppress(AgentclipError):
                        self._record(Notice(text, Severity.WARNING))

    def _make_whole(self, end: TurnFinished) -> None:
        """Store the answers and the end that are missing. Not async, so that no cancel can skip it."""
        for event in tuple(missing_events(self._session.events, self._options.limits, end)):
            try:
                self._record(event)
            except SessionError as error:
                _logger.warning("an end was not stored: %s", error)
                self._tell(event)


async def _pause(seconds: float) -> bool:
    await asyncio.sleep(seconds)
    return True


def _shown(entry: _Waiting) -> str:
    return f"!{entry.text}" if entry.is_shell else entry.text


def _answered(reply: AssistantMessage, fault: Fault | None) -> TurnFinished:
    if reply.text.strip():
        return TurnFinished(TurnEnd.ANSWERED, fault.reason if fault else "")
    return TurnFinished(TurnEnd.FAILED, "the model answered with nothing", ErrorCode.SERVER_ERROR)


def _innermost(error: Exception) -> Exception:
    """The first cause inside the groups that tasks wrap around it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _failed(error: AgentclipError) -> TurnFinished:
    return TurnFinished(TurnEnd.FAILED, one_line(str(error)), error.code)


__all__ = ["Agent", "AgentOptions", "RunHandle"]
