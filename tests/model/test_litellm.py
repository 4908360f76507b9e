"""litellm's route in its own process: what it prints, when it stops, what it never delays. The contract is in contracts/."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation, Image, Usage, UserMessage
from agentclip.model.base import Endpoint, Part, Reply, TextPart
from agentclip.model.catalog import ModelChoice, make_model, provider_settings
from agentclip.model.protocol import Prices
from agentclip.model.providers import Route
from agentclip.model.remote import WorkerModel
from agentclip.model.worker import make_endpoint
from tests.commands.pictures import png
from tests.fake_model.server import FakeModel, text

HELLO = Conversation("", (UserMessage("hello"),), ())
STYLES = pytest.mark.parametrize("name", ["gpt-4o", "anthropic/claude-sonnet-4-5"])


@pytest.fixture
async def server() -> AsyncIterator[FakeModel]:
    with FakeModel() as server:
        yield server
        assert server.violations == []


def endpoint(server: FakeModel, name: str, **more: Any) -> Endpoint:
    """In this process, which loads litellm once."""
    choice = ModelChoice(name, server.url, route=Route.LITELLM, key_variable="K", **more)
    return make_endpoint(provider_settings(choice, {"K": "sk-secret-123"}))


async def parts_of(endpoint: Endpoint | WorkerModel, conversation: Conversation = HELLO) -> list[Part]:
    async with aclosing(endpoint.reply(conversation)) as parts:
        return [part async for part in parts]


async def test_loading_it_neither_delays_our_loop_nor_prints_anything(
    server: FakeModel, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server.script += [{"status": 500, "body": {"error": {"message": "broken"}}}, text("fine"), text("wait", hang=True)]
    choice = ModelChoice("anthropic/claude-sonnet-4-5", server.url, route=Route.LITELLM)
    model = make_model(choice, {}, tmp_path / "model.log")
    assert isinstance(model, WorkerModel)
    delays = []

    async def measure() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            delays.append(time.perf_counter() - began - 0.005)

    measuring = asyncio.ensure_future(measure())
    with pytest.raises(ModelError, match="broken"):
        await parts_of(model)
    measuring.cancel()
    # The machine itself may be busy: what the loop loses is judged by the median of its worst hundredth.
    worst = sorted(delays)[-max(1, len(delays) // 100) :]
    assert worst[len(worst) // 2] < 0.05
    assert [part.text for part in await parts_of(model) if isinstance(part, TextPart)] == ["fine"]
    stream = model.reply(HELLO)
    assert isinstance(await anext(stream), TextPart)
    closing = time.monotonic()
    await stream.aclose()
    assert await asyncio.to_thread(server.last.closed.wait, 20)
    assert server.last.closed_at is not None
    assert server.last.closed_at - closing < 5
    await model.aclose()
    assert capfd.readouterr() == ("", "")


@STYLES
@pytest.mark.parametrize("hang", [True, "start"])
async def test_a_cancel_closes_the_socket_at_once(server: FakeModel, name: str, hang: object) -> None:
    server.script.append(text("wait", hang=hang))
    route = endpoint(server, name)
    task = asyncio.ensure_future(parts_of(route))
    request = (await asyncio.to_thread(server.wait_for_requests, 1))[0]
    began = time.monotonic()
    task.cancel()
    assert await asyncio.to_thread(request.closed.wait, 20)
    assert request.closed_at is not None
    assert request.closed_at - began < 5
    with pytest.raises(asyncio.CancelledError):
        await task


@STYLES
async def test_closing_between_two_parts_closes_the_socket(server: FakeModel, name: str) -> None:
    server.script.append(text("many words to come", hang=True))
    stream = endpoint(server, name).reply(HELLO)
    assert isinstance(await anext(stream), TextPart)
    began = time.monotonic()
    await stream.aclose()
    assert await asyncio.to_thread(server.last.closed.wait, 20)
    assert server.last.closed_at is not None
    assert server.last.closed_at - began < 5


@STYLES
@pytest.mark.parametrize("hang", [True, "start"])
async def test_a_stall_ends_the_request(server: FakeModel, name: str, hang: object) -> None:
    server.script.append(text("wait", hang=hang))
    with pytest.raises(ModelError, match=r"sent nothing for 0\.3 s") as caught:
        await parts_of(endpoint(server, name, stall_timeout_s=0.3))
    assert caught.value.code is ErrorCode.NETWORK
    assert await asyncio.to_thread(server.last.closed.wait, 20)


@STYLES
async def test_a_rate_limit_is_told_once_and_not_retried_in_secret(server: FakeModel, name: str) -> None:
    body = {"error": {"message": "slowly, sk-secret-123", "type": "rate_limit_error"}}
    server.script.append({"status": 429, "headers": {"Retry-After": "2"}, "body": body, "repeat": True})
    with pytest.raises(ModelError, match="slowly") as caught:
        await parts_of(endpoint(server, name))
    assert (caught.value.code, caught.value.retry_after_s) == (ErrorCode.RATE_LIMIT, 2)
    assert "sk-secret" not in str(caught.value)
    assert "litellm" not in str(caught.value)
    assert len(server.requests) == 1


@STYLES
@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (401, "invalid x-api-key", ErrorCode.BAD_KEY),
        (404, "model: no-such not found", ErrorCode.UNKNOWN_MODEL),
        (400, "prompt is too long: 205880 tokens > 200000 maximum", ErrorCode.CONTEXT_TOO_LONG),
        (413, "", ErrorCode.CONTEXT_TOO_LONG),
        (529, "Overloaded", ErrorCode.SERVER_ERROR),
        (503, "try later", ErrorCode.SERVER_ERROR),
    ],
)
async def test_refusals_have_their_kind(server: FakeModel, name: str, status: int, message: str, code: ErrorCode) -> None:
    server.script.append({"status": status, "body": {"type": "error", "error": {"type": "x", "message": message}}})
    with pytest.raises(ModelError) as caught:
        await parts_of(endpoint(server, name))
    assert caught.value.code is code
    assert message in str(caught.value)


@STYLES
async def test_a_server_that_is_not_there_is_named(name: str) -> None:
    with FakeModel() as server:
        route = endpoint(server, name)
    with pytest.raises(ModelError, match="refuses the connection") as caught:
        await parts_of(route)
    assert caught.value.code is ErrorCode.UNAVAILABLE


@STYLES
async def test_a_text_only_model_gets_a_note_instead_of_the_picture_for_good(
    server: FakeModel, name: str, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(png(4, 3))
    picture = Image(str(tmp_path / "a.png"), "image/png", "a.png", 4, 3)
    refusal = {"status": 404, "body": {"error": {"message": "No endpoints found that support image input"}}}
    server.script += [refusal, text("ok"), text("again")]
    route = endpoint(server, name)
    conversation = Conversation("", (UserMessage("look", (picture,)),), ())
    first, second = (await parts_of(route, conversation))[-1], (await parts_of(route, conversation))[-1]
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert first.notes == second.notes == ("the endpoint takes no pictures: they were replaced by a note",)
    assert ["base64" in request.raw.decode() for request in server.requests] == [True, False, False]


@STYLES
async def test_cached_tokens_are_told_and_the_cost_only_where_it_is_known(server: FakeModel, name: str) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    server.script += [text("a", usage=usage), text("b", usage=usage)]
    unknown = (await parts_of(endpoint(server, name)))[-1]
    known = (await parts_of(endpoint(server, name, prices=Prices(3, 15, 0.3))))[-1]
    assert isinstance(unknown, Reply)
    assert isinstance(known, Reply)
    assert unknown.usage == Usage(1000, 100, 400, None)  # the table's price of that name is another provider's
    assert known.usage is not None
    assert known.usage.cost_usd == pytest.approx((600 * 3 + 400 * 0.3 + 100 * 15) / 1_000_000)


async def test_what_the_table_says_of_a_provider_of_its_own_holds() -> None:
    choice = ModelChoice("claude-sonnet-4-5", key="k")
    route = make_endpoint(provider_settings(choice, {}))
    assert route.context_window == 200_000
    assert any(facts.name.startswith("claude-") and facts.images for facts in await route.models())
