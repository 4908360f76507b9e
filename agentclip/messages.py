"""What the model reads and writes. Values only: no I/O, no identity, no storage."""

from __future__ import annotations

from msgspec import Struct


class Image(Struct, frozen=True):
    """A picture kept in a file of the session; its bytes are read when a request is built."""

    path: str
    """Absolute path of the stored bytes (already scaled)."""
    mime: str
    """By magic bytes: image/png, image/jpeg, image/gif or image/webp; never anything else."""
    source: str
    """The name the model or the person used for it."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""


class ToolCall(Struct, frozen=True):
    """One call the model asked for."""

    id: str
    """The provider's id; unique within the conversation."""
    name: str
    arguments: str
    """As the model wrote them: normally a JSON object, possibly broken."""


class Usage(Struct, frozen=True):
    """Tokens of one reply."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cost_usd: float | None = None
    """None when unknown, never 0 for unknown."""


class UserMessage(Struct, frozen=True):
    """What the person wrote."""

    text: str
    images: tuple[Image, ...] = ()


class AssistantMessage(Struct, frozen=True):
    """What the model answered. Never empty: has text or calls."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    """Shown to the person, never sent back."""


class ToolMessage(Struct, frozen=True):
    """The answer to one call."""

    tool_call_id: str
    text: str
    images: tuple[Image, ...] = ()


Message = UserMessage | AssistantMessage | ToolMessage


class ToolSpec(Struct, frozen=True):
    """A tool as the provider is told about it."""

    name: str
    description: str
    parameters: str
    """JSON Schema of the arguments, as JSON text."""


class Conversation(Struct, frozen=True):
    """All that one request needs."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
