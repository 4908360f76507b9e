"""A model at long work for tests of snapshots: a server that answers requests for a snapshot, and others, by plan."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentclip.agent.options import AgentOptions
from agentclip.agent.snapshot.document import PARTS
from agentclip.events import Notice, SnapshotTaken
from tests.agent.crasher import DirectModel
from tests.agent.workbench import Bench, bench
from tests.fake_model.script import Reply, text
from tests.fake_model.server import FakeModel

MARK = "You are the memory of agentclip"


class WindowModel(DirectModel):
    """With a window that the test knows."""

    def __init__(self, url: str, window: int | None) -> None:
        super().__init__(url)
        self.context_window = window


def snapshot_reply(goal: str = "the goal", **parts: str) -> dict[str, Any]:
    body = "\n".join(f"<{name}>{parts.get(name, '- noted') if name != PARTS[0] else goal}</{name}>" for name in PARTS)
    return text(f"<scratchpad>SECRET THOUGHT</scratchpad>\n<state_snapshot>\n{body}\n</state_snapshot>")


@dataclass(slots=True)
class Plan:
    """What the server answers."""

    work: Iterator[Reply] | Callable[[int], Reply]
    """To ordinary requests; a function gets their number from 1."""
    snapshots: Sequence[Reply] = field(default_factory=lambda: [snapshot_reply()])
    """To requests for a snapshot; the last one again and again."""
    asked: int = 0
    worked: int = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        if is_for_snapshot(body):
            self.asked += 1
            return self.snapshots[min(self.asked, len(self.snapshots)) - 1]
        self.worked += 1
        return self.work(self.worked) if callable(self.work) else next(self.work)


def is_for_snapshot(body: dict[str, Any]) -> bool:
    return str(body["messages"][0]["content"]).startswith(MARK)


def sizes(server: FakeModel) -> list[int]:
    """Tokens of the ordinary requests, as the server counts them."""
    return [len(request.raw) // 4 for request in server.requests if not is_for_snapshot(request.body)]


def said(body: dict[str, Any]) -> str:
    """All that the messages of a request hold."""
    return "\n".join(str(message.get("content")) for message in body["messages"])


@contextlib.asynccontextmanager
async def working(
    tmp_path: Path, plan: Plan, *, max_tokens: int = 150_000, window: int | None = None, resume: str | None = None
) -> AsyncIterator[tuple[Bench, FakeModel]]:
    """An agent against that plan; every request is valid."""
    options = AgentOptions(snapshot_max_tokens=max_tokens, judge_progress=False)
    with FakeModel(plan) as server:
        async with bench(tmp_path, WindowModel(server.url, window), options=options, resume=resume) as it:
            yield it, server
        assert server.violations == []


def snapshots(it: Bench) -> list[SnapshotTaken]:
    return it.of(SnapshotTaken)


def notices(it: Bench) -> str:
    return "\n".join(event.text for event in it.of(Notice))
