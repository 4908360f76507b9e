"""Progress, judged by meaning: the newest messages go to a light model in parallel with the work; a suspicion may come out.

It costs at most one short request every few steps, and a second opinion before anything happens. Failures mean "no loop".
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct

from agentclip.agent.loop_guard import Suspicion
from agentclip.agent.prompt import prompt_text
from agentclip.agent.reply import Streamed, receive
from agentclip.agent.snapshot.document import defused
from agentclip.agent.snapshot.masking import middle_cut
from agentclip.errors import one_line
from agentclip.messages import AssistantMessage, Conversation, Message, ToolMessage, Usage, UserMessage
from agentclip.model.base import Model, Reply

FIRST_STEP = 15
SHORTEST, LONGEST = 5, 15
"""Steps between two looks: the surer of a loop, the sooner."""
SURE = 0.9
READ_MESSAGES = 20
TIMEOUT_S = 60.0
_CHARS = 1200
"""Of one message."""
_ANSWER = re.compile(r"\{[^{}]*\}")


class Judge(Struct):
    """Of one session; asked at the beginning of each step."""

    main: Model
    light: Model
    """The same model when no other is configured."""
    spent: Callable[[Usage | None], None]
    """Takes what a request used."""
    _next_step: int = FIRST_STEP
    _task: asyncio.Task[Suspicion | None] | None = None

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Watch during the block; what is still asked when it ends is given up."""
        self._next_step, self._task = FIRST_STEP, None
        try:
            yield
        finally:
            task, self._task = self._task, None
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    def take_over(self, model: Model) -> None:
        """Another model is the session's from now on; a light one of its own stays."""
        if self.light is self.main:
            self.light = model
        self.main = model

    def begin(self, step: int, request: str, messages: Sequence[Message]) -> None:
        """Start a look when one is due; returns at once."""
        if step >= self._next_step and self._task is None:
            self._next_step = step + LONGEST
            self._task = asyncio.create_task(self._look(step, _question(request, messages[-READ_MESSAGES:])))

    def result(self) -> Suspicion | None:
        """What the look found, once; None for nothing, or not yet."""
        if self._task is None or not self._task.done():
            return None
        task, self._task = self._task, None
        return None if task.cancelled() else task.result()

    async def _look(self, step: int, question: Conversation) -> Suspicion | None:
        confidence, _ = await self._ask(self.light, question)
        self._next_step = step + round(LONGEST - (LONGEST - SHORTEST) * confidence)
        if confidence < SURE:
            return None
        again, reason = await self._ask(self.main, question)
        return Suspicion(f"no progress: {one_line(reason)[:_CHARS]}") if again >= SURE else None

    async def _ask(self, model: Model, question: Conversation) -> tuple[float, str]:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                outcome = await receive(model, question, lambda _: None, Streamed())
        except TimeoutError:
            return 0.0, ""
        if not isinstance(outcome, Reply):
            return 0.0, ""
        self.spent(outcome.usage)
        return read_answer(outcome.message.text)


def read_answer(text: str) -> tuple[float, str]:
    """Confidence and reason; 0.0 for anything that is no answer."""
    for found in _ANSWER.finditer(text):
        try:
            value = json.loads(found[0])
        except (ValueError, RecursionError):
            continue
        confidence = value.get("loop")
        if isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= 1:
            return float(confidence), str(value.get("reason", ""))
    return 0.0, ""


def _question(request: str, messages: Sequence[Message]) -> Conversation:
    told = "\n".join(_told(message) for message in messages)
    text = f"<request>\n{_short(request)}\n</request>\n<messages>\n{told}\n</messages>\n\nYour one line of JSON:"
    return Conversation(prompt_text("progress.md"), (UserMessage(text),), ())


def _told(message: Message) -> str:
    match message:
        case UserMessage(text):
            return f"[person or agentclip] {_short(text)}"
        case AssistantMessage(text, calls):
            return "\n".join([f"[agent] {_short(text)}", *(f"[call] {_short(call.arguments)}" for call in calls)])
        case ToolMessage(text=text):
            return f"[result] {_short(text)}"


def _short(text: str) -> str:
    return defused(middle_cut(text, "", _CHARS // 2, _CHARS // 2))
