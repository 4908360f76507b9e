"""The Protocol every provider meets, and the parts a reply streams as."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from msgspec import Struct

from agentclip.messages import AssistantMessage, Conversation, Usage


class TextPart(Struct, frozen=True):
    """More text."""

    text: str


class ReasoningPart(Struct, frozen=True):
    """More reasoning."""

    text: str


class CallPart(Struct, frozen=True):
    """A tool call began or its arguments grew; for the screen only, the whole call comes in the Reply."""

    id: str
    name: str
    arguments: str
    """The new fragment."""


class Reply(Struct, frozen=True):
    """The last part: the whole message. Tool calls are as the model wrote them, broken ones included."""

    message: AssistantMessage
    usage: Usage | None = None
    notes: tuple[str, ...] = ()
    """One line each for the person: what was sent or came otherwise than asked (cut by the output limit, pictures left out)."""


class ModelFacts(Struct, frozen=True):
    """What a provider tells of one of its models."""

    name: str
    """As the endpoint knows it."""
    context_window: int | None = None
    """Tokens that a request may have; None when it is not told."""
    images: bool | None = None
    """Whether it takes pictures; None when it is not told."""


Part = TextPart | ReasoningPart | CallPart | Reply


class Model(Protocol):
    """A provider with a model chosen. Holds no history."""

    @property
    def name(self) -> str:
        """As shown in the status line, `gpt-x` or `replay:demo`."""

    @property
    def context_window(self) -> int | None:
        """Tokens that a request may have; None while nobody told. May become known after the first reply."""

    def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        """Stream one reply, a Reply last. Closing the generator (`contextlib.aclosing`) ends the request at once.

        Raises:
            ModelError: refused, failed, cut in the middle; nothing of a cut tool call is ever delivered.
        """

    async def aclose(self) -> None:
        """End connections and processes."""


class Endpoint(Protocol):
    """A route to a provider inside its process, for one model."""

    @property
    def context_window(self) -> int | None:
        """As far as it is known without asking anybody."""

    def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        """Stream one reply. Raises ModelError."""

    async def models(self) -> tuple[ModelFacts, ...]:
        """What the endpoint offers. Raises ModelError."""

    async def aclose(self) -> None:
        """Close the connections."""
