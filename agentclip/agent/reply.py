"""One reply of a model: its parts come in, events and the whole reply go out; when to ask again, and how.

It holds no history and stores nothing.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from agentclip.agent.loop_guard import Suspicion, suspicion_of_unit
from agentclip.agent.repetition import Repetition, first_of
from agentclip.agent.tool import has_call_as_text
from agentclip.errors import ErrorCode, ModelError
from agentclip.events import Event, ReasoningDelta, TextDelta
from agentclip.messages import AssistantMessage, Conversation, Usage
from agentclip.model.base import CallPart, Model, ReasoningPart, Reply, TextPart
from agentclip.model.wire import clean

MAX_ADVICE = 2
"""How often in one turn the model is asked for a real call or a real answer."""
CUT_ADVICE = "[agentclip] The connection was lost in the middle of your message. No call in it was run. Go on from there."
CUT_MARK = "\n[... the same again and again: stopped by agentclip]"
_CALL_AS_TEXT_ADVICE = (
    "[agentclip] Your last message holds a tool call written as plain text, so nothing was run. "
    "Call the tool `run` itself, with the argument `command`; or answer without call markup."
)
_EMPTY_ADVICE = "[agentclip] Your last message was empty. Call the tool `run`, or answer."


class Fault(Struct, frozen=True):
    """Why a reply without calls is no answer."""

    advice: str
    """What the model is told."""
    reason: str
    """One line for the person."""


def fault_of(reply: AssistantMessage) -> Fault | None:
    """What is wrong with a reply that has no calls; None for an answer."""
    if not reply.text.strip():
        return Fault(_EMPTY_ADVICE, "the model answered with nothing")
    if has_call_as_text(reply.text):
        return Fault(_CALL_AS_TEXT_ADVICE, "the model wrote a call as text, nothing was run")
    return None


class Streamed(Struct):
    """What came before the stream ended, was cut or cancelled."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    began: bool = False
    """Anything at all came."""
    watched: bool = False
    """A reply that repeats itself is cut off."""
    _text_watch: Repetition = field(default_factory=Repetition)
    _reasoning_watch: Repetition = field(default_factory=Repetition)

    def add_text(self, text: str) -> Suspicion | None:
        """Take more; what repeats at the end, when it is watched."""
        self.text.append(text)
        unit = self._text_watch.feed(text) if self.watched else None
        if unit is None:
            return None
        self.text[:] = [first_of("".join(self.text), unit), CUT_MARK]
        return suspicion_of_unit(unit, "text")

    def add_reasoning(self, text: str) -> Suspicion | None:
        """As `add_text`."""
        self.reasoning.append(text)
        unit = self._reasoning_watch.feed(text) if self.watched else None
        if unit is None:
            return None
        self.reasoning[:] = [first_of("".join(self.reasoning), unit), CUT_MARK]
        return suspicion_of_unit(unit, "reasoning")

    def message(self) -> AssistantMessage | None:
        """The text as a message; None when there is none. Calls that were begun are dropped."""
        text = "".join(self.text)
        return AssistantMessage(text, (), "".join(self.reasoning)) if text.strip() else None


async def receive(
    model: Model, conversation: Conversation, tell: Callable[[Event], None], streamed: Streamed
) -> Reply | ModelError | Suspicion:
    """Stream one reply, filling `streamed` on the way. A failure of the provider is returned, not raised.

    A watched reply that repeats itself is ended, and what repeats is returned.
    """
    try:
        async with contextlib.aclosing(model.reply(conversation)) as parts:
            async for part in parts:
                streamed.began = True
                found = None
                match part:
                    case TextPart(text):
                        tell(TextDelta(clean(text)))
                        found = streamed.add_text(clean(text))
                    case ReasoningPart(text):
                        tell(ReasoningDelta(clean(text)))
                        found = streamed.add_reasoning(clean(text))
                    case CallPart():
                        pass
                    case Reply():
                        return part
                if found is not None:
                    return found
    except ModelError as error:
        return error
    return ModelError("connection lost in the middle of the answer", hint="Send it again", code=ErrorCode.NETWORK)


def retry_wait_s(error: ModelError, attempt: int, max_wait_s: float) -> float | None:
    """Seconds before the next attempt (`attempt` have been made); None when trying again is no use."""
    if not error.retryable:
        return None
    asked = error.retry_after_s
    if asked is None or not math.isfinite(asked) or asked < 0:
        return float(min(2 ** (attempt - 1), max_wait_s))
    return asked if asked <= max_wait_s else None


NOTHING = Usage(0, 0, 0, 0.0)
"""Used by nobody."""


def total(sum_so_far: Usage, usage: Usage | None) -> Usage:
    """Add a reply's usage; what is unknown makes the cost unknown."""
    if usage is None:
        return replace(sum_so_far, cost_usd=None)
    known = sum_so_far.cost_usd is not None and usage.cost_usd is not None
    return Usage(
        sum_so_far.input_tokens + usage.input_tokens,
        sum_so_far.output_tokens + usage.output_tokens,
        sum_so_far.cached_tokens + usage.cached_tokens,
        (sum_so_far.cost_usd or 0.0) + (usage.cost_usd or 0.0) if known else None,
    )
