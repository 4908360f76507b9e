"""A conversation as the body of a chat completions request. Pure: it reads no file, opens no connection.

In comes a `Conversation` whatever it holds, out go values that every strict endpoint takes: strict UTF-8 without NUL or
lone surrogates, arguments that are a JSON object, function names the API accepts, pictures whose bytes have their type.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agentclip.messages import AssistantMessage, Conversation, Image, Message, ToolCall, ToolMessage, ToolSpec, UserMessage

MAX_IMAGE_BYTES = 5 * 1024 * 1024
MAX_HINT_CHARS = 200
"""How much of broken arguments is sent back to the model."""
EMPTY = "[empty]"
PICTURES = "Pictures attached by the commands above:"
FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")

ReadImage = Callable[[str, int], bytes]
"""`read(path, limit)` returns at most `limit` bytes of a file. Raises OSError."""


class BodyOptions(Struct, frozen=True):
    """What a request asks for besides the conversation."""

    model: str
    """The name as the endpoint knows it."""
    stream: bool = True
    include_usage: bool = True
    """Ask for usage at the end of a stream; some servers refuse the field."""
    images: bool = True
    """False replaces every picture by a note: the model is text only."""


def clean(text: str) -> str:
    """Join surrogate pairs, and replace NUL and lone surrogates by U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


def clean_conversation(conversation: Conversation) -> Conversation:
    """The same conversation with every text cleaned."""
    return Conversation(
        system=clean(conversation.system),
        messages=tuple(_clean_message(message) for message in conversation.messages),
        tools=tuple(ToolSpec(clean(t.name), clean(t.description), clean(t.parameters)) for t in conversation.tools),
    )


def _clean_message(message: Message) -> Message:
    match message:
        case UserMessage(text, images):
            return UserMessage(clean(text), _clean_images(images))
        case ToolMessage(call_id, text, images):
            return ToolMessage(clean(call_id), clean(text), _clean_images(images))
        case AssistantMessage(text, calls, reasoning):
            cleaned = tuple(ToolCall(clean(c.id), clean(c.name), clean(c.arguments)) for c in calls)
            return AssistantMessage(clean(text), cleaned, clean(reasoning))


def _clean_images(images: Sequence[Image]) -> tuple[Image, ...]:
    return tuple(replace(image, path=clean(image.path), source=clean(image.source)) for image in images)


def request_body(conversation: Conversation, options: BodyOptions, read: ReadImage) -> dict[str, object]:
    """The body of `POST /chat/completions`, ready for a JSON encoder."""
    body: dict[str, object] = {
        "model": options.model,
        "messages": list(_messages(conversation, options, read)),
    }
    if conversation.tools:
        body["tools"] = [_tool(spec) for spec in conversation.tools]
    body["stream"] = options.stream
    if options.stream and options.include_usage:
        body["stream_options"] = {"include_usage": True}
    return body


def has_images(conversation: Conversation) -> bool:
    """Whether any message carries a picture."""
    return any(not isinstance(message, AssistantMessage) and message.images for message in conversation.messages)


def call_ids(conversation: Conversation) -> set[str]:
    """The ids that calls of the conversation have: a new call needs another one."""
    replies = (message for message in conversation.messages if isinstance(message, AssistantMessage))
    return {call.id for reply in replies for call in reply.tool_calls}


def _tool(spec: ToolSpec) -> dict[str, object]:
    function = {"name": spec.name, "description": clean(spec.description), "parameters": json.loads(spec.parameters)}
    return {"type": "function", "function": function}


def _messages(conversation: Conversation, options: BodyOptions, read: ReadImage) -> Iterator[dict[str, object]]:
    if conversation.system.strip():
        yield {"role": "system", "content": clean(conversation.system)}
    pending: list[Image] = []
    for message in conversation.messages:
        if pending and not isinstance(message, ToolMessage):
            yield _pictures(pending, read)
            pending = []
        match message:
            case ToolMessage():
                yield _tool_message(message, options)
                pending.extend(message.images if options.images else ())
            case AssistantMessage():
                yield from _assistant_message(message)
            case UserMessage():
                yield from _user_message(message, options, read)
    if pending:
        yield _pictures(pending, read)


def _tool_message(message: ToolMessage, options: BodyOptions) -> dict[str, object]:
    text = clean(message.text)
    if not options.images:
        text = "\n".join([text, *map(_left_out, message.images)])
    return {"role": "tool", "tool_call_id": clean(message.tool_call_id), "content": text if text.strip() else EMPTY}


def _assistant_message(message: AssistantMessage) -> Iterator[dict[str, object]]:
    text = clean(message.text) if message.text.strip() else None
    if message.tool_calls:
        yield {"role": "assistant", "content": text, "tool_calls": [_call(call) for call in message.tool_calls]}
    elif text is not None:
        yield {"role": "assistant", "content": text}


def _user_message(message: UserMessage, options: BodyOptions, read: ReadImage) -> Iterator[dict[str, object]]:
    text = clean(message.text)
    if not options.images:
        text = "\n".join([text, *map(_left_out, message.images)])
    elif message.images:
        lead = [{"type": "text", "text": text}] if text.strip() else []
        yield {"role": "user", "content": [*lead, *_image_parts(message.images, read)]}
        return
    if text.strip():
        yield {"role": "user", "content": text}


def _pictures(images: Sequence[Image], read: ReadImage) -> dict[str, object]:
    """Tool messages cannot carry pictures in chat completions: they follow in a user message."""
    return {"role": "user", "content": [{"type": "text", "text": PICTURES}, *_image_parts(images, read)]}


def _image_parts(images: Sequence[Image], read: ReadImage) -> Iterator[dict[str, object]]:
    for image in images:
        label = f"{clean(image.source)} ({image.width}x{image.height})"
        url = _data_url(image, read)
        if url is None:
            yield {"type": "text", "text": f"[picture {label} can no longer be read; see it again]"}
        else:
            yield {"type": "text", "text": label}
            yield {"type": "image_url", "image_url": {"url": url}}


def _data_url(image: Image, read: ReadImage) -> str | None:
    """None when the stored bytes are gone, too large, or not what they claim to be."""
    try:
        data = read(image.path, MAX_IMAGE_BYTES + 1)
    except (OSError, ValueError):  # ValueError: a path with NUL
        return None
    if len(data) > MAX_IMAGE_BYTES or mime_of(data) != image.mime:
        return None
    return f"data:{image.mime};base64,{base64.b64encode(data).decode('ascii')}"


def mime_of(data: bytes) -> str | None:
    """The type by magic bytes, of the four that endpoints take; None for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _left_out(image: Image) -> str:
    return f"[picture {clean(image.source)} ({image.width}x{image.height}) left out: this model takes text only]"


def _call(call: ToolCall) -> dict[str, object]:
    function = {"name": safe_name(call.name), "arguments": safe_arguments(call.arguments)}
    return {"id": clean(call.id), "type": "function", "function": function}


def safe_name(name: str) -> str:
    """A function name that the API accepts, as near to `name` as it can be."""
    if FUNCTION_NAME.match(name):
        return name
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def safe_arguments(arguments: str) -> str:
    """JSON text of an object: the arguments as they are, decoded once more, or a hint at what was broken."""
    value = parse_arguments(arguments)
    if value is not None and arguments.lstrip().startswith("{") and "\\u" not in arguments and clean(arguments) == arguments:
        return arguments
    try:
        if value is not None:
            return _compact(_clean_value(value))
    except (RecursionError, ValueError):  # nested too deeply, or a number beyond all floats
        pass
    return _compact({"broken_arguments": clean(arguments)[:MAX_HINT_CHARS]})


def parse_arguments(arguments: str) -> dict[str, object] | None:
    """The object that a call's arguments hold, also when encoded twice; None when there is none."""
    value = _strict_json(arguments)
    if isinstance(value, str):
        value = _strict_json(value)
    return value if isinstance(value, dict) else None


def _strict_json(text: str) -> object:
    """The value of a JSON text; None when it is not JSON (NaN and Infinity are not)."""

    def refuse(constant: str) -> object:
        raise ValueError(constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


def _clean_value(value: object) -> object:
    match value:
        case str():
            return clean(value)
        case list():
            return [_clean_value(item) for item in value]
        case dict():
            return {clean(key): _clean_value(item) for key, item in value.items()}
        case _:
            return value


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
