"""Cancel at every point: finished work and partial text stay, the rest is answered, the next request is valid."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from agentclip.agent.options import AgentOptions
from agentclip.events import AssistantReplied, CallAnswered, CommandFinished, CommandStarted, RetryWaiting, TextDelta, TurnEnd
from agentclip.results import Ended
from tests.agent.workbench import against, answers, roles, turn_in_the_background, until
from tests.fake_model.script import run, text


async def test_before_the_first_token_nothing_is_stored_of_the_answer(tmp_path: Path) -> None:
    async with (
        against(tmp_path, [{"hang": "start"}], in_process=False) as (it, server),
        turn_in_the_background(it, "go") as turn,
    ):
        await until(lambda: server.requests)
        began = time.monotonic()
        it.agent.cancel()
        assert (await turn).reason is TurnEnd.CANCELLED
        assert time.monotonic() - began < 5
        assert it.of(AssistantReplied) == []
        assert await asyncio.to_thread(server.last.closed.wait, 5)


@pytest.mark.parametrize("white", ["\n\n", " ", "\u3000\n"])
async def test_white_text_before_the_cancel_is_no_answer(tmp_path: Path, white: str) -> None:
    """Case B49."""
    script: list[Any] = [{"text": white, "piece_chars": 1, "hang": True}, text("hi yourself")]
    async with against(tmp_path, script) as (it, server):
        async with turn_in_the_background(it, "go") as turn:
            await until(lambda: it.of(TextDelta))
            it.agent.cancel()
            assert (await turn).reason is TurnEnd.CANCELLED
        assert it.of(AssistantReplied) == []
        await it.agent.turn("hi")
        assert roles(server) == ["system", "user"]
        assert server.last.messages[1]["content"] == "go\n\nhi"


async def test_partial_text_is_kept_and_marked(tmp_path: Path) -> None:
    script: list[Any] = [{"text": "so far", "reasoning": "thought", "hang": True}, text("x")]
    async with against(tmp_path, script, in_process=False) as (it, server):
        async with turn_in_the_background(it, "go"):
            await until(lambda: "".join(event.text for event in it.of(TextDelta)) == "so far")
            it.agent.cancel()
        (kept,) = it.of(AssistantReplied)
        assert (kept.message.text, kept.message.reasoning, kept.partial) == ("so far", "thought", True)
        await it.agent.turn("next")
        assert [message["content"] for message in server.last.messages[1:]] == ["go", "so far", "next"]


async def test_a_call_being_written_is_dropped_and_never_run(tmp_path: Path) -> None:
    async with against(tmp_path, [{**run("touch ac_half_2"), "text": "I will.", "hang": True}]) as (it, _):
        async with turn_in_the_background(it, "go"):
            await until(lambda: it.of(TextDelta))
            await asyncio.sleep(0.1)  # into the arguments; at worst the cancel comes earlier, with the same outcome
            it.agent.cancel()
        assert not it.of(CommandStarted)
        assert not it.of(CallAnswered)
        assert it.of(AssistantReplied)[0].message.tool_calls == ()
        assert not (it.work / "ac_half_2").exists()


async def test_during_a_run_its_output_stays_and_the_other_calls_are_answered(tmp_path: Path) -> None:
    """Case B48."""
    calls = {"calls": [{"command": "echo begun; sleep 60", "id": "c1"}, {"command": "touch second", "id": "c2"}]}
    async with against(tmp_path, [calls, text("ok")]) as (it, server):
        async with turn_in_the_background(it, "go") as turn:
            await until(lambda: it.agent.active and os.path.exists(it.agent.active.stdout_path))
            await until(lambda: it.agent.active and os.path.getsize(it.agent.active.stdout_path))
            it.agent.cancel()
            assert it.agent.stopping
            it.agent.submit("hi")
            assert list(it.agent.queue) == ["hi"]
            assert (await turn).reason is TurnEnd.CANCELLED
        assert not it.agent.stopping
        await it.agent.turn(it.agent.unqueue() or "")
        assert roles(server) == ["system", "user", "assistant", "tool", "tool", "user"]
        assert answers(server)["c1"].startswith("begun\n[exit:130 | ")
        assert "cancelled" in answers(server)["c1"]
        assert answers(server)["c2"] == "[cancelled: not run]\n[exit:130 | 0ms | cancelled]"
        assert not (it.work / "second").exists()


async def test_the_next_prompt_waits_for_the_ladder_and_then_begins_by_itself(tmp_path: Path) -> None:
    stubborn = run("trap '' INT; echo up; for n in 1 2 3 4 5 6 7 8; do sleep 0.1; done; echo late")
    async with against(tmp_path, [stubborn, text("ok")]) as (it, server), asyncio.TaskGroup() as group:
        serving = group.create_task(it.agent.serve())
        it.agent.submit("go")
        await until(lambda: it.agent.active and os.path.exists(it.agent.active.stdout_path))
        await until(lambda: it.agent.active and os.path.getsize(it.agent.active.stdout_path))
        it.agent.cancel()
        it.agent.submit("next")
        await until(lambda: len(server.requests) == 2)
        assert it.of(CommandFinished)[0].result.ended is Ended.CANCELLED
        await until(lambda: not it.agent.running and not it.agent.queue)
        serving.cancel()


async def test_a_second_cancel_kills_at_once(tmp_path: Path) -> None:
    script = [run("trap '' INT TERM; echo up; while :; do sleep 0.05; done")]
    async with against(tmp_path, script) as (it, _), turn_in_the_background(it, "go") as turn:
        await until(lambda: it.agent.active and os.path.exists(it.agent.active.stdout_path))
        await until(lambda: it.agent.active and os.path.getsize(it.agent.active.stdout_path))
        it.agent.cancel()
        await asyncio.sleep(0.1)
        assert it.agent.running
        began = time.monotonic()
        it.agent.cancel()
        await turn
        assert time.monotonic() - began < 1.7, "the ladder alone would take two seconds"


async def test_between_two_calls_the_rest_is_answered(tmp_path: Path) -> None:
    async with against(tmp_path, [run("echo 1", "echo 2", "echo 3"), text("x")]) as (it, server):

        def stop(event: object) -> None:
            if isinstance(event, CommandFinished):
                it.agent.cancel()

        it.agent.subscribe(stop)
        assert (await it.agent.turn("go")).reason is TurnEnd.CANCELLED
        assert len(it.of(CommandFinished)) == 1
        assert len(it.of(CallAnswered)) == 2
        await it.agent.turn("next")
        assert [answer.split("\n")[0] for answer in answers(server).values()] == ["1"] + ["[cancelled: not run]"] * 2


async def test_in_a_retry_wait(tmp_path: Path) -> None:
    """Case B50, its third part."""
    limited = {"status": 429, "headers": {"Retry-After": "50"}, "body": {"error": {"message": "slow down"}}}
    async with against(tmp_path, [limited, text("x")]) as (it, server):
        async with turn_in_the_background(it, "go") as turn:
            await until(lambda: it.of(RetryWaiting))
            it.agent.cancel()
            assert (await turn).reason is TurnEnd.CANCELLED
        assert len(server.requests) == 1
        await it.agent.turn("again")
        assert server.last.messages[1]["content"] == "go\n\nagain"


async def test_when_idle_it_does_nothing(tmp_path: Path) -> None:
    async with against(tmp_path, [text("x")]) as (it, _):
        it.agent.cancel()
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        it.agent.cancel()
        assert not it.agent.stopping


@pytest.mark.parametrize("moment", [0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08])
async def test_at_any_moment_of_a_step(tmp_path: Path, moment: float) -> None:
    """INV holds wherever the cancel falls; the moments only spread it over the step."""
    script = [run("echo 1; sleep 0.02; echo 2", "echo 3", text="Some text first, so that there is a stream to cut.")]
    async with against(tmp_path, [*script, text("done")]) as (it, _), turn_in_the_background(it, "go") as turn:
        await until(lambda: it.of(TextDelta))
        await asyncio.sleep(moment)
        it.agent.cancel()
        assert (await turn).reason in {TurnEnd.CANCELLED, TurnEnd.ANSWERED}


async def test_cancelling_the_task_that_serves_leaves_a_whole_history(tmp_path: Path) -> None:
    """A screen that ends its worker: what was running is killed and answered, without any await."""
    async with against(tmp_path, [run("echo up; sleep 600", "echo never")], options=AgentOptions()) as (it, _):
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(it.agent.serve())
            it.agent.submit("go")
            await until(lambda: it.agent.active and os.path.exists(it.agent.active.stdout_path))
            await until(lambda: it.agent.active and os.path.getsize(it.agent.active.stdout_path))
            serving.cancel()
        assert not it.agent.running
        assert it.of(CommandFinished)[0].shown.text.startswith("up\n")
        assert it.of(CommandFinished)[0].result.ended is Ended.INTERRUPTED
        assert [event.message.tool_call_id for event in it.of(CallAnswered)] == ["call_1_1"]
