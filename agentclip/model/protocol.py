"""What the two ends of the provider's process say to each other: JSON lines on private pipes.

    us -> worker    Configure (first, once), then Ask, List and Cancel in any order
    worker -> us    Ready (once), then for each Ask: Streamed*, and one of Answered | Failed | Stopped; for each List:
                    Listed | Failed | Stopped; Beat while it works; Window when the model's context window became known

Values only. The key travels in `Configure` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from agentclip.errors import ErrorCode
from agentclip.messages import AssistantMessage, Conversation, Message, ToolMessage, ToolSpec, Usage, UserMessage
from agentclip.model.base import ModelFacts
from agentclip.model.providers import Route


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float
    """Of input tokens that were read from the provider's cache."""


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """How one endpoint is reached."""

    model: str
    """The name as the endpoint knows it."""
    api_base: str
    """Up to and without `/chat/completions`."""
    key: str = field(default="", repr=False)
    """Empty for endpoints without one."""
    key_variable: str = ""
    """Where the key comes from or should come from; named in errors. Empty when the endpoint needs none."""
    stall_timeout_s: float = 120.0
    """The endpoint may be silent this long before or within an answer."""
    connect_timeout_s: float = 10.0
    images: bool = True
    """False when the model is known to take text only."""
    stream: bool = True
    route: Route = Route.DIRECT
    litellm_provider: str = ""
    """What litellm calls the provider; empty for the direct route."""
    well_known: bool = True
    """The address is the provider's own: what is known of its models by name holds. False for any other `--api-base`."""
    known_as: str = ""
    """The model's name in tables, `deepseek/deepseek-chat`; empty for none."""
    key_file: str = ""
    """The worker reads the key from there; empty for none."""
    text_protocol: bool = False
    """The model has no tool calling: it writes a fenced block instead."""
    context_window: int | None = None
    """As configured; None to find it out."""
    prices: Prices | None = None
    """As configured; None when unknown."""

    @property
    def where(self) -> str:
        """The endpoint, for a person."""
        return self.api_base or self.litellm_provider


class Configure(msgspec.Struct, tag="configure", frozen=True):
    """The settings of the worker."""

    provider: ProviderSettings
    beat_s: float
    """With requests open it says Beat this often: its loop is alive, however long the endpoint thinks."""


class Envelope(msgspec.Struct, omit_defaults=True, frozen=True):
    """A message of a conversation; exactly one field is set."""

    user: UserMessage | None = None
    assistant: AssistantMessage | None = None
    tool: ToolMessage | None = None


class Ask(msgspec.Struct, tag="ask", frozen=True):
    """A request for one reply."""

    id: int
    system: str
    messages: tuple[Envelope, ...]
    tools: tuple[ToolSpec, ...]

    @property
    def conversation(self) -> Conversation:
        """The conversation that was packed."""
        return Conversation(self.system, tuple(_unpack(self.messages)), self.tools)


class List(msgspec.Struct, tag="list", frozen=True):
    """A request for the models of the endpoint."""

    id: int


class Cancel(msgspec.Struct, tag="cancel", frozen=True):
    """End a request at once; answered by Stopped (or what was already on its way)."""

    id: int


class Ready(msgspec.Struct, tag="ready", frozen=True):
    """Imports are done, the key was read."""


class Beat(msgspec.Struct, tag="beat", frozen=True):
    """The worker's loop is alive."""


class Streamed(msgspec.Struct, tag="part", omit_defaults=True, frozen=True):
    """A part: one of text, reasoning, or a fragment of a call."""

    id: int
    text: str = ""
    reasoning: str = ""
    call_id: str = ""
    name: str = ""
    arguments: str = ""


class Answered(msgspec.Struct, tag="answered", omit_defaults=True, frozen=True):
    """The whole reply."""

    id: int
    message: AssistantMessage
    usage: Usage | None = None
    notes: tuple[str, ...] = ()


class Listed(msgspec.Struct, tag="listed", frozen=True):
    """The models of the endpoint."""

    id: int
    models: tuple[ModelFacts, ...]


class Window(msgspec.Struct, tag="window", frozen=True):
    """The model's context window became known."""

    tokens: int


class Failed(msgspec.Struct, tag="failed", omit_defaults=True, frozen=True):
    """The fields of a ModelError."""

    id: int
    code: ErrorCode
    message: str
    hint: str = ""
    retry_after_s: float | None = None


class Stopped(msgspec.Struct, tag="stopped", frozen=True):
    """A cancelled request has closed its socket."""

    id: int


ToWorker = Configure | Ask | List | Cancel
FromWorker = Ready | Beat | Window | Streamed | Answered | Listed | Failed | Stopped


def pack_ask(request_id: int, conversation: Conversation) -> Ask:
    """A request that holds the conversation."""
    envelopes = tuple(_pack(message) for message in conversation.messages)
    return Ask(request_id, conversation.system, envelopes, conversation.tools)


def _pack(message: Message) -> Envelope:
    match message:
        case UserMessage():
            return Envelope(user=message)
        case AssistantMessage():
            return Envelope(assistant=message)
        case ToolMessage():
            return Envelope(tool=message)


def _unpack(envelopes: Iterable[Envelope]) -> Iterable[Message]:
    for envelope in envelopes:
        message = envelope.user or envelope.assistant or envelope.tool
        if message is not None:
            yield message


def line(message: ToWorker | FromWorker) -> bytes:
    """A message as one line. Raises UnicodeEncodeError for text with lone surrogates."""
    return msgspec.json.encode(message) + b"\n"


read_to_worker = msgspec.json.Decoder(ToWorker).decode
read_from_worker = msgspec.json.Decoder(FromWorker).decode
