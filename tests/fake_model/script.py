r"""Scripted replies of the fake model server, and how they look on the wire.

A script is a list of replies, taken in order, one per request; each is a dict (from JSON) or, in process, a function of
the request's body that returns one. Keys of a reply, all optional:

    text, reasoning      streamed in pieces of `piece_chars` (8) characters
    calls                list of {"command": "ls", "stdin"?, "timeout_s"?, "id"?} or raw {"id"?, "name", "arguments"}
    chunks               instead of the three above: a list of deltas as dicts; {"sleep_s": 1} waits; a string is sent as it
                         stands (`data: ...\n\n` and all)
    finish               finish_reason; "stop" or "tool_calls" when absent; null sends none
    usage                as the API writes it; a count made from the request when absent; null sends none
    done                 false leaves `data: [DONE]` out
    message              the whole message of an answer that is not streamed, when it shall differ
    delay_s              seconds before the headers
    chunk_delay_s        seconds before each chunk
    cut                  true closes the socket in the middle; "reset" resets it
    hang                 true sends nothing more after the chunks until the client closes; "start" not even headers
    chunked              false: no chunked encoding, the end of the connection ends the answer
    status, headers, body   an HTTP answer as it stands; a body that is no string is sent as JSON
    repeat               true: answers all later requests too
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Reply = Mapping[str, Any]
ScriptItem = Reply | Callable[[dict[str, Any]], Reply]


def text(answer: str, **more: Any) -> dict[str, Any]:
    """A reply of text only."""
    return {"text": answer, **more}


def run(*commands: str, **more: Any) -> dict[str, Any]:
    """A reply that calls `run` once per command."""
    return {"calls": [{"command": command} for command in commands], **more}


def call(arguments: str, name: str = "run", call_id: str | None = None, **more: Any) -> dict[str, Any]:
    """A reply with one raw call."""
    return {"calls": [{"name": name, "arguments": arguments, "id": call_id}], **more}


def tool_calls(reply: Reply, request_number: int) -> list[dict[str, Any]]:
    """The calls of a reply as the API writes them; ids are made from the number of the request."""
    return [
        {
            "id": call.get("id") or f"call_{request_number}_{index}",
            "type": "function",
            "function": {"name": call.get("name", "run"), "arguments": raw_arguments(call)},
        }
        for index, call in enumerate(reply.get("calls", ()))
    ]


def raw_arguments(call: Mapping[str, Any]) -> str:
    if "arguments" in call:
        return str(call["arguments"])
    return json.dumps({key: call[key] for key in ("command", "stdin", "timeout_s") if key in call}, ensure_ascii=False)


def finish_reason(reply: Reply) -> str | None:
    finish: str | None = reply.get("finish", "tool_calls" if reply.get("calls") else "stop")
    return finish


def usage(reply: Reply, raw: bytes) -> dict[str, Any] | None:
    given: dict[str, Any] | None = reply.get("usage", {"prompt_tokens": len(raw) // 4, "completion_tokens": 7})
    return given


def deltas(reply: Reply, request_number: int) -> Iterator[Any]:
    """What is streamed: deltas, waits and raw strings."""
    if "chunks" in reply:
        yield from reply["chunks"]
        return
    size = reply.get("piece_chars", 8)
    yield {"role": "assistant", "content": ""}
    for piece in pieces(reply.get("reasoning", ""), size):
        yield {"reasoning_content": piece}
    for piece in pieces(reply.get("text", ""), size):
        yield {"content": piece}
    for index, call in enumerate(tool_calls(reply, request_number)):
        head = {
            "index": index,
            "id": call["id"],
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": ""},
        }
        yield {"tool_calls": [head]}
        for piece in pieces(call["function"]["arguments"], size):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def chunk(model: str, delta: Any, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [choice]}


def event(value: Any) -> bytes:
    """One server-sent event. Lone surrogates travel as escapes."""
    return b"data: " + json.dumps(value).encode("ascii") + b"\n\n"


def whole_answer(reply: Reply, model: str, raw: bytes, request_number: int) -> dict[str, Any]:
    """The answer when the request does not ask for a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.get("text") or None}
    if reply.get("reasoning"):
        message["reasoning_content"] = reply["reasoning"]
    if reply.get("calls"):
        message["tool_calls"] = tool_calls(reply, request_number)
    choice = {"index": 0, "message": reply.get("message", message), "finish_reason": finish_reason(reply)}
    answer = {"id": "chatcmpl-fake", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
    counted = usage(reply, raw)
    return answer if counted is None else {**answer, "usage": counted}
