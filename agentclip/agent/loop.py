"""The loop: prompts, `!` lines and cancels come in, events go out in order. It never knows who listens.

A step: the history is checked, the model streams a reply, each of its calls is run or answered. Everything is stored the
moment it is known, so that whatever ends the process, the log says how far it came.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TypeVar

from agentclip.agent.asking import CANCELLED, Asking, answered, broken, failed
from agentclip.agent.budget import Budget
from agentclip.agent.context import NOT_RUN
from agentclip.agent.journal import Journal
from agentclip.agent.judge import Judge
from agentclip.agent.loop_guard import LoopGuard, Suspicion
from agentclip.agent.options import AgentOptions
from agentclip.agent.past import Past
from agentclip.agent.prompt import Instructions
from agentclip.agent.reply import MAX_ADVICE, NOTHING, fault_of, total
from agentclip.agent.resume import INTERRUPTED
from agentclip.agent.runs import Runs
from agentclip.agent.snapshot.compaction import Compaction
from agentclip.agent.snapshot.facts import FactBook
from agentclip.agent.snapshot.recorded import Surroundings
from agentclip.agent.succession import Succession
from agentclip.agent.tokens import weigh_frame
from agentclip.agent.tool import Refusal, WantedRun, fault_of_line, read_call
from agentclip.agent.waiting import COMPRESS, Kind, Queue, Waiting
from agentclip.errors import AgentclipError, CommandError, SessionError, one_line
from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    Event,
    Notice,
    Recorded,
    Severity,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.messages import AssistantMessage, Conversation, ToolCall, ToolMessage, Usage, UserMessage
from agentclip.model.base import Model
from agentclip.model.wire import clean
from agentclip.shell.execute import Executor, RunHandle
from agentclip.store.session import Session

_T = TypeVar("_T")

_logger = logging.getLogger(__name__)


class Agent:
    """One session at work: a queue of prompts, one turn at a time, everything told as events.

    All methods are called on the thread of its event loop.
    """

    def __init__(
        self, *, model: Model, executor: Executor, session: Session, instructions: Instructions, options: AgentOptions
    ) -> None:
        self._model = model
        self._session = session
        self._options = options
        self._queue = Queue()
        frame = weigh_frame(Conversation(instructions.system, (), (instructions.tool,)))
        self._past = Past(session.events, session.id, str(session.cmd_output), frame=frame)
        self._budget = Budget(options)
        self._guard = LoopGuard(options.loop_detection)
        self._journal = Journal(session, self._past, self._guard, options.limits)
        self._runs = Runs(executor, options.limits, self._journal.record, self._journal.tell)
        self._judge = Judge(model, model, self._spent_aside)
        self._compaction = Compaction(
            model=model,
            past=self._past,
            book=FactBook(session.events, session.meta.cwd),
            journal=self._journal,
            surroundings=self._surroundings,
            max_tokens=options.snapshot_max_tokens,
            spent=self._spent,
        )
        self._asking = self._make_asking(instructions)
        self._succession = Succession()
        self._running = self._stopping = self._closed = False
        self._waiting_on: asyncio.Task[object] | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        session.use_model(model.name)
        self._journal.take_up()

    def _make_asking(self, instructions: Instructions) -> Asking:
        return Asking(
            model=self._model,
            past=self._past,
            instructions=instructions,
            options=self._options,
            compaction=self._compaction,
            journal=self._journal,
            interruptible=self._interruptible,
            spent=self._spent,
            watched=lambda: self._guard.enabled,
        )

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
        return self._queue.texts()

    @property
    def active(self) -> RunHandle | None:
        """The run that is going on, or None."""
        return self._runs.active

    @property
    def usage(self) -> Usage:
        """What the provider reported over the session; the cost is None as soon as one whole reply's cost is unknown."""
        return total(self._past.tally.usage, self._journal.aside or NOTHING)

    async def count_usage(self) -> None:
        """Read the whole session, on a thread, so that `usage` holds up nobody."""
        await asyncio.to_thread(lambda: self.usage)

    @property
    def context_window(self) -> int | None:
        """Tokens that a request may have; None while nobody told."""
        return self._model.context_window

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event from now on, in order, on the loop's thread; events that are not stored too."""
        self._journal.subscribe(listener)

    def history(self) -> Sequence[Recorded]:
        """All stored events so far, oldest first. Grows; never changes what it holds."""
        return self._session.events

    def submit(self, text: str) -> None:
        """Start a turn when idle, else queue: folded in before the next step. A blank text is ignored."""
        self._enqueue(Waiting(clean(text)))

    def shell(self, line: str) -> None:
        """Run a line of the person through both layers, without the model, as soon as nothing else runs."""
        self._enqueue(Waiting(line, Kind.SHELL))

    def compress(self) -> None:
        """Make a snapshot of the older part of the conversation once nothing else runs; a notice says what came of it."""
        self._enqueue(Waiting(COMPRESS, Kind.COMPRESS))

    def snapshot_text(self) -> str:
        """The snapshot that the model reads now; empty when there is none."""
        self._past.take_up()
        return "" if self._past.taken is None else self._past.taken.text

    @property
    def loop_detection(self) -> bool:
        """Whether a model that repeats itself is warned and then stopped; may be switched for the session."""
        return self._guard.enabled

    @loop_detection.setter
    def loop_detection(self, enabled: bool) -> None:
        self._guard.enabled = enabled

    def use_light_model(self, model: Model) -> None:
        """Let this model judge progress; the main one keeps the second opinion. The caller closes it."""
        self._judge.light = model

    def use_model(self, model: Model) -> Awaitable[Model]:
        """Let this model answer as soon as nothing runs; what comes back is the one that is no longer needed, to be closed."""
        freed = self._succession.name(model)
        if not self._running:
            self._succeed()
        return freed

    def unqueue(self) -> str | None:
        """Take back the newest waiting entry, to edit it; None when nothing waits."""
        return self._queue.take_back()

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
                entry = self._queue.take()
                await self._guarded(self._work(entry))
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

    async def _guarded(self, work: Coroutine[None, None, TurnFinished | None]) -> TurnFinished | None:
        """Do a turn or a `!` line; however it ends, the history is whole and the next one can begin."""
        self._running, self._stopping = True, False
        self._idle.clear()
        end = INTERRUPTED
        try:
            return await work
        except AgentclipError as error:
            end = failed(error)
            return end
        except Exception as error:
            # The boundary of the loop: a bug of ours ends the turn, not the session.
            _logger.exception("a turn failed")
            end = broken(error)
            return end
        finally:
            self._journal.make_whole(end)
            self._running = self._stopping = False
            self._succeed()
            self._idle.set()

    def _work(self, entry: Waiting) -> Coroutine[None, None, TurnFinished | None]:
        match entry.kind:
            case Kind.PROMPT:
                return self._turn(entry.text)
            case Kind.SHELL:
                return self._shell_line(entry.text)
            case Kind.COMPRESS:
                return self._compress()

    async def _turn(self, text: str) -> TurnFinished:
        start = TurnStarted(UserMessage(text))
        try:
            self._journal.record(start)
        except SessionError as error:
            self._journal.tell(start)
            self._journal.tell(end := failed(error))
            return end
        self._budget = Budget(self._options)
        self._compaction.begin_turn()
        self._guard.begin_turn()
        with self._budget.clock(self.cancel, lambda: self._stopping):
            async with self._judge.turn():
                steps = await self._steps()
            end = self._budget.after_cancel(steps)
        self._journal.record(end)
        return end

    async def _steps(self) -> TurnFinished:
        advice = 0
        while (end := self._budget.end()) is None:
            self._fold()
            if not await self._asking.ready():
                return CANCELLED
            self._budget.steps += 1
            self._look_at_progress()
            replied = await self._asking.reply()
            if isinstance(replied, TurnFinished):
                return replied
            suspicion = replied if isinstance(replied, Suspicion) else None
            reply = replied.message if isinstance(replied, AssistantReplied) else AssistantMessage("")
            for call in reply.tool_calls:
                await self._answer(call)
            if self._stopping:
                return CANCELLED
            if reply.tool_calls or suspicion:
                verdict = self._guard.verdict(suspicion or self._judge.result())
                if isinstance(verdict, TurnFinished):
                    return verdict
                if verdict is not None:
                    self._journal.record(verdict)
                continue
            fault = fault_of(reply)
            if fault is None or advice >= MAX_ADVICE:
                return answered(reply, fault)
            advice += 1
            self._journal.record(Advised(UserMessage(fault.advice), f"{fault.reason}: asked again ({advice} of {MAX_ADVICE})"))
        return end

    def _fold(self) -> None:
        """Messages typed meanwhile join in, up to the first `!` line: the order of what the person typed stays."""
        for text in self._queue.prompts():
            self._journal.record(UserMessageFolded(UserMessage(text)))

    async def _answer(self, call: ToolCall) -> None:
        """Run a call, or say why not; either way it has its answer."""
        if self._stopping:
            self._journal.record(CallAnswered(ToolMessage(call.id, NOT_RUN), "not run: cancelled"))
            return
        wanted = read_call(call, self._options.max_timeout_s)
        if isinstance(wanted, Refusal):
            self._journal.record(CallAnswered(ToolMessage(call.id, wanted.text), wanted.reason))
            return
        try:
            await self._runs.run(wanted, wanted.timeout_s or self._options.timeout_s, call.id)
        except CommandError as error:
            text = f"{error.line('run')}\n[exit:{error.code.exit_status} | 0ms]"
            self._journal.record(CallAnswered(ToolMessage(call.id, text), one_line(error.message)))

    async def _shell_line(self, line: str) -> None:
        fault = fault_of_line(line)
        try:
            if fault is None:
                await self._runs.run(WantedRun(line), None, None)
        except AgentclipError as error:
            fault = str(error)
        if fault is not None:
            self._journal.tell(Notice(one_line(f"{clean(line)[:200]}: {fault}"), Severity.ERROR))

    async def _compress(self) -> None:
        if await self._asking.ready():
            await self._interruptible(self._compaction.compress())

    def _succeed(self) -> None:
        model = self._succession.take(self._model)
        if model is not None:
            self._model = self._asking.model = model
            self._judge.take_over(model)
            self._compaction.take_over(model)
            self._session.use_model(model.name)
            self._journal.tell(Notice(one_line(f"{model.name} answers from here on")))

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

    def _look_at_progress(self) -> None:
        if self._guard.enabled and self._options.judge_progress:
            prompts = "\n".join(e.message.text for e in self._past.current_prompts() if isinstance(e.message, UserMessage))
            self._judge.begin(self._budget.steps, prompts, self._past.messages)

    def _surroundings(self) -> Surroundings:
        return Surroundings(self._session.id, str(self._session.cmd_output), self._runs.open_jobs())

    def _spent(self, usage: Usage | None) -> None:
        self._budget.add(usage)

    def _spent_aside(self, usage: Usage | None) -> None:
        self._spent(usage)
        self._journal.spend(usage)

    def _enqueue(self, entry: Waiting) -> None:
        if entry.text.strip() and not self._closed:
            self._queue.add(entry)
            self._wake.set()


__all__ = ["Agent", "AgentOptions", "RunHandle"]
