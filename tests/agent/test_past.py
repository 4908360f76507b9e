"""A saved session taken up again: what is read of it is what a program that saw every event would know."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from agentclip.agent.past import Past
from agentclip.agent.snapshot.document import PARTS, ROOT
from agentclip.agent.tally import Tally
from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    Event,
    Notice,
    ResultsMasked,
    SnapshotTaken,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.messages import AssistantMessage, ToolCall, ToolMessage, Usage, UserMessage
from agentclip.store.history import StoredEvents
from agentclip.store.session import Session
from tests.agent.scripted import ScriptedModel, reply
from tests.agent.snapshot.work import Plan, snapshot_reply, working
from tests.agent.workbench import asked, bench, until
from tests.fake_model.script import run, text
from tests.store.samples import finished


def document(number: int) -> str:
    return "".join([f"<{ROOT}>", *(f"<{name}>{name} of {number}</{name}>" for name in PARTS), f"</{ROOT}>"])


def wild(session: Session, dice: random.Random, steps: int) -> None:
    """A log with turns, answers, masks and snapshots, some of them damaged."""
    seqs: list[int] = []
    prompts: list[int] = []
    number = 0

    def add(event: Event) -> None:
        seqs.append(session.append(event).seq)

    for step in range(1, steps + 1):
        call = ToolCall(f"c{step}", "run", '{"command": "ls"}')
        usage = dice.choice([None, Usage(step, 2, 1, 0.01), Usage(step, 1, 0, 0.02), Usage(step, 1, 0, 0.02)])
        match dice.randrange(8):
            case 0:
                add(TurnStarted(UserMessage(f"prompt {step}")))
                prompts = [seqs[-1]]
            case 1:
                add(UserMessageFolded(UserMessage(f"also {step}")))
                prompts.append(seqs[-1])
            case 2:
                add(TurnFinished(TurnEnd.ANSWERED, aside=dice.choice([None, Usage(7, 3, 0, 0.5)])))
            case 3:
                add(Advised(UserMessage("use the tool"), "advised"))
            case 4 if len(seqs) > 3:
                add(ResultsMasked(dice.choice(seqs[-3:]), 100, 50))
            case 5 if len(seqs) > 3:
                number += 1
                first = dice.choice(seqs[-3:])
                kept = tuple(seq for seq in prompts if seq < first)
                written = document(number) if dice.randrange(4) else "damaged"
                add(SnapshotTaken(number, written, first, kept, 100, 50, usage=usage))
            case _:
                add(AssistantReplied(AssistantMessage("doing", (call,)), usage, partial=not dice.randrange(6)))
                output = "out\n" * dice.choice([1, 2000])
                done = finished(str(session.cmd_output), step, call.id, output)
                add(done if dice.randrange(3) else CallAnswered(ToolMessage(call.id, output), "not run"))


def known(past: Past) -> dict[str, object]:
    return {
        "entries": [(e.seq, e.message, e.weight, e.is_prompt, e.source) for e in past.entries],
        "taken": past.taken,
        "snapshot": past.snapshot,
        "number": past.number,
        "prompts": [e.seq for e in past.current_prompts()],
        "estimate": past.estimate,
        "tokens of usage": (past.tally.usage.input_tokens, past.tally.usage.output_tokens, past.tally.usage.cached_tokens),
        "cost": past.tally.usage.cost_usd is None,
        "ids": past.tally.call_ids,
    }


@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_of_a_log_is_what_was_known_when_it_was_written(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    session = Session.create(tmp_path, "/w", "m", "1")
    wild(session, dice, dice.choice([8, 40, 120]))
    session.close()
    again = Session.open(tmp_path, session.id)
    folder = str(again.cmd_output)
    everything = Past(StoredEvents(), again.id, folder)
    everything.take_up()
    for recorded in again.events:
        everything.add(recorded)
    past = Past(again.events, again.id, folder)
    past.take_up()
    assert known(past) == known(everything)
    again.close()


def test_what_a_snapshot_stands_for_is_not_read(tmp_path: Path) -> None:
    session = Session.create(tmp_path, "/w", "m", "1")
    for number in range(300):
        session.append(TurnStarted(UserMessage(f"prompt {number}")))
        session.append(AssistantReplied(AssistantMessage("x" * 10_000), Usage(1, 1, 0, 0.0)))
    last = session.append(TurnStarted(UserMessage("the last")))
    session.append(SnapshotTaken(1, document(1), last.seq, (), 10, 5))
    session.close()
    again = Session.open(tmp_path, session.id)
    told = [recorded.seq for recorded in again.events.conversation(len(again.events), last.seq)]
    assert told == [last.seq, last.seq + 1]
    past = Past(again.events, again.id, str(again.cmd_output))
    past.take_up()
    assert [entry.seq for entry in past.entries] == [last.seq]
    again.close()


async def test_a_snapshot_that_was_thrown_away_is_paid_for_all_the_same(tmp_path: Path) -> None:
    usage = {"usage": {"prompt_tokens": 1000, "completion_tokens": 10}}
    useless = {**snapshot_reply("word " * 20_000), **usage}
    plan = Plan(iter([run("seq 500", **usage), text("done", **usage), text("on", **usage)]), [useless])
    async with working(tmp_path, plan) as (it, server):
        await asked(it, "go", "done")
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(it.agent.serve())
            it.agent.compress()
            await until(lambda: not it.agent.queue and not it.agent.running and it.of(Notice))
            serving.cancel()
        assert plan.asked == 2
        assert it.agent.usage.input_tokens == 1000 * len(server.requests) == 4000
        name = it.session.id
        await asked(it, "more", "on")
        assert it.agent.usage.input_tokens == 5000
    async with bench(tmp_path, ScriptedModel([reply("ok")]), resume=name) as it:
        assert it.agent.usage.input_tokens == 5000
        ends = [recorded.event for recorded in it.agent.history() if isinstance(recorded.event, TurnFinished)]
        assert [end.aside.input_tokens if end.aside else 0 for end in ends] == [0, 2000]


def test_a_tally_counts_what_came_before_and_what_comes_now(tmp_path: Path) -> None:
    session = Session.create(tmp_path, "/w", "m", "1")
    session.append(TurnStarted(UserMessage("go")))
    session.append(AssistantReplied(AssistantMessage("x", (ToolCall("a", "run", "{}"),)), Usage(5, 1, 0, 0.25)))
    tally = Tally(session.events)
    tally.take(AssistantReplied(AssistantMessage("y", (ToolCall("b", "run", "{}"),)), Usage(7, 1, 0, 0.5)))
    tally.take(TurnFinished(TurnEnd.ANSWERED, aside=Usage(100, 0, 0, 1.0)))
    assert tally.usage == Usage(112, 2, 0, 1.75)
    assert tally.call_ids == {"a", "b"}
    session.close()
