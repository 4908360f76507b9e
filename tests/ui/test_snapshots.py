"""How a finished run looks: three widths, two themes. Update with `pytest tests/ui/test_snapshots.py --snapshot-update`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from agentclip.events import AssistantReplied, Event, TurnEnd, TurnFinished, TurnStarted
from agentclip.messages import AssistantMessage, UserMessage
from agentclip.results import LineFate, LineRange, Presented
from agentclip.ui.app import ChatApp
from agentclip.ui.options import ScreenOptions
from agentclip.ui.picture import idle, take
from tests.ui.screens import until
from tests.ui.scripted import LiveRun, ScriptedAgent

ANSWER = """Two tests **fail** in `test_parser.py`:

- `test_empty` expects `None`
- `test_wide` cuts 日本語 in two

```python
def width(text: str) -> int:
    return sum(wcwidth(sign) for sign in text)  # was len(text)
```
"""


def recorded(folder: Path) -> ScriptedAgent:
    """A session as resume finds it: one run that went well and one that failed, with stderr and lines not sent."""
    maker = ScriptedAgent(folder)
    listing = LiveRun(maker, 1, "ls tests")
    listing.path.write_bytes(b"test_lexer.py\ntest_parser.py\n")
    tests = LiveRun(maker, 2, "pytest -q 2>&1 | tail -n 40")
    tests.path.write_bytes(b"".join(b"\x1b[32m.\x1b[0m test %d passed\n" % number for number in range(60)) + b"2 failed\n")
    tests.stderr_path.write_bytes(b"warning: [cache] is read-only\n")
    end = "2 failed\n[stderr] warning: [cache] is read-only\n[exit:1 | 1.2s | pipe 1,0]"
    text = "".join(f". test {number} passed\n" for number in range(20))
    ranges = (LineRange(0, 19, LineFate.CHANGED, 0), LineRange(20, 59, LineFate.CUT), LineRange(60, 60, LineFate.SHOWN, 21))
    shown = Presented(f"{text}--- output truncated (61 lines, 1.6KB) ---\n{end}", ranges)
    events: list[Event] = [
        TurnStarted(UserMessage("why do the [tests] fail?")),
        AssistantReplied(AssistantMessage("I will run them.")),
        listing.started,
        listing.finished(),
        tests.started,
        tests.finished(status=1, presented=shown),
        AssistantReplied(AssistantMessage(ANSWER)),
        TurnFinished(TurnEnd.ANSWERED),
    ]
    return ScriptedAgent(folder, events, title="why do the [tests] fail?")


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", [(140, 40), (100, 30), (80, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_finished_run(snap_compare: Any, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    async def settle(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: True)

    app = ChatApp(recorded(tmp_path), ScreenOptions(theme=theme, clock=lambda: 0.0))
    assert snap_compare(app, terminal_size=size, run_before=settle)


async def test_a_picture_is_made_by_the_screen_itself(tmp_path: Path) -> None:
    picture = tmp_path / "screen.svg"
    app = ChatApp(recorded(tmp_path), ScreenOptions(clock=lambda: 0.0))
    await take(app, picture, (140, 40), idle)
    svg = picture.read_text(encoding="utf-8").replace("&#160;", " ")
    assert svg.startswith("<svg")
    for text in ("Layer 1", "what the model reads", "test_parser.py", "test_wide"):
        assert text in svg
