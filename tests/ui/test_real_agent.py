"""The screen with the real loop, real bash and a recorded model."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentclip import runtime
from agentclip.config import Settings
from agentclip.model.replay import ReplayModel
from agentclip.ui.app import ChatApp
from agentclip.ui.options import ScreenOptions
from tests.ui.screens import pane_rows, screen_text, send, until

WIDE = (140, 40)


@contextlib.asynccontextmanager
async def talking(folder: Path, replies: list[dict[str, object]], resume: str | None = None) -> AsyncIterator[ChatApp]:
    recording = folder / "recording.jsonl"
    recording.write_text("".join(json.dumps(reply) + "\n" for reply in replies), encoding="utf-8")
    model = ReplayModel(recording)
    session = runtime.open_session(resume, folder, model.name)
    async with runtime.conversation(Settings(), model, session) as talk:
        yield ChatApp(talk.agent, ScreenOptions())


def calls(*commands: str, text: str = "") -> dict[str, object]:
    return {"text": text, "calls": [{"command": command} for command in commands]}


async def test_a_turn_of_twenty_commands_and_what_resume_brings_back(tmp_path: Path) -> None:
    replies: list[dict[str, object]] = [
        calls(*[f"echo out-{number}; echo err-{number} >&2" for number in range(20)], text="many"),
        {"text": "**done**"},
    ]
    async with talking(tmp_path, replies) as app, app.run_test(size=WIDE) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "done" in screen_text(app) and " idle " in screen_text(app))
        assert pane_rows(app.board.raw) == ["= out-19", "! err-19"]
        chat, raw, model = (pane_rows(pane) for pane in app.board.panes.values())
        session_id = app.agent.session_id
    async with talking(tmp_path, [{"text": "welcome back"}], session_id) as app, app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: bool(pane_rows(app.board.model)))
        assert [pane_rows(pane) for pane in app.board.panes.values()] == [chat, raw, model]
        await send(pilot, "again")
        await until(pilot, lambda: "welcome back" in screen_text(app))


async def test_escape_ends_a_command_and_the_next_prompt_works(tmp_path: Path) -> None:
    async with (
        talking(tmp_path, [calls("echo begun; sleep 100 & sleep 100; wait"), {"text": "next one"}]) as app,
        app.run_test(size=WIDE) as pilot,
    ):
        await send(pilot, "go")
        await until(pilot, lambda: pane_rows(app.board.raw) == ["  begun"])
        await pilot.press("escape")
        await until(pilot, lambda: " idle " in screen_text(app))
        assert "cancelled 130" in screen_text(app)
        await send(pilot, "more")
        await until(pilot, lambda: "next one" in screen_text(app))


async def test_a_message_typed_while_a_command_runs_waits_and_is_folded_in(tmp_path: Path) -> None:
    async with (
        talking(tmp_path, [calls("until test -e go; do sleep 0.05; done"), {"text": "seen"}]) as app,
        app.run_test(size=WIDE) as pilot,
    ):
        await send(pilot, "first")
        await until(pilot, lambda: "running" in screen_text(app))
        await send(pilot, "second")
        await until(pilot, lambda: '1 queued: "second"' in screen_text(app))
        (tmp_path / "go").touch()
        await until(pilot, lambda: "seen" in screen_text(app))
        assert "> second" in screen_text(app)
        assert "queued" not in screen_text(app)


async def test_a_line_of_the_person_runs_through_both_layers(tmp_path: Path) -> None:
    async with talking(tmp_path, [{"text": "unused"}]) as app, app.run_test(size=WIDE) as pilot:
        await send(pilot, "!seq 3 | wc -l; nonesuch")
        await until(pilot, lambda: "exit:127" in screen_text(app))
        assert pane_rows(app.board.raw)[0] == "= 3"
        assert "▸  1 ! seq 3 | wc -l; nonesuch" in screen_text(app)


@pytest.mark.parametrize("line", ["[/]", "[red]x", "\\033]52;c;ZWNobyBoaQ==\\007", "\\033[?1049l\\033[2J", "日本語 👩‍🔬"])
async def test_output_is_shown_to_the_letter(tmp_path: Path, line: str) -> None:
    shown = line.replace("\\033", "␛").replace("\\007", "␇")
    async with talking(tmp_path, [calls(f"printf '{line}\\n'"), {"text": line}]) as app, app.run_test(size=WIDE) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: " idle " in screen_text(app) and bool(pane_rows(app.board.raw)))
        assert pane_rows(app.board.raw)[0][2:] == shown
