"""The messages endpoint of Anthropic as the fake server plays it: what it refuses, and how scripted replies look there."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.fake_model.script import Reply, pieces, tool_calls, usage
from tests.fake_model.strict import MAGIC, InvalidRequestError, check_name, check_schema, check_strings, strict_json

PATH = "/v1/messages"
CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
KNOWN_KEYS = {
    "max_tokens", "messages", "metadata", "model", "stop_sequences", "stream", "system", "temperature", "thinking",
    "tool_choice", "tools", "top_k", "top_p",
}  # fmt: skip


def read_body(raw: bytes) -> dict[str, Any]:
    """The request, checked. Raises InvalidRequestError."""
    try:
        body = strict_json(raw.decode("utf-8"))
    except ValueError as error:
        raise InvalidRequestError(f"the body is not JSON: {error}") from error
    check_strings(body, "body")
    if unknown := set(body) - KNOWN_KEYS:
        raise InvalidRequestError(f"unknown fields {sorted(unknown)}")
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        raise InvalidRequestError("max_tokens: field required")
    for block in body["system"] if isinstance(body.get("system"), list) else ():
        check_text(block, "system")
    for index, tool in enumerate(body.get("tools", ())):
        check_name(tool.get("name"), f"tools[{index}]")
        check_schema(tool.get("input_schema"), f"tools[{index}].input_schema")
    check_messages(body.get("messages"), has_tools=bool(body.get("tools")))
    return dict(body)


def check_messages(messages: Any, *, has_tools: bool) -> None:
    """Roles alternate, every tool_use is answered in the next message, nothing is empty."""
    if not isinstance(messages, list) or not messages or messages[0].get("role") != "user":
        raise InvalidRequestError("messages: first message must use the user role")
    waiting: set[str] = set()
    seen: set[str] = set()
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if index and message["role"] == messages[index - 1]["role"]:
            raise InvalidRequestError(f"{where}: roles must alternate")
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            raise InvalidRequestError(f"{where}: content must not be empty")
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(waiting):
            raise InvalidRequestError(f"{where}: tool_use ids {sorted(waiting)} are answered by tool_result {answered}")
        waiting = {check_block(block, message["role"], where) for block in blocks} - {""}
        if waiting & seen or (waiting and not has_tools):
            raise InvalidRequestError(f"{where}: `tool_use` ids must be unique and need tools")
        seen |= waiting
    if waiting or messages[-1]["role"] != "user":
        raise InvalidRequestError("the last message is not the user's")


def check_block(block: dict[str, Any], role: str, where: str) -> str:
    """The id of a tool_use; empty for other blocks."""
    match block:
        case {"type": "text"}:
            check_text(block, where)
        case {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}} if role == "user":
            check_image(media_type, data, where)
        case {"type": "tool_result"} if role == "user":
            inner = block.get("content")
            for part in inner if isinstance(inner, list) else ():
                check_block(part, role, where)
        case {"type": "tool_use", "id": call_id, "name": name, "input": dict()} if role == "assistant":
            check_name(name, where)
            if not CALL_ID.match(call_id):
                raise InvalidRequestError(f"{where}: tool_use.id: {call_id!r}")
            return str(call_id)
        case _:
            raise InvalidRequestError(f"{where}: a {role} message cannot hold {str(block)[:80]}")
    return ""


def check_text(block: dict[str, Any], where: str) -> None:
    if not isinstance(block.get("text"), str) or not block["text"].strip():
        raise InvalidRequestError(f"{where}: text content blocks must be non-empty")


def check_image(media_type: str, data: str, where: str) -> None:
    try:
        decoded = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise InvalidRequestError(f"{where}: invalid base64") from error
    if not decoded.startswith(MAGIC.get(media_type, b"?")):
        raise InvalidRequestError(f"{where}: the image is not {media_type}")


def counts(reply: Reply, raw: bytes) -> dict[str, Any]:
    """The usage of a reply in this API's words."""
    given = usage(reply, raw) or {"prompt_tokens": 1, "completion_tokens": 1}
    cached = given.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    return {
        "input_tokens": given["prompt_tokens"] - cached,
        "cache_read_input_tokens": cached,
        "output_tokens": given["completion_tokens"],
    }


def stop_reason(reply: Reply) -> str:
    finish = reply.get("finish", "tool_calls" if reply.get("calls") else "stop")
    return {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}.get(finish, "end_turn")


def error_body(message: str, status: int) -> dict[str, Any]:
    kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    return {"type": "error", "error": {"type": kinds.get(status, "invalid_request_error"), "message": message}}


def blocks_of(reply: Reply, number: int) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Each content block as it begins, the name of its delta, and the text of its deltas."""
    if reply.get("reasoning"):
        yield {"type": "thinking", "thinking": "", "signature": ""}, "thinking", reply["reasoning"]
    if reply.get("text"):
        yield {"type": "text", "text": ""}, "text", reply["text"]
    for call in tool_calls(reply, number):
        function = call["function"]
        yield (
            {"type": "tool_use", "id": call["id"], "name": function["name"], "input": {}},
            "partial_json",
            function["arguments"],
        )


def whole_answer(reply: Reply, model: str, raw: bytes, number: int) -> dict[str, Any]:
    """An answer that is not streamed."""
    content = []
    for block, field, text in blocks_of(reply, number):
        content.append({**block, "input": json.loads(text)} if field == "partial_json" else {**block, field: text})
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason(reply),
        "stop_sequence": None,
        "usage": counts(reply, raw),
    }


def events(reply: Reply, model: str, raw: bytes, number: int) -> Iterator[bytes]:
    """A streamed answer, one event each; without its end when the script cuts it or lets it hang."""
    used = counts(reply, raw)
    begun: dict[str, Any] = whole_answer({"calls": ()}, model, raw, number) | {"stop_reason": None}
    yield event({"type": "message_start", "message": {**begun, "usage": {**used, "output_tokens": 1}}})
    deltas = {"thinking": "thinking_delta", "text": "text_delta", "partial_json": "input_json_delta"}
    blocks = list(blocks_of(reply, number))
    for index, (block, field, text) in enumerate(blocks):
        yield event({"type": "content_block_start", "index": index, "content_block": block})
        for piece in pieces(text, reply.get("piece_chars", 8)):
            yield event({"type": "content_block_delta", "index": index, "delta": {"type": deltas[field], field: piece}})
        if not (reply.get("cut") or reply.get("hang")) or index + 1 < len(blocks):
            yield event({"type": "content_block_stop", "index": index})
    if reply.get("cut") or reply.get("hang"):
        return
    yield event({"type": "message_delta", "delta": {"stop_reason": stop_reason(reply), "stop_sequence": None}, "usage": used})
    yield event({"type": "message_stop"})


def event(value: dict[str, Any]) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode("ascii")
