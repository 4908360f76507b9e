"""One reply of the model, whatever the provider does: the past goes out as a conversation, a stored reply comes in.

It asks again when that can help, and shortens a conversation that is too long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Protocol, TypeVar

from msgspec import Struct, field

from agentclip.agent.context import check, with_sound_ids
from agentclip.agent.journal import Journal
from agentclip.agent.loop_guard import Suspicion, words_that_repeat
from agentclip.agent.options import AgentOptions
from agentclip.agent.past import Past
from agentclip.agent.prompt import Instructions
from agentclip.agent.reply import CUT_ADVICE, Fault, Streamed, receive, retry_wait_s
from agentclip.agent.snapshot.compaction import Compaction
from agentclip.errors import AgentclipError, ErrorCode, ModelError, one_line
from agentclip.events import Advised, AssistantReplied, Notice, RetryWaiting, Severity, TurnEnd, TurnFinished
from agentclip.messages import AssistantMessage, Conversation, Usage, UserMessage
from agentclip.model.base import Model, Reply

_T = TypeVar("_T")
CANCELLED = TurnFinished(TurnEnd.CANCELLED, "cancelled")
_STILL_TOO_LONG = (
    "Everything is kept. Ways out: say go on (the conversation was shortened as far as it could be), start a new session, "
    "drop the largest result from it with /compress, or choose a model with a larger context"
)
_logger = logging.getLogger(__name__)


class Interruptible(Protocol):
    """Awaits work; None when the person cancelled it."""

    async def __call__(self, work: Coroutine[None, None, _T], /) -> _T | None:
        """Await."""


class Asking(Struct):
    """Of one session."""

    model: Model
    past: Past
    instructions: Instructions
    options: AgentOptions
    compaction: Compaction
    journal: Journal
    interruptible: Interruptible
    spent: Callable[[Usage | None], None]
    """Takes what a reply used."""
    watched: Callable[[], bool]
    """Whether a reply that repeats itself is to be cut off."""
    _told_repairs: set[str] = field(default_factory=set)

    async def reply(self) -> AssistantReplied | Suspicion | TurnFinished:
        """One reply, stored unless it is empty; or what it repeats; or how the turn ends without one."""
        attempt = 0
        shortened = False
        while True:
            streamed = Streamed(watched=self.watched())
            outcome = await self.interruptible(self._asked(streamed))
            if isinstance(outcome, Reply):
                return self._accept(outcome)
            partial = streamed.message()
            if partial is not None:
                self.journal.record(AssistantReplied(partial, partial=True))
            if outcome is None or isinstance(outcome, Suspicion):
                return outcome or CANCELLED
            if outcome.code is ErrorCode.CONTEXT_TOO_LONG and partial is None:
                again = None if shortened else await self.interruptible(self.compaction.after_refusal())
                if not again:
                    return _too_long(outcome)
                shortened = True
                continue
            attempt += 1
            seconds = retry_wait_s(outcome, attempt, self.options.max_retry_wait_s)
            if seconds is None or attempt > self.options.max_retries:
                return failed(outcome)
            if partial is not None:
                self.journal.record(Advised(UserMessage(CUT_ADVICE), "the connection was lost: asked to go on"))
            self.journal.tell(RetryWaiting(seconds, attempt, one_line(outcome.message)))
            if await self.interruptible(_pause(seconds)) is None:
                return CANCELLED

    async def ready(self) -> bool:
        """Read what a saved session holds, and shorten what is too long. False when the person cancelled it."""
        return await self.interruptible(self._ready()) is not None

    async def _ready(self) -> bool:
        if not self.past.is_whole:
            await asyncio.to_thread(self.past.take_up)
        await self.compaction.keep_within()
        return True

    async def _asked(self, streamed: Streamed) -> Reply | ModelError | Suspicion:
        weight = self.past.prompt_weight()
        outcome = await receive(self.model, self.conversation(), self.journal.tell, streamed)
        if isinstance(outcome, Reply):
            self.past.count(weight, outcome.usage)
        return outcome

    def _accept(self, reply: Reply) -> AssistantReplied | Suspicion:
        message = with_sound_ids(reply.message, self.past.tally.call_ids)
        event = AssistantReplied(message, reply.usage)
        self.spent(reply.usage)
        if message.tool_calls or message.text.strip():
            self.journal.record(event)
        else:
            self.journal.spend(reply.usage)
        for note in reply.notes:
            self.journal.record(Notice(one_line(note), Severity.WARNING))
        if not message.tool_calls and self.watched():
            return words_that_repeat(message.text, "text") or words_that_repeat(message.reasoning, "reasoning") or event
        return event

    def conversation(self) -> Conversation:
        """All that the next request needs."""
        checked = check(self.past.messages)
        for repair in checked.repairs:
            if repair not in self._told_repairs:
                self._told_repairs.add(repair)
                _logger.warning("history repaired: %s", repair)
                self.journal.record(Notice(f"history repaired: {repair}", Severity.WARNING))
        return Conversation(self.instructions.system, checked.messages, (self.instructions.tool,))


async def _pause(seconds: float) -> bool:
    await asyncio.sleep(seconds)
    return True


def failed(error: AgentclipError) -> TurnFinished:
    """The end of a turn that could not go on."""
    return TurnFinished(TurnEnd.FAILED, one_line(str(error)), error.code)


def _too_long(error: ModelError) -> TurnFinished:
    return failed(ModelError(error.message, hint=_STILL_TOO_LONG, code=error.code))


def answered(reply: AssistantMessage, fault: Fault | None) -> TurnFinished:
    """The end of a turn whose last reply calls nothing."""
    if reply.text.strip():
        return TurnFinished(TurnEnd.ANSWERED, fault.reason if fault else "")
    return TurnFinished(TurnEnd.FAILED, "the model answered with nothing", ErrorCode.SERVER_ERROR)


def broken(error: Exception) -> TurnFinished:
    """The end of a turn that met a bug of ours: the first cause inside the groups that tasks wrap around it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return TurnFinished(TurnEnd.FAILED, one_line(f"internal error: {error!r}"), ErrorCode.INTERNAL)
