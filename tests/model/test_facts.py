"""What is known of models, and when the context window becomes known."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation, UserMessage
from agentclip.model.base import ModelFacts
from agentclip.model.catalog import ModelChoice, make_model
from agentclip.model.facts import read_models, table_facts
from agentclip.model.remote import WorkerModel
from tests.fake_model.server import FakeModel, text


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        ({"id": "m", "object": "model"}, ModelFacts("m")),
        (
            {"id": "m", "context_length": 131072, "architecture": {"input_modalities": ["text", "image"]}},
            ModelFacts("m", 131072, images=True),
        ),
        (
            {"id": "m", "context_window": 8192, "architecture": {"input_modalities": ["text"]}},
            ModelFacts("m", 8192, images=False),
        ),
        ({"id": "m", "max_model_len": 4096}, ModelFacts("m", 4096)),
        ({"name": "m", "meta": {"n_ctx_train": 32768}}, ModelFacts("m", 32768)),
        ({"id": "m\x1b[31m\n", "context_length": "many", "max_model_len": True, "meta": []}, ModelFacts("m[31m")),
    ],
)
def test_the_list_is_read_as_many_servers_write_it(row: dict[str, Any], facts: ModelFacts) -> None:
    assert read_models({"data": [row]}) == (facts,)


@pytest.mark.parametrize("answer", [{}, {"data": None}, {"data": {}}, {"data": [1, None, "x", {}, {"id": 3}]}, {"models": "x"}])
def test_a_list_that_is_none_holds_no_models(answer: dict[str, Any]) -> None:
    assert read_models(answer) == ()


def test_the_table_knows_well_known_models_and_nothing_of_others() -> None:
    found = table_facts(("openai/gpt-4o", "gpt-4o"))
    assert found is not None
    assert (found.context_window, found.images) == (128_000, True)
    assert table_facts(("", "no-such-model")) is None


def worker_model(server: FakeModel, tmp_path: Path, **more: Any) -> WorkerModel:
    model = make_model(ModelChoice("fake-model", server.url, **more), {}, tmp_path / "log")
    assert isinstance(model, WorkerModel)
    return model


async def ask(model: WorkerModel) -> None:
    async with aclosing(model.reply(Conversation("", (UserMessage("hi"),), ()))) as parts:
        async for _ in parts:
            pass


async def test_the_window_becomes_known_after_the_first_reply(tmp_path: Path) -> None:
    with FakeModel([text("a")], windows={"fake-model": 4321}) as server:
        model = worker_model(server, tmp_path)
        assert model.context_window is None
        await ask(model)
        async with asyncio.timeout(20):
            while model.context_window is None:  # noqa: ASYNC110  told by another process
                await asyncio.sleep(0.01)
        assert model.context_window == 4321
        await model.aclose()


async def test_a_configured_window_is_known_at_once_and_nobody_is_asked(tmp_path: Path) -> None:
    with FakeModel([text("a"), text("b")], windows={"fake-model": 4321}) as server:
        model = worker_model(server, tmp_path, context_window=1000)
        assert model.context_window == 1000
        await ask(model)
        await ask(model)
        await model.aclose()
        assert server.listed == 0


async def test_the_list_comes_through_the_process_and_its_refusal_too(tmp_path: Path) -> None:
    with FakeModel(models=["a", "b"], key="right") as server:
        right = worker_model(server, tmp_path, key="right")
        assert await right.models() == (ModelFacts("a"), ModelFacts("b"))
        await right.aclose()
        wrong = worker_model(server, tmp_path, key="wrong")
        with pytest.raises(ModelError) as caught:
            await wrong.models()
        assert caught.value.code is ErrorCode.BAD_KEY
        await wrong.aclose()
