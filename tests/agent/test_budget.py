"""Budgets end a turn between two steps: cleanly, with the history intact, and the message says which one and how to go on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agentclip.agent.budget import Budget
from agentclip.agent.options import AgentOptions
from agentclip.events import CommandFinished, TurnEnd, TurnFinished
from agentclip.messages import Usage
from agentclip.results import Ended
from tests.agent.workbench import against
from tests.fake_model.script import run, text

USED = {"prompt_tokens": 600, "completion_tokens": 10}


@pytest.mark.parametrize(
    ("limit", "usage", "names", "steps"),
    [
        ({"max_steps": 1}, USED, "1 step done, the limit of a turn (--max-steps, agent.max_steps)", 1),
        ({"max_steps": 2}, USED, "2 steps done", 2),
        ({"max_tokens": 1000}, USED, "1,220 tokens used of 1,000, the limit of a turn (--max-tokens, agent.max_tokens)", 2),
        ({"max_tokens": 610}, USED, "610 tokens used of 610", 1),
        ({"max_tokens": 1000}, None, "the provider reports no usage, so --max-tokens", 1),
        ({"max_cost_usd": 1.0}, USED, "the cost of this model is unknown, so --max-cost", 1),
    ],
)
async def test_a_budget_ends_the_turn_between_steps(
    tmp_path: Path, limit: dict[str, Any], usage: dict[str, int] | None, names: str, steps: int
) -> None:
    script = [run("echo 1", usage=usage), run("echo 2", usage=usage), run("echo 3", usage=usage), text("never")]
    async with against(tmp_path, script, options=AgentOptions(**limit)) as (it, server):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.LIMIT, "BUDGET")
        assert names in end.text
        assert end.text.endswith("what was done is kept: say go on, or raise the limit")
        assert len(server.requests) == steps
        assert len(it.of(CommandFinished)) == steps


async def test_an_answer_within_the_last_step_is_an_answer(tmp_path: Path) -> None:
    async with against(tmp_path, [run("echo 1"), text("done")], options=AgentOptions(max_steps=2, max_tokens=9**9)) as (it, _):
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED


async def test_when_the_time_is_up_what_runs_is_cancelled_and_its_output_kept(tmp_path: Path) -> None:
    script = [run("echo begun; exec sleep 1000", "touch never"), text("never")]
    async with against(tmp_path, script, options=AgentOptions(max_time_s=0.7)) as (it, _):
        began = time.monotonic()
        end = await it.agent.turn("go")
        assert time.monotonic() - began < 20
        assert (end.reason, end.code) == (TurnEnd.LIMIT, "BUDGET")
        assert "0.7 s are over, the time of a turn (--max-time, agent.max_time_s)" in end.text
        (finished,) = it.of(CommandFinished)
        assert finished.result.ended is Ended.CANCELLED
        assert finished.shown.text.startswith("begun\n")
        assert not (it.work / "never").exists()


async def test_when_the_time_is_up_a_silent_model_is_left(tmp_path: Path) -> None:
    async with against(tmp_path, [{"hang": "start"}], options=AgentOptions(max_time_s=0.3)) as (it, _):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.LIMIT, "BUDGET")


async def test_each_turn_has_its_own_time_and_a_turn_in_time_is_left_alone(tmp_path: Path) -> None:
    options = AgentOptions(max_time_s=30, max_steps=2)
    async with against(tmp_path, [run("echo 1"), text("a"), run("echo 2"), text("b")], options=options) as (it, _):
        for _ in range(2):
            assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED


def test_money_is_counted_when_it_is_known() -> None:
    budget = Budget(AgentOptions(max_cost_usd=0.05))
    budget.add(Usage(1, 1, 0, 0.03))
    assert budget.end() is None
    budget.add(Usage(1, 1, 0, 0.03))
    end = budget.end()
    assert end is not None
    assert "0.0600 USD used of 0.05, the limit of a turn (--max-cost, agent.max_cost_usd)" in end.text


def test_a_cancel_in_time_stays_a_cancel() -> None:
    end = TurnFinished(TurnEnd.CANCELLED, "cancelled")
    assert Budget(AgentOptions(max_time_s=5)).after_cancel(end) is end


@pytest.mark.parametrize("stopping", [True, False])
async def test_a_turn_that_is_stopping_already_is_left_to_its_ladder_when_the_time_is_up(*, stopping: bool) -> None:
    budget, rang, asked = Budget(AgentOptions(max_time_s=0)), asyncio.Event(), asyncio.Event()

    def is_stopping() -> bool:
        asked.set()
        return stopping

    with budget.clock(rang.set, is_stopping):
        await asyncio.wait_for(asked.wait(), 20)
    assert (rang.is_set(), budget.is_late) == (not stopping, not stopping)
