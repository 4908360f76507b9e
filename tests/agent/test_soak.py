"""A thousand turns in one session: memory and descriptors stay flat, the log stays valid, everything sent is valid."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from agentclip.agent.options import AgentOptions
from agentclip.events import SnapshotTaken, TurnEnd
from agentclip.store.log import read_log
from tests.agent.crasher import DirectModel
from tests.agent.snapshot.work import Plan, is_for_snapshot, snapshot_reply
from tests.agent.workbench import asked, bench
from tests.fake_model.script import Reply, run, text
from tests.fake_model.server import FakeModel

TURNS = 1000
WARM_UP = 100
MAX_GROWTH_MB = 30


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


class ForgetfulServer(FakeModel):
    """Keeps what was wrong with its requests, not the requests: the test measures the agent."""

    def forget(self) -> None:
        assert self.violations == []
        self.requests[:-1] = []


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_a_thousand_turns_leave_no_trace_in_memory(tmp_path: Path) -> None:
    def work(number: int) -> Reply:
        return run(f"seq -s ' ' {number} {number + 150}") if number % 2 else text(f"answer {number}")

    plan = Plan(work, [snapshot_reply("count for ever"), text("broken"), snapshot_reply("count on")] * 50)
    options = AgentOptions(snapshot_max_tokens=12_000, judge_progress=False)
    with ForgetfulServer(plan) as server:
        async with bench(tmp_path, DirectModel(server.url), options=options) as it:
            memory, files = 0.0, 0
            for turn in range(1, TURNS + 1):
                assert (await it.agent.turn(f"prompt {turn}: count on")).reason is TurnEnd.ANSWERED
                it.told.clear()
                server.forget()
                if turn == WARM_UP:
                    memory, files = resident_mb(), descriptors()
            assert resident_mb() - memory < MAX_GROWTH_MB
            assert descriptors() <= files + 2
            log = read_log(it.session.folder / "events.jsonl")
            assert (log.skipped, log.torn) == (0, b"")
            assert [recorded.seq for recorded in log.events] == list(range(1, len(log.events) + 1))
            taken = sum(isinstance(recorded.event, SnapshotTaken) for recorded in log.events)
            assert taken > 10
            assert not is_for_snapshot(server.last.body)
            name = it.session.id
        plan.work = lambda _: text("pong")
        async with bench(tmp_path, DirectModel(server.url), resume=name) as it:
            await asked(it, "ping", "pong")
            assert len(server.last.raw) < 80_000
        assert server.violations == []
