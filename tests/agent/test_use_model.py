"""Another model in the middle of a session: when it begins to answer, what it gets to read, and what becomes of the old one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentclip.config import Settings
from agentclip.events import Notice
from agentclip.model.protocol import ProviderSettings
from agentclip.model.remote import WorkerModel
from agentclip.runtime import conversation, open_session
from tests.agent.crasher import DirectModel
from tests.agent.workbench import against, asked, roles, turn_in_the_background, until
from tests.fake_model.server import FakeModel, run, text


def lives(pid: int | None) -> bool:
    assert pid is not None
    return Path(f"/proc/{pid}").exists()


async def test_an_idle_session_goes_on_with_another_model_and_its_whole_history(tmp_path: Path) -> None:
    async with against(tmp_path, [run("echo one"), text("done")]) as (it, first):
        await it.agent.turn("go")
        with FakeModel([run("echo two"), text("me")]) as second:
            model = DirectModel(second.url)
            old = await it.agent.use_model(model)
            assert old is not model
            assert [event.text for event in it.of(Notice)] == [f"{model.name} answers from here on"]
            await asked(it, "who?", "me")
            assert roles(second) == ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
            assert second.violations == []
            assert await it.agent.use_model(old) is model
            await model.aclose()
        assert len(first.requests) == 2


async def test_a_turn_that_runs_is_ended_by_the_model_that_began_it(tmp_path: Path) -> None:
    async with against(tmp_path, [run("until test -e go; do sleep 0.02; done"), text("first")]) as (it, _):
        with FakeModel([text("second")]) as other:
            model = DirectModel(other.url)
            async with turn_in_the_background(it, "work") as turn:
                await until(lambda: it.agent.active)
                freed = asyncio.ensure_future(it.agent.use_model(model))
                await asyncio.sleep(0)
                assert not freed.done()
                (it.work / "go").touch()
                await turn
            old = await freed
            await asked(it, "and now?", "second")
            assert other.violations == []
            assert await it.agent.use_model(old) is model
            await model.aclose()


async def test_of_two_wishes_the_later_one_counts_and_the_other_model_comes_back(tmp_path: Path) -> None:
    async with against(tmp_path, [run("until test -e go; do sleep 0.02; done"), text("first")]) as (it, server):
        never, then = DirectModel(server.url), DirectModel(server.url)
        async with turn_in_the_background(it, "work") as turn:
            await until(lambda: it.agent.active)
            one = asyncio.ensure_future(it.agent.use_model(never))
            other = asyncio.ensure_future(it.agent.use_model(then))
            assert await one is never
            (it.work / "go").touch()
            await turn
        old = await other
        assert old is not then
        await never.aclose()
        await old.aclose()


async def test_the_process_of_the_old_model_is_gone_and_the_new_one_ends_with_the_session(tmp_path: Path) -> None:
    with FakeModel([text("a")]) as first, FakeModel([text("b")]) as second:
        models = [
            WorkerModel(server.url, ProviderSettings("fake-model", server.url), tmp_path / "log") for server in (first, second)
        ]
        session = open_session(None, tmp_path, "fake-model")
        async with conversation(Settings(), models[0], session) as talk:
            await talk.agent.turn("one")
            pid = models[0].worker_pid
            await talk.use_model(models[1])
            assert models[0].worker_pid is None
            assert not lives(pid)
            await talk.agent.turn("two")
            assert session.meta.model == models[1].name
            pid = models[1].worker_pid
        assert not lives(pid)
        assert first.violations == second.violations == []
