"""What every Model keeps, whoever answers: one script, played by a recording and by a server behind the worker."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import AssistantMessage, Conversation, ToolCall, ToolMessage, ToolSpec, UserMessage
from agentclip.model.base import CallPart, Model, Part, ReasoningPart, Reply, TextPart
from agentclip.model.catalog import ModelChoice, make_model, provider_settings
from agentclip.model.providers import Route
from agentclip.model.worker import make_endpoint
from tests.fake_model.server import FakeModel

Script = list[dict[str, Any]]
Start = Callable[[Script], Awaitable[Model]]
RUN = ToolSpec("run", "runs", '{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}')
HELLO = Conversation("Be brief.", (UserMessage("hello"),), (RUN,))
LITELLM = ["litellm-openai", "litellm-anthropic"]
IN_PARTS = pytest.mark.parametrize("start", ["replay", "streamed", *LITELLM], indirect=True)
"""For what only an answer in parts has: a middle."""
STATUSES = {"RATE_LIMIT": 429, "SERVER_ERROR": 503, "BAD_REQUEST": 400}


def as_answer(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply of the recording format as the fake server writes it."""
    if "error" in reply:
        error = reply["error"]
        headers = {"Retry-After": str(error["retry_after_s"])} if "retry_after_s" in error else {}
        return {"status": STATUSES[error["code"]], "headers": headers, "body": {"error": {"message": error["message"]}}}
    return {**reply, "usage": {"prompt_tokens": 10, "completion_tokens": 2}} if "usage" in reply else reply


class InProcess:
    """litellm's route without its process, which would take 5 s to start for every test (tests/model/test_litellm.py)."""

    name = "litellm"
    context_window: int | None = None

    def __init__(self, choice: ModelChoice) -> None:
        self.endpoint = make_endpoint(provider_settings(choice, {}))

    def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        return self.endpoint.reply(conversation)

    async def aclose(self) -> None:
        await self.endpoint.aclose()


@pytest.fixture(params=["replay", "streamed", "whole", *LITELLM])
async def start(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Start]:
    models: list[Model] = []
    with FakeModel() as server:

        async def start_model(script: Script) -> Model:
            if request.param == "replay":
                recording = tmp_path / "script.jsonl"
                recording.write_text("".join(json.dumps(reply) + "\n" for reply in script))
                choice = ModelChoice(f"replay:{recording}")
            else:
                server.script += [as_answer(reply) for reply in script]
                name = "anthropic/fake-model" if request.param == "litellm-anthropic" else "fake-model"
                route = Route.LITELLM if request.param in LITELLM else Route.DIRECT
                choice = ModelChoice(name, server.url, stream=request.param != "whole", route=route)
                if request.param in LITELLM:
                    models.append(InProcess(choice))
                    return models[-1]
            models.append(make_model(choice, {}, tmp_path / "worker.log"))
            return models[-1]

        yield start_model
        for model in models:
            await model.aclose()
        assert server.violations == []


async def parts_of(model: Model, conversation: Conversation = HELLO, parts: list[Part] | None = None) -> list[Part]:
    """All parts; those before a failure are in `parts` too."""
    parts = [] if parts is None else parts
    async with aclosing(model.reply(conversation)) as stream:
        async for part in stream:
            parts.append(part)
    return parts


async def reply_of(model: Model, conversation: Conversation = HELLO) -> Reply:
    last = (await parts_of(model, conversation))[-1]
    assert isinstance(last, Reply)
    return last


async def test_the_parts_add_up_to_the_reply_which_comes_last_and_once(start: Start) -> None:
    script: Script = [
        {"text": "Let me look 👀 twice.", "reasoning": "He wants a list.", "calls": [{"command": "ls"}, {"command": "pwd"}]}
    ]
    *parts, reply = await parts_of(await start(script))
    assert isinstance(reply, Reply)
    assert not any(isinstance(part, Reply) for part in parts)
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == "Let me look 👀 twice." == reply.message.text
    assert "".join(part.text for part in parts if isinstance(part, ReasoningPart)) == reply.message.reasoning
    for call in reply.message.tool_calls:
        fragments = [part for part in parts if isinstance(part, CallPart) and part.id == call.id]
        assert {part.name for part in fragments} == {"run"}
        assert "".join(part.arguments for part in fragments) == call.arguments
    assert [json.loads(call.arguments) for call in reply.message.tool_calls] == [{"command": "ls"}, {"command": "pwd"}]


async def test_the_replies_come_in_order_one_per_request(start: Start) -> None:
    model = await start([{"text": "first"}, {"text": "second"}])
    assert [(await reply_of(model)).message.text for _ in range(2)] == ["first", "second"]


async def test_usage_is_told_when_it_is_known(start: Start) -> None:
    model = await start([{"text": "yes", "usage": {"input_tokens": 10, "output_tokens": 2}}])
    usage = (await reply_of(model)).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (10, 2, None)


@pytest.mark.parametrize("arguments", ['{"command": "ls', "null", "[]", "", "{'command': 'ls'}", '{"command": "a\nb"}'])
async def test_broken_arguments_are_delivered_as_the_model_wrote_them(start: Start, arguments: str) -> None:
    model = await start([{"calls": [{"name": "run", "arguments": arguments}]}])
    assert [call.arguments for call in (await reply_of(model)).message.tool_calls] == [arguments]


async def test_a_name_that_is_no_tool_is_delivered_too(start: Start) -> None:
    model = await start([{"calls": [{"name": "read file", "arguments": "{}"}]}])
    assert (await reply_of(model)).message.tool_calls[0].name == "read file"


async def test_a_history_with_answered_calls_is_taken(start: Start) -> None:
    model = await start([{"text": "first", "calls": [{"command": "ls"}]}, {"text": "done"}])
    asked = (await reply_of(model)).message
    history = (*HELLO.messages, asked, ToolMessage(asked.tool_calls[0].id, "a.txt\n[exit:0 | 3ms]"))
    assert (await reply_of(model, Conversation(HELLO.system, history, (RUN,)))).message.text == "done"


async def test_an_id_of_a_call_is_never_used_twice_in_a_conversation(start: Start) -> None:
    script: Script = [{"calls": [{"command": "ls"}]}]
    first = (await reply_of(await start(script))).message
    call = first.tool_calls[0]
    history = (*HELLO.messages, first, ToolMessage(call.id, "ok"))
    model = await start([{"calls": [{"name": "run", "arguments": "{}"}]}])
    again = (await reply_of(model, Conversation("", history, (RUN,)))).message.tool_calls[0]
    assert again.id != call.id


@IN_PARTS
async def test_a_cut_stream_streams_its_text_and_then_fails_without_a_reply(start: Start) -> None:
    model = await start([{"text": "I will remove", "calls": [{"command": "rm -rf build"}], "cut": True}, {"text": "back"}])
    parts: list[Part] = []
    with pytest.raises(ModelError, match="connection lost") as caught:
        await parts_of(model, HELLO, parts)
    assert caught.value.code is ErrorCode.NETWORK
    assert caught.value.retryable
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == "I will remove"
    assert not any(isinstance(part, Reply) for part in parts)
    assert (await reply_of(model)).message.text == "back"


@pytest.mark.parametrize("code", ["RATE_LIMIT", "SERVER_ERROR", "BAD_REQUEST"])
async def test_a_failure_has_its_code_and_the_words_of_the_server(start: Start, code: str) -> None:
    model = await start([{"error": {"code": code, "message": "not today"}}, {"text": "back"}])
    with pytest.raises(ModelError, match="not today") as caught:
        await parts_of(model)
    assert caught.value.code == code
    assert caught.value.retry_after_s is None
    assert (await reply_of(model)).message.text == "back"


async def test_a_rate_limit_says_how_long_to_wait(start: Start) -> None:
    model = await start([{"error": {"code": "RATE_LIMIT", "message": "slowly", "retry_after_s": 2}}])
    with pytest.raises(ModelError) as caught:
        await parts_of(model)
    assert caught.value.retry_after_s == 2


@IN_PARTS
async def test_closing_the_generator_ends_a_reply_that_hangs_at_once(start: Start) -> None:
    model = await start([{"text": "wait", "hang": True}, {"text": "back"}])
    async with asyncio.timeout(20):
        stream = model.reply(HELLO)
        assert isinstance(await anext(stream), TextPart)
        began = time.monotonic()
        await stream.aclose()
        assert time.monotonic() - began < 10
        assert (await reply_of(model)).message.text == "back"


@IN_PARTS
async def test_cancelling_the_task_ends_a_reply_that_hangs(start: Start) -> None:
    model = await start([{"text": "wait", "hang": True}, {"text": "back"}])
    began = asyncio.Event()

    async def read() -> None:
        async with aclosing(model.reply(HELLO)) as parts:
            async for _ in parts:
                began.set()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        task = group.create_task(read())
        await began.wait()
        task.cancel()
    assert task.cancelled()
    assert (await reply_of(model)).message.text == "back"


@pytest.mark.parametrize("start", ["replay", "streamed"], indirect=True)
async def test_closing_the_model_is_quick_while_a_reply_hangs_and_may_be_repeated(start: Start) -> None:
    model = await start([{"text": "wait", "hang": True}])
    stream = model.reply(HELLO)
    await anext(stream)
    began = time.monotonic()
    await model.aclose()
    assert time.monotonic() - began < 10
    await stream.aclose()
    await model.aclose()


async def test_no_text_of_a_conversation_is_refused(start: Start) -> None:
    evil = "a\0b \ud83d lone \udfff 😀\u2028\r\n\x1b[31m"
    call = ToolCall("id-1", "read file\0\ud800", '{"command": "\ud800')
    history = (
        UserMessage(evil),
        AssistantMessage(evil, (call,)),
        ToolMessage("id-1", "\0"),
        AssistantMessage(evil),
        UserMessage(evil),
    )
    model = await start([{"text": "fine"}])
    assert (await reply_of(model, Conversation(evil, history, (RUN,)))).message.text == "fine"


async def test_text_of_a_model_has_neither_nul_nor_lone_surrogates(start: Start) -> None:
    model = await start([{"text": "a\0b", "calls": [{"name": "run", "arguments": '{"command": "\0"}'}]}])
    message = (await reply_of(model)).message
    assert message.text == "a\ufffdb"
    assert message.tool_calls[0].arguments == '{"command": "\ufffd"}'
