"""The recording that ships: its commands work where only bash and coreutils are, and show what its text promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentclip.model.replay import DEMO, read_recording


@dataclass(frozen=True, slots=True)
class Ran:
    """One run as the log tells it."""

    command: str
    status: int
    shown: str


@pytest.fixture
def runs(tmp_path: Path) -> list[Ran]:
    """The recording played without its pauses; all runs in order."""
    replies = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    for reply in replies:
        reply |= {key: 0 for key in ("pause_s", "delay_s") if key in reply}
    recording = tmp_path / "quick.jsonl"
    recording.write_text("".join(json.dumps(reply) + "\n" for reply in replies), encoding="utf-8")
    scratch = tmp_path / "scratch dir"
    scratch.mkdir()
    program = [sys.executable, "-m", "agentclip", "run", "--model", f"replay:{recording}", "show me"]
    subprocess.run(program, cwd=scratch, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    (log,) = Path(os.environ["XDG_STATE_HOME"]).glob("agentclip/sessions/*/events.jsonl")
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    finished = [event for event in events if event["type"] == "CommandFinished"]
    return [Ran(e["result"]["chain"]["source"], e["result"]["status"], e["shown"]["text"]) for e in finished]


def test_every_command_of_the_demo_shows_what_its_text_promises(runs: list[Ran]) -> None:
    promised = [
        ("for ((i = 1; i <= 1050", 0, "[exit:0"),
        ("head 3 app.log", 0, "12:00:03 INFO  request 3"),
        ("cat app.log | grep ERROR | wc -l", 0, "42\n[exit:0"),
        ("cat yesterday.log ||", 0, "[stderr] cat: yesterday.log: No such file"),
        ("search ERROR app.log", 127, "Available: cat, head,"),
        ("for ((i = 1; i <= 5000", 0, "--- output truncated (5000 lines, "),
        ("grep -c 'value 1$' ", 0, "row 5000 value 225"),
        ("base64 -d > clip.png", 0, "[exit:0"),
        ("cat clip.png", 0, "[error] binary image (376B). Use: see clip.png"),
        ("see clip.png", 0, "image/png 64x64"),
        ("write report.md", 0, "Written 94 bytes"),
        ("cat report.md && ls", 0, "app.log\nclip.png\nreport.md\n"),
    ]
    assert len(runs) == len(promised)
    for ran, (command, status, shown) in zip(runs, promised, strict=True):
        assert ran.command.startswith(command)
        assert (ran.status, shown in ran.shown) == (status, True), ran.shown[:500]
    assert len(runs[6].shown) < 2048


def test_the_demo_is_paced_for_a_person() -> None:
    demo = read_recording(DEMO)
    assert "recorded" in demo.title
    seconds = sum(reply.pause_s + reply.delay_s * len(reply.text.split()) for reply in demo.replies)
    assert 18 < seconds < 25
    assert demo.replies[-1].calls == ()
