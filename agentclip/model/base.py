"""The Protocol every provider meets, and the parts a reply streams as."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from agentclip.messages import AssistantMessage, Conversation, Usage


@dataclass(frozen=True, slots=True)
class TextPart:
    """More text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """More reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPart:
    """A tool call began or its arguments grew; for the screen only, the whole call comes in the Reply."""

    id: str
    name: str
    arguments: str
    """The new fragment."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The last part: the whole message. Tool calls are as the model wrote them, broken ones included."""

    message: AssistantMessage
    usage: Usage | None = None
    notes: tuple[str, ...] = ()
    """One line each for the person: what was sent or came otherwise than asked (cut by the output limit, pictures left out)."""


Part = TextPart | ReasoningPart | CallPart | Reply


class Model(Protocol):
    """A provider with a model chosen. Holds no history."""

    @property
    def name(self) -> str:
        """As shown in the status line, `gpt-x` or `replay:demo`."""

    def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        """Stream one reply, a Reply last. Closing the generator (`contextlib.aclosing`) ends the request at once.

        Raises:
            ModelError: refused, failed, cut in the middle; nothing of a cut tool call is ever delivered.
        """

    async def aclose(self) -> None:
        """End connections and processes."""
