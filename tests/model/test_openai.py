"""The direct provider over real HTTP: streams as servers send them, failures as networks make them."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation, Image, ToolSpec, UserMessage
from agentclip.model.base import Part, Reply, TextPart
from agentclip.model.openai import OpenAIEndpoint
from agentclip.model.protocol import ProviderSettings
from tests.fake_model.script import Reply as Answer
from tests.fake_model.server import FakeModel, call, run, text

RUN = ToolSpec("run", "runs", '{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}')
HELLO = Conversation("Be brief.", (UserMessage("hello"),), (RUN,))
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
A, B = '{"command":"echo A"}', '{"command":"echo B"}'


def named(call_id: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    return {"function": {"name": "run", "arguments": arguments}, **({"id": call_id} if call_id else {}), **more}


@pytest.fixture
def server() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        yield fake


@pytest.fixture
async def endpoint(server: FakeModel) -> AsyncIterator[OpenAIEndpoint]:
    made = OpenAIEndpoint(ProviderSettings("fake-model", server.url, key="sk-secret-key", key_variable="FAKE_API_KEY"))
    yield made
    await made.aclose()


async def parts_of(endpoint: OpenAIEndpoint, conversation: Conversation = HELLO) -> list[Part]:
    async with asyncio.timeout(30), aclosing(endpoint.reply(conversation)) as parts:
        return [part async for part in parts]


async def reply_of(endpoint: OpenAIEndpoint, conversation: Conversation = HELLO) -> Reply:
    last = (await parts_of(endpoint, conversation))[-1]
    assert isinstance(last, Reply)
    return last


async def failure_of(endpoint: OpenAIEndpoint, conversation: Conversation = HELLO) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await parts_of(endpoint, conversation)
    assert str(caught.value).isprintable()
    return caught.value


async def test_the_key_goes_into_the_header_and_nowhere_else(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.key = "sk-secret-key"
    server.script.append(text("yes"))
    assert (await reply_of(endpoint)).message.text == "yes"
    assert server.last.headers["authorization"] == "Bearer sk-secret-key"
    assert b"sk-secret" not in server.last.raw
    assert server.last.headers["user-agent"].startswith("agentclip/")


async def test_a_connection_is_used_again(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script += [text("a"), text("b")]
    await reply_of(endpoint)
    await reply_of(endpoint)
    pool = endpoint._client._transport._pool  # type: ignore[union-attr]  # noqa: SLF001  nothing public tells
    assert len(pool.connections) == 1


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([[named("a", A, index=0)], [named("b", B, index=0)]], id="index 0"),
        pytest.param([[named("a", A)], [named("b", B)]], id="no index"),
        pytest.param(
            [
                [named("a", "", index=0)],
                [named("b", "", index=1)],
                [{"index": 0, "function": {"arguments": A[:9]}}],
                [{"index": 1, "function": {"arguments": B[:5]}}, {"index": 0, "function": {"arguments": A[9:]}}],
                [{"index": 1, "function": {"arguments": B[5:]}}],
            ],
            id="ids only in the first delta, interleaved",
        ),
    ],
)
async def test_two_streamed_calls_stay_two(server: FakeModel, endpoint: OpenAIEndpoint, chunks: list[Any]) -> None:
    server.script.append({"chunks": [{"tool_calls": chunk} for chunk in chunks], "finish": "tool_calls"})
    calls = (await reply_of(endpoint)).message.tool_calls
    assert [(one.id, one.name, one.arguments) for one in calls] == [("a", "run", A), ("b", "run", B)]


HALF_A_CALL = [{"content": "I will"}, {"tool_calls": [named("a", '{"command":"touch half && rm -rf keep', index=0)]}]


@pytest.mark.parametrize(
    "cut", [{"cut": True}, {"cut": "reset"}, {"cut": True, "chunked": False}, {"chunked": False, "finish": None, "done": False}]
)
async def test_a_stream_that_breaks_inside_arguments_delivers_no_call(
    server: FakeModel, endpoint: OpenAIEndpoint, cut: dict[str, Any]
) -> None:
    server.script += [{"chunks": HALF_A_CALL, **cut}, text("again")]
    error = await failure_of(endpoint)
    assert (error.code, error.message) == (ErrorCode.NETWORK, "connection lost before the answer was complete")
    assert (await reply_of(endpoint)).message.text == "again"


async def test_arguments_cut_by_the_output_limit_are_delivered_broken(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script.append(call('{"command": "echo', finish="length"))
    reply = await reply_of(endpoint)
    assert reply.message.tool_calls[0].arguments == '{"command": "echo'
    assert reply.notes == ("the answer is cut: the model reached its output limit",)


@pytest.mark.parametrize(
    "tail",
    [
        {"done": False},
        {"finish": None},
        {"usage": None},
        {"done": False, "chunked": False},
    ],
)
async def test_an_end_that_lacks_something_is_still_an_end(
    server: FakeModel, endpoint: OpenAIEndpoint, tail: dict[str, Any]
) -> None:
    server.script.append(text("all of it", **tail))
    assert (await reply_of(endpoint)).message.text == "all of it"


FINISHED = 'data: {"choices":[{"delta":{"content":"all"},"finish_reason":"stop"}]}\n\n'


async def test_a_break_after_the_finish_reason_loses_nothing(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script.append({"chunks": [FINISHED], "cut": "reset"})
    assert (await reply_of(endpoint)).message.text == "all"


@pytest.mark.parametrize(
    ("finish", "code"), [("stop", "SERVER_ERROR"), ("length", "BAD_REQUEST"), ("content_filter", "BAD_REQUEST")]
)
@pytest.mark.parametrize("content", ["", "\n \n"])
async def test_an_answer_of_nothing_is_a_failure(
    server: FakeModel, endpoint: OpenAIEndpoint, finish: str, code: str, content: str
) -> None:
    server.script.append({"chunks": [{"content": content}], "finish": finish})
    assert (await failure_of(endpoint)).code == code


async def test_white_text_before_a_call_is_not_kept(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script.append(run("ls", text="\n\n"))
    assert (await reply_of(endpoint)).message.text == ""


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"status": 200, "body": "<html>hello</html>", "headers": {"Content-Type": "text/html"}}, "CONFIG"),
        ({"status": 200, "body": "hello"}, "SERVER_ERROR"),
        ({"status": 200, "body": ""}, "SERVER_ERROR"),
        ({"status": 200, "body": [1, 2]}, "SERVER_ERROR"),
        ({"status": 200, "body": {"error": {"message": "model overloaded", "code": 503}}}, "SERVER_ERROR"),
        ({"status": 200, "body": "{", "headers": {"Content-Encoding": "gzip"}}, "SERVER_ERROR"),
        ({"status": 302, "body": "", "headers": {"Location": "https://example.com/"}}, "CONFIG"),
        ({"status": 404, "body": "404 page not found"}, "CONFIG"),
        ({"chunks": ["data: {\n\n"]}, "SERVER_ERROR"),
        ({"chunks": ["data: <html>\n\n"]}, "SERVER_ERROR"),
        ({"chunks": [{"content": "so far"}, 'data: {"error":{"message":"Rate limit reached"}}\n\n']}, "RATE_LIMIT"),
        ({"chunks": ['event: error\ndata: {"error":"prompt is too long"}\n\n']}, "CONTEXT_TOO_LONG"),
    ],
)
async def test_what_is_no_answer_is_one_clear_failure(
    server: FakeModel, endpoint: OpenAIEndpoint, answer: Answer, code: str
) -> None:
    server.script += [answer, text("again")]
    assert (await failure_of(endpoint)).code == code
    assert (await reply_of(endpoint)).message.text == "again"


async def test_a_stream_without_its_content_type_is_read(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script.append({"status": 200, "body": f": hi\n\n{FINISHED}data: [DONE]\n\n"})
    assert (await reply_of(endpoint)).message.text == "all"


async def test_a_whole_answer_to_a_request_for_a_stream_is_read(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    message = {"role": "assistant", "content": "whole"}
    server.script.append({"status": 200, "body": {"choices": [{"message": message, "finish_reason": "stop"}]}})
    assert (await reply_of(endpoint)).message.text == "whole"


async def test_an_endless_event_is_given_up(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script.append({"chunks": ["data: " + "x" * 1_000_000] * 20})
    assert "does not end" in (await failure_of(endpoint)).message


async def test_a_stall_in_the_middle_is_a_failure_that_names_the_limit(server: FakeModel) -> None:
    endpoint = OpenAIEndpoint(ProviderSettings("fake-model", server.url, stall_timeout_s=0.3))
    server.script += [text("so far", hang=True), text("x", hang="start")]
    for _ in range(2):
        error = await failure_of(endpoint)
        assert (error.code, error.message) == (ErrorCode.NETWORK, "the server sent nothing for 0.3 s")
    await endpoint.aclose()


async def test_keep_alive_comments_are_not_a_stall(server: FakeModel) -> None:
    endpoint = OpenAIEndpoint(ProviderSettings("fake-model", server.url, stall_timeout_s=1.0))
    server.script.append({"chunks": [*([": waiting\n\n"] * 10), {"content": "at last"}], "chunk_delay_s": 0.15})
    assert (await reply_of(endpoint)).message.text == "at last"
    await endpoint.aclose()


async def test_closing_the_generator_closes_the_socket_at_once(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    for answer in (text("one two", hang=True), {"chunks": [*HALF_A_CALL], "hang": True}):
        server.script.append(answer)
        parts = endpoint.reply(HELLO)
        assert isinstance(await anext(parts), TextPart)
        closed_at = time.monotonic()
        await parts.aclose()
        assert await asyncio.to_thread(server.last.closed.wait, 10)
        assert server.last.closed_at is not None
        assert server.last.closed_at - closed_at < 5


async def test_cancelling_before_the_first_token_closes_the_socket(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script.append(text("never", hang="start"))
    task = asyncio.ensure_future(reply_of(endpoint))
    await asyncio.to_thread(server.wait_for_requests, 1)
    task.cancel()
    assert await asyncio.to_thread(server.last.closed.wait, 10)


def picture(tmp_path: Path) -> Conversation:
    stored = tmp_path / "stored.gif"
    stored.write_bytes(GIF)
    return Conversation("S", (UserMessage("look", (Image(str(stored), "image/gif", "a.gif", 1, 1),)),), (RUN,))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "No endpoints found that support image input"),
        (400, "ac-model is not a multimodal model"),
        (400, "This model does not support image input"),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    ],
)
async def test_a_model_of_text_only_gets_a_note_and_is_not_asked_again(
    server: FakeModel, endpoint: OpenAIEndpoint, tmp_path: Path, status: int, words: str
) -> None:
    server.script += [{"status": status, "body": {"error": {"message": words}}}, text("I cannot see it"), text("still not")]
    reply = await reply_of(endpoint, picture(tmp_path))
    assert reply.message.text == "I cannot see it"
    assert reply.notes == ("the endpoint takes no pictures: they were replaced by a note",)
    assert "[picture a.gif (1x1) left out" in server.last.messages[-1]["content"]
    await reply_of(endpoint, picture(tmp_path))
    assert len(server.requests) == 3
    assert server.violations == []


async def test_a_picture_that_is_refused_is_left_out_once(server: FakeModel, endpoint: OpenAIEndpoint, tmp_path: Path) -> None:
    refusal = {"status": 400, "body": {"error": {"message": "image exceeds the maximum size"}}}
    server.script += [refusal, text("ok"), text("seen")]
    await reply_of(endpoint, picture(tmp_path))
    await reply_of(endpoint, picture(tmp_path))
    assert server.last.messages[-1]["content"][-1]["type"] == "image_url"


async def test_a_refusal_of_words_about_pictures_without_any_is_just_a_refusal(
    server: FakeModel, endpoint: OpenAIEndpoint
) -> None:
    server.script.append({"status": 400, "body": {"error": {"message": "image input is not supported"}}})
    assert (await failure_of(endpoint)).code is ErrorCode.BAD_REQUEST
    assert len(server.requests) == 1


async def test_a_server_that_knows_no_stream_options_is_asked_without(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    refusal = {"status": 422, "body": {"detail": "extra fields not permitted: stream_options"}}
    server.script += [refusal, text("a"), text("b")]
    await reply_of(endpoint)
    await reply_of(endpoint)
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


async def test_a_refused_connection_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    error = await failure_of(OpenAIEndpoint(ProviderSettings("m", f"http://127.0.0.1:{port}/v1")))
    assert error.code is ErrorCode.UNAVAILABLE
    assert str(error) == f"http://127.0.0.1:{port}/v1 refuses the connection. Next: Start the server, or check --api-base"


async def test_an_unknown_host_says_what_to_do() -> None:
    error = await failure_of(OpenAIEndpoint(ProviderSettings("m", "http://no-such-host.invalid/v1")))
    assert error.code is ErrorCode.UNAVAILABLE
    assert "the host of http://no-such-host.invalid/v1 is not known" in error.message


async def test_a_connection_that_is_not_secure_says_so(server: FakeModel) -> None:
    error = await failure_of(OpenAIEndpoint(ProviderSettings("m", server.url.replace("http:", "https:"))))
    assert error.code is ErrorCode.UNAVAILABLE
    assert "no secure connection" in error.message


async def test_a_connection_that_is_never_accepted_ends_by_its_own_limit() -> None:
    with full_backlog() as url:
        error = await failure_of(OpenAIEndpoint(ProviderSettings("m", url, connect_timeout_s=0.3)))
    assert error.code is ErrorCode.NETWORK
    assert error.message == f"{url} did not answer within 0.3 s"


@contextmanager
def full_backlog() -> Iterator[str]:
    """An address whose queue of connections is full: another one waits for ever."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        clients = [socket.socket() for _ in range(4)]
        for client in clients:
            client.settimeout(0)
            client.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        for client in clients:
            client.close()


@pytest.mark.parametrize("key", ["sk-\n-key", "sk-é", "sk-\x00"])
async def test_a_key_that_fits_no_header_is_named(server: FakeModel, key: str) -> None:
    settings = ProviderSettings("m", server.url, key=key, key_variable="FAKE_API_KEY")
    error = await failure_of(OpenAIEndpoint(settings))
    assert (error.code, error.hint) == (ErrorCode.BAD_KEY, "Check FAKE_API_KEY")


async def test_an_address_that_is_none_is_named() -> None:
    for base in ("http://[::1/v1", "ftp://host/v1"):
        error = await failure_of(OpenAIEndpoint(ProviderSettings("m", base)))
        assert error.code is ErrorCode.CONFIG, base


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "nonsense://[", "127.0.0.1:9"])
async def test_a_server_on_this_machine_is_never_asked_through_a_proxy(
    server: FakeModel, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, proxy)
    server.script += [text("direct"), text("by name")]
    for base in (server.url, server.url.replace("127.0.0.1", "localhost")):
        endpoint = OpenAIEndpoint(ProviderSettings("m", base))
        await reply_of(endpoint)
        await endpoint.aclose()


@pytest.mark.parametrize(
    ("proxy", "code", "words"),
    [
        ("http://127.0.0.1:9", ErrorCode.UNAVAILABLE, "through the proxy of the environment"),
        ("socks5://127.0.0.1:9", ErrorCode.CONFIG, "the proxy of the environment cannot be used"),
        ("nonsense://host", ErrorCode.CONFIG, "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"),
    ],
)
async def test_a_proxy_that_does_not_work_is_named(
    monkeypatch: pytest.MonkeyPatch, proxy: str, code: ErrorCode, words: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.delenv("http_proxy", raising=False)
    error = await failure_of(OpenAIEndpoint(ProviderSettings("m", "http://api.example.com/v1")))
    assert error.code is code
    assert words in str(error)


async def test_a_proxy_is_used_for_servers_elsewhere(server: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    error = await failure_of(OpenAIEndpoint(ProviderSettings("m", "http://api.example.com/v1")))
    assert "no such path http://api.example.com/v1/chat/completions" in error.message


async def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    error = await failure_of(OpenAIEndpoint(ProviderSettings("m", "https://127.0.0.1:9/v1")))
    assert (error.code, error.hint) == (ErrorCode.CONFIG, "Check SSL_CERT_FILE and SSL_CERT_DIR")


async def test_requests_side_by_side_do_not_mix(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script.append(lambda body: text(body["messages"][-1]["content"] * 5, chunk_delay_s=0.005, repeat=True))
    asked = [replace(HELLO, messages=(UserMessage(f"question {n};"),)) for n in range(5)]
    replies = await asyncio.gather(*(reply_of(endpoint, one) for one in asked))
    assert [reply.message.text for reply in replies] == [f"question {n};" * 5 for n in range(5)]


async def test_a_server_that_talks_no_http_is_a_lost_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            client, _ = listening.accept()
            with client:
                client.recv(65536)
                client.sendall(b"SSH-2.0-OpenSSH_9.9\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        error = await failure_of(OpenAIEndpoint(ProviderSettings("m", f"http://127.0.0.1:{listening.getsockname()[1]}/v1")))
        thread.join()
    assert error.code is ErrorCode.NETWORK


GOOD_STREAM = """\
: keep-alive

data: {"choices":[{"delta":{"content":"a\\u00e9\\ud83d\\ude00"}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"run","arguments":"{}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}

data: [DONE]

"""


def damaged(chance: random.Random) -> str:
    """The good stream with pieces taken out, doubled, replaced or moved."""
    stream = GOOD_STREAM
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(stream) + 1)
        end = start + chance.choice([0, 1, 1, 3, 20, 200])
        piece = chance.choice(["", stream[start:end] * 2, "null", "[", '"', "\n\n", "\0", "9" * 400, stream[: end - start]])
        stream = stream[:start] + piece + stream[end:]
    return stream


async def test_whatever_is_streamed_ends_in_a_reply_or_in_one_clear_failure(
    server: FakeModel, endpoint: OpenAIEndpoint
) -> None:
    chance = random.Random(20260)
    replies: list[Reply] = []
    failures: list[str] = []
    ends: list[dict[str, Any]] = [{}, {"cut": True}, {"cut": "reset"}, {"chunked": False}]
    for _ in range(200):
        server.script.append({"chunks": [damaged(chance)], "finish": None, "usage": None, "done": False, **chance.choice(ends)})
        try:
            replies.append(await reply_of(endpoint))
        except ModelError as error:
            failures.append(str(error))
    assert min(len(replies), len(failures)) > 20
    assert all(reply.message.text.strip() or reply.message.tool_calls for reply in replies)
    assert all(failure.isprintable() for failure in failures)


async def test_the_first_request_is_small(server: FakeModel, endpoint: OpenAIEndpoint) -> None:
    server.script.append(text("x"))
    await reply_of(endpoint)
    assert len(server.last.raw) < 400
    assert json.loads(server.last.raw)["messages"][-1]["content"] == "hello"
