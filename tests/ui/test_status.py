"""The status line, the stage strip and the notices tell what the events told."""

from __future__ import annotations

import pytest

from agentclip.events import AssistantReplied, ResultsMasked, SnapshotTaken, StageProgress
from agentclip.messages import AssistantMessage, Usage
from agentclip.ui.format import spending
from tests.ui.screens import drawn, make_app, screen_rows, screen_text
from tests.ui.scripted import ScriptedAgent


@pytest.mark.parametrize(
    ("tokens", "window", "cost", "expected"),
    [
        (1400, 10_000, 0.041, "ctx 14%  $0.04"),
        (1400, None, 0.041, "$0.04"),
        (None, 10_000, None, ""),
        (1400, 10_000, None, "ctx 14%"),
        (1400, 0, 0.0, ""),
    ],
)
def test_what_is_not_known_is_left_out(tokens: int | None, window: int | None, cost: float | None, expected: str) -> None:
    assert spending(tokens, window, cost) == expected


async def test_context_and_cost_stand_in_the_status_line_and_shrink_with_a_snapshot(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(140, 40)) as pilot:
        await drawn(pilot)
        assert "ctx" not in screen_rows(app)[0]
        assert "$" not in screen_rows(app)[0]
        agent.context_window = 10_000
        agent.usage = Usage(1400, 5, cost_usd=0.041)
        agent.publish(AssistantReplied(AssistantMessage("hello"), Usage(1400, 5)))
        await drawn(pilot)
        assert "ctx 14%  $0.04" in screen_rows(app)[0]
        agent.publish(SnapshotTaken(2, "<state_snapshot/>", 1, (), 9000, 500))
        await drawn(pilot)
        assert "ctx 5%" in screen_rows(app)[0]
        assert "9,000" not in screen_text(app)
        agent.publish(ResultsMasked(3, 500, 100))
        await drawn(pilot)
        assert "ctx 1%" in screen_rows(app)[0]
        assert "old results are sent shortened" in screen_text(app)


async def test_the_stage_strip_counts_bytes_while_a_stage_runs(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=(140, 40)) as pilot:
        run = agent.start("cat big | wc -l")
        run.stage(0)
        run.stage(1)
        agent.publish(StageProgress(1, 0, 10, 41 * 1024), StageProgress(1, 1, 2048, 0), StageProgress(1, 9, 1, 1))
        await drawn(pilot)
        assert "cat … 41KB -> wc … < 2.0KB" in screen_text(app)
        run.finish()
        await drawn(pilot)
        assert "…" not in screen_rows(app)[2]


@pytest.mark.parametrize("columns", [*range(34, 64), 80, 100, 140])
async def test_state_and_sandbox_are_never_cut_and_what_stands_beside_them_stands_whole(
    agent: ScriptedAgent, columns: int
) -> None:
    app = make_app(agent)
    async with app.run_test(size=(columns, 20)) as pilot:
        agent.context_window = 10_000
        agent.usage = Usage(1400, 5, cost_usd=0.041)
        agent.publish(AssistantReplied(AssistantMessage("hello"), Usage(1400, 5)))
        await drawn(pilot)
        row = screen_rows(app)[0]
        assert " idle  no sandbox " in row or columns < 35
        agent.begin("go")
        agent.start("sleep 100")
        await drawn(pilot)
        row = screen_rows(app)[0]
        assert " running 00:0" in row
        assert "  no sandbox " in row or columns < 45
        assert "ctx" not in row or "ctx 14%  $0.04 " in row
        assert "agent" not in row or row.startswith(" agentclip ")


@pytest.mark.parametrize("width", [140, 100, 80, 60, 40, 30])
async def test_stages_there_is_no_room_for_are_counted(agent: ScriptedAgent, width: int) -> None:
    names = [f"stage-{number}" for number in range(100)]
    app = make_app(agent)
    async with app.run_test(size=(width, 24)) as pilot:
        if not app.board.head.display:
            await pilot.press("f6")
        for count in (1, 2, 3, 4, 5, 8, 100):
            agent.run(" | ".join(names[:count]), b"")
            await drawn(pilot)
            strip = next(row for row in screen_rows(app) if " stages " in row).split(" stages ")[1].rstrip(" │")
            shown, _, more = strip.partition(" … +")
            told = shown.split(" -> ") if shown and not shown.startswith("…") else []
            assert told == [f"{name} 0" for name in names[: len(told)]]
            assert len(told) + int(more or 0) == count
            assert count > 1 or not more
