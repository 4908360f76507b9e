"""The strict fake server itself: what it refuses, what it records."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.fake_model.server import FakeModel, run, text

USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"command": "ls"}'}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}
PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
GIF_PART = {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{PIXEL}"}}


def post(server: FakeModel, payload: bytes | dict[str, Any]) -> tuple[int, str]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    request = urllib.request.Request(f"{server.url}/chat/completions", data)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def changed(call: dict[str, Any]) -> dict[str, Any]:
    return {**ASKED, "tool_calls": [call]}


def named(name: str, arguments: str = "{}") -> dict[str, Any]:
    return {**CALL, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "`messages` is empty"),
        ([{"role": "user", "content": " \n"}], "empty or white only"),
        ([USER, {"role": "assistant", "content": ""}, USER], "empty or white only"),
        ([USER, {"role": "assistant", "content": None}, USER], "content of the assistant message is None"),
        ([USER, ASKED, USER], "['c1'] are not answered before a user message"),
        ([USER, ASKED], "['c1'] are not answered"),
        ([USER, ASKED, ANSWER, ANSWER], "answers 'c1', waiting are []"),
        ([USER, ASKED, {**ANSWER, "tool_call_id": "c2"}], "answers 'c2'"),
        ([USER, ANSWER], "role 'tool' after user"),
        ([USER, ASKED, ANSWER, ASKED, ANSWER], "'c1' is used twice"),
        (
            [USER, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
            "role 'assistant' after assistant",
        ),
        ([USER, {"role": "assistant", "content": "a"}], "the last message is of role assistant"),
        ([{"role": "assistant", "content": "a"}, USER], "role 'assistant' after the start"),
        ([USER, {"role": "system", "content": "a"}], "role 'system' after user"),
        ([USER, changed(named("run", '{"command": "ls')), ANSWER], "are not JSON"),
        ([USER, changed(named("run", "[]")), ANSWER], "not a JSON object"),
        ([USER, changed(named("run", '{"a": NaN}')), ANSWER], "NaN is not JSON"),
        ([USER, changed(named("run", '{"a": "\\ud800"}')), ANSWER], "a lone surrogate in messages[1], arguments of c1"),
        ([USER, changed(named("read file")), ANSWER], "does not match"),
        ([USER, changed(named("x" * 65)), ANSWER], "does not match"),
        ([{"role": "user", "content": "a\0b"}], "U+0000 in body.messages[0].content"),
        ([{"role": "user", "content": "a\ud83d"}], "a lone surrogate in body.messages[0].content"),
        ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "an empty text part"),
        ([USER, ASKED, {**ANSWER, "content": [GIF_PART]}], "a tool message cannot hold"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/a.png"}}]}], "not a data URL"),
    ],
)
def test_an_invalid_history_is_refused_with_the_reason(messages: list[Any], reason: str) -> None:
    with FakeModel([text("never")]) as server:
        status, answer = post(server, {"model": "m", "messages": messages})
        assert status == 400
        assert reason in json.loads(answer)["error"]["message"]
        assert server.violations == [json.loads(answer)["error"]["message"]]


def test_a_picture_must_be_what_it_says() -> None:
    lying = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    with FakeModel([text("seen")]) as server:
        assert post(server, {"model": "m", "messages": [{"role": "user", "content": [GIF_PART]}]})[0] == 200
        status, answer = post(server, {"model": "m", "messages": [{"role": "user", "content": [lying]}]})
        assert (status, "are not image/png" in answer) == (400, True)


@pytest.mark.parametrize("raw", [b'{"model": "\xff"}', b"{", b"[]", b'{"model": NaN}'])
def test_a_body_that_is_not_strict_json_is_refused(raw: bytes) -> None:
    with FakeModel() as server:
        assert post(server, raw)[0] == 400
        assert len(server.violations) == 1


@pytest.mark.parametrize(
    "extra",
    [
        {"tools": []},
        {"tools": [{"type": "function", "function": {"name": "a b", "parameters": {"type": "object"}}}]},
        {"tools": [{"type": "function", "function": {"name": "ab", "parameters": {"type": "text"}}}]},
        {"stream_options": {"include_usage": True}},
        {"temprature": 1},
    ],
)
def test_bad_options_are_refused(extra: dict[str, Any]) -> None:
    with FakeModel() as server:
        assert post(server, {"model": "m", "messages": [USER], **extra})[0] == 400


def test_a_valid_history_with_calls_is_answered_in_order_of_the_script() -> None:
    with FakeModel([run("ls"), text("done", repeat=True)]) as server:
        first = json.loads(post(server, {"model": "m", "messages": [USER]})[1])
        assert first["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"command": "ls"}'
        for _ in range(2):
            answer = json.loads(post(server, {"model": "m", "messages": [USER, ASKED, ANSWER]})[1])
            assert answer["choices"][0]["message"]["content"] == "done"
        assert server.violations == []
        assert [len(request.messages) for request in server.requests] == [1, 3, 3]


def test_a_function_of_the_request_may_answer() -> None:
    with FakeModel(lambda body: text(f"{len(body['messages'])} messages")) as server:
        for _ in range(2):
            assert "1 messages" in post(server, {"model": "m", "messages": [USER]})[1]


def test_a_client_that_closes_is_seen() -> None:
    body = json.dumps({"model": "m", "stream": True, "messages": [USER]}).encode()
    with FakeModel([text("hello", hang=True)]) as server:
        port = int(server.url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            assert client.recv(10)
            assert not server.wait_for_requests(1)[0].closed.is_set()
        assert server.last.closed.wait(5)
