"""What a strict chat completions endpoint refuses: bytes of a body come in, the value or the precise reason goes out."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
CALL_ID = re.compile(r"\S{1,64}\Z")
KNOWN_KEYS = {
    "frequency_penalty", "logprobs", "max_completion_tokens", "max_tokens", "messages", "model", "n", "parallel_tool_calls",
    "presence_penalty", "reasoning_effort", "response_format", "seed", "stop", "stream", "stream_options", "temperature",
    "tool_choice", "tools", "top_p", "user",
}  # fmt: skip
MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8", "image/webp": b"RIFF"}
JSON_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}


class InvalidRequestError(Exception):
    """The request breaks a rule; the text says which and where."""


def read_body(raw: bytes) -> dict[str, Any]:
    """The request, checked.

    Raises:
        InvalidRequestError: the first rule that is broken.
    """
    try:
        body = strict_json(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"the body is not UTF-8: {error}") from error
    except ValueError as error:
        raise InvalidRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise InvalidRequestError("the body is not an object")
    check_strings(body, "body")
    if unknown := set(body) - KNOWN_KEYS:
        raise InvalidRequestError(f"unknown fields {sorted(unknown)}")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise InvalidRequestError("`model` is missing")
    check_options(body)
    check_tools(body.get("tools"))
    check_messages(body.get("messages"))
    return body


def strict_json(text: str) -> Any:
    """`json.loads` without NaN and Infinity."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def check_strings(value: Any, where: str) -> None:
    """No U+0000 and no lone surrogate anywhere, keys included."""
    for text, place in strings(value, where):
        if "\0" in text:
            raise InvalidRequestError(f"U+0000 in {place}")
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise InvalidRequestError(f"a lone surrogate in {place}")


def strings(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every string inside a JSON value, with its place."""
    match value:
        case str():
            yield value, where
        case list():
            for index, item in enumerate(value):
                yield from strings(item, f"{where}[{index}]")
        case dict():
            for key, item in value.items():
                yield key, f"a key of {where}"
                yield from strings(item, f"{where}.{key}")


def check_options(body: dict[str, Any]) -> None:
    if not isinstance(body.get("stream", False), bool):
        raise InvalidRequestError("`stream` is not a boolean")
    if "stream_options" in body and not body.get("stream"):
        raise InvalidRequestError("`stream_options` without `stream`")


def check_tools(tools: Any) -> None:
    if tools is None:
        return
    if not isinstance(tools, list) or not tools:
        raise InvalidRequestError("`tools` is not a list with members; leave it out")
    for index, tool in enumerate(tools):
        where = f"tools[{index}]"
        if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(tool.get("function"), dict):
            raise InvalidRequestError(f"{where} is not a function")
        function = tool["function"]
        check_name(function.get("name"), where)
        if not isinstance(function.get("description", ""), str):
            raise InvalidRequestError(f"{where}.description is not a string")
        check_schema(function.get("parameters"), f"{where}.parameters")
        if function["parameters"].get("type") != "object":
            raise InvalidRequestError(f"{where}.parameters is not the schema of an object")


def check_schema(schema: Any, where: str) -> None:
    """The parts of JSON Schema that tools use."""
    if not isinstance(schema, dict):
        raise InvalidRequestError(f"{where} is not a schema")
    types = schema.get("type", [])
    if not set(types if isinstance(types, list) else [types]) <= JSON_TYPES:
        raise InvalidRequestError(f"{where}.type {types!r} is no JSON type")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise InvalidRequestError(f"{where}.properties is not an object")
    required = schema.get("required", [])
    if not isinstance(required, list) or not set(required) <= set(properties):
        raise InvalidRequestError(f"{where}.required names what is not in properties")
    for name, child in properties.items():
        check_schema(child, f"{where}.properties.{name}")
    if "items" in schema:
        check_schema(schema["items"], f"{where}.items")


def check_name(name: Any, where: str) -> None:
    if not isinstance(name, str) or not FUNCTION_NAME.match(name):
        raise InvalidRequestError(f"{where}: the function name {name!r} does not match ^[a-zA-Z0-9_-]{{1,64}}$")


def check_messages(messages: Any) -> None:
    """Roles in order; every call answered once, directly after it; nothing empty."""
    if not isinstance(messages, list) or not messages:
        raise InvalidRequestError("`messages` is empty")
    seen: set[str] = set()
    waiting: list[str] = []
    previous = ""
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        role = message.get("role") if isinstance(message, dict) else None
        if waiting and role != "tool":
            raise InvalidRequestError(f"{where}: tool calls {waiting} are not answered before a {role} message")
        check_order(role, previous, where)
        if role == "tool":
            answer(message, waiting, where)
        elif role == "assistant":
            waiting = check_calls(message, seen, where)
        check_content(message, where)
        previous = str(role)
    if waiting:
        raise InvalidRequestError(f"tool calls {waiting} are not answered")
    if previous not in {"user", "tool"}:
        raise InvalidRequestError(f"the last message is of role {previous}")


def check_order(role: Any, previous: str, where: str) -> None:
    allowed_after = {
        "": {"system", "user"},
        "system": {"user"},
        "user": {"user", "assistant"},
        "assistant": {"user", "tool"},
        "tool": {"tool", "assistant", "user"},
    }
    if role not in allowed_after[previous]:
        raise InvalidRequestError(f"{where}: role {role!r} after {previous or 'the start'}")


def answer(message: dict[str, Any], waiting: list[str], where: str) -> None:
    call_id = message.get("tool_call_id")
    if call_id not in waiting:
        raise InvalidRequestError(f"{where}: answers {call_id!r}, waiting are {waiting}")
    waiting.remove(call_id)


def check_calls(message: dict[str, Any], seen: set[str], where: str) -> list[str]:
    """The ids that wait for an answer."""
    calls = message.get("tool_calls")
    if calls is None:
        return []
    if not isinstance(calls, list) or not calls:
        raise InvalidRequestError(f"{where}.tool_calls is empty; leave it out")
    for call in calls:
        check_call(call, where)
        if call["id"] in seen:
            raise InvalidRequestError(f"{where}: tool call id {call['id']!r} is used twice")
        seen.add(call["id"])
    return [call["id"] for call in calls]


def check_call(call: Any, where: str) -> None:
    if not isinstance(call, dict) or call.get("type") != "function" or not isinstance(call.get("function"), dict):
        raise InvalidRequestError(f"{where}: a tool call is not a function call")
    if not isinstance(call.get("id"), str) or not CALL_ID.match(call["id"]):
        raise InvalidRequestError(f"{where}: bad tool call id {call.get('id')!r}")
    check_name(call["function"].get("name"), where)
    arguments = call["function"].get("arguments")
    try:
        value = strict_json(arguments)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"{where}: arguments of {call['id']} are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{where}: arguments of {call['id']} are not a JSON object")
    check_strings(value, f"{where}, arguments of {call['id']}")


def check_content(message: dict[str, Any], where: str) -> None:
    content = message.get("content")
    if content is None and message["role"] == "assistant" and message.get("tool_calls"):
        return
    if isinstance(content, str):
        if not content.strip():
            raise InvalidRequestError(f"{where}: the {message['role']} message is empty or white only")
        return
    if not isinstance(content, list) or not content:
        raise InvalidRequestError(f"{where}: content of the {message['role']} message is {content!r}")
    for part in content:
        check_part(part, message["role"], where)


def check_part(part: Any, role: str, where: str) -> None:
    match part:
        case {"type": "text", "text": str(text)}:
            if not text.strip():
                raise InvalidRequestError(f"{where}: an empty text part")
        case {"type": "image_url", "image_url": {"url": str(url)}} if role == "user":
            check_image(url, where)
        case _:
            raise InvalidRequestError(f"{where}: a {role} message cannot hold the part {str(part)[:80]}")


def check_image(url: str, where: str) -> None:
    match = re.fullmatch(r"data:(image/[a-z]+);base64,(.+)", url, re.DOTALL)
    if match is None or match[1] not in MAGIC:
        raise InvalidRequestError(f"{where}: not a data URL of png, jpeg, gif or webp: {url[:60]}")
    try:
        data = base64.b64decode(match[2], validate=True)
    except binascii.Error as error:
        raise InvalidRequestError(f"{where}: the picture is not base64: {error}") from error
    if not data.startswith(MAGIC[match[1]]) or (match[1] == "image/webp" and data[8:12] != b"WEBP"):
        raise InvalidRequestError(f"{where}: the bytes of the picture are not {match[1]}")
