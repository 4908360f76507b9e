"""How it looks: every state at three sizes in two themes, what lies over the screen in two themes and without colour.

One screen per state is resized and dressed anew for each picture. After a change that was meant:
`pytest tests/ui/test_snapshots.py --snapshot-update`, then look at the pictures that changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]  # ships no types
from textual.pilot import Pilot

from agentclip.events import AssistantReplied, Event, TextDelta, TurnEnd, TurnFinished, TurnStarted
from agentclip.messages import AssistantMessage, Image, Usage, UserMessage
from agentclip.preferences import Preferences
from agentclip.results import LineFate, LineRange, Presented
from agentclip.ui.app import ChatApp
from agentclip.ui.layout import PaneName
from agentclip.ui.options import ScreenOptions
from agentclip.ui.picture import idle, take
from agentclip.ui.shelves import OfferedModel, SavedSession
from tests.ui.screens import screen_text, until
from tests.ui.scripted import LiveRun, ScriptedAgent
from tests.ui.test_setup import ScriptedSetup

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


SIZES = ((140, 40), (100, 30), (80, 24))
THEMES = ("dark", "light")


async def shoot(pilot: Pilot[int], snapshot: Any, size: tuple[int, int], name: str) -> None:
    """Compare what is drawn once nothing moves any more."""
    app = pilot.app
    assert isinstance(app, ChatApp)
    if app.size != size:
        await pilot.resize_terminal(*size)
    seen: list[str] = []

    def still() -> bool:
        laid_out = app.size == size and app.screen._compositor.size == size  # noqa: SLF001  no public way to ask
        seen.append(screen_text(app) if laid_out else "")
        return laid_out and len(seen) > 2 and len(set(seen[-3:])) == 1

    await until(pilot, still)
    assert app.export_screenshot(title="agentclip") == snapshot(name=name)


def empty(agent: ScriptedAgent, _app: ChatApp) -> None:
    assert not agent.history()


def streaming(agent: ScriptedAgent, _app: ChatApp) -> None:
    agent.begin("why do the [tests] fail?")
    agent.run("ls tests", b"test_lexer.py\ntest_parser.py\n")
    agent.publish(TextDelta(ANSWER[:180]))


def running(agent: ScriptedAgent, app: ChatApp) -> None:
    agent.begin("run the tests")
    agent.queue = ("also run lint",)
    run = agent.start("pytest -q | tail -n 3")
    run.stage(0)
    run.stage(1)
    run.write(b"".join(b"\x1b[32m.\x1b[0m test %d passed\n" % number for number in range(60)))
    run.write_stderr(b"warning: [cache] is read-only\n")
    app.board.prompt.insert("typed meanwhile")


def failed(agent: ScriptedAgent, _app: ChatApp) -> None:
    agent.begin("build it")
    agent.run("make all", b"cc -c a.c\n", status=2, stderr=b"a.c:1: error: expected ';'\nmake: *** [all] Error 1\n")
    agent.end(TurnEnd.FAILED, "the model does not answer: [connection] refused")


def overflow(agent: ScriptedAgent, _app: ChatApp) -> None:
    agent.begin("show the log")
    lines = [f"12:{number % 60:02} INFO compiled unit {number}\n" for number in range(900)]
    shown = "".join(lines[:20]) + "--- output truncated (900 lines, 26KB) ---\n" + "".join(lines[-3:]) + "[exit:0 | 1.2s]"
    ranges = (LineRange(0, 19, LineFate.SHOWN, 0), LineRange(20, 896, LineFate.CUT), LineRange(897, 899, LineFate.SHOWN, 21))
    agent.run("cat build.log", "".join(lines).encode(), presented=Presented(shown, ranges))
    agent.say("The log is long.")
    agent.end()


def image(agent: ScriptedAgent, _app: ChatApp) -> None:
    picture = agent.folder / "see-1.png"
    drawn = PIL.Image.new("RGB", (40, 20), "#204060")
    drawn.paste("#f0c040", (10, 5, 30, 15))
    drawn.save(picture)
    agent.begin("what is on the photo?")
    run = agent.start("see photo.png")
    shown = Presented("photo.png: 40x20 PNG, 1KB\n", (), (Image(str(picture), "image/png", "photo.png", 40, 20),))
    run.finish(presented=shown)
    agent.say("A yellow box.")
    agent.end()


def stopping(agent: ScriptedAgent, _app: ChatApp) -> None:
    agent.begin("wait")
    agent.start("sleep 100")
    agent.cancel()


def killing(agent: ScriptedAgent, app: ChatApp) -> None:
    stopping(agent, app)
    app.action_cancel()


def narrow(agent: ScriptedAgent, app: ChatApp) -> None:
    """One pane alone, as a small screen has it."""
    overflow(agent, app)
    app.board.show(PaneName.RAW)
    app.board.maximised = PaneName.RAW
    app.lay_out_now()


STATES = (empty, streaming, running, failed, overflow, image, stopping, killing, narrow)


def scripted(folder: Path) -> ScriptedAgent:
    agent = ScriptedAgent(folder)
    agent.usage = Usage(12_000, 900, cost_usd=0.04)
    agent.context_window = 100_000
    return agent


async def in_all_looks(snapshot: Any, app: ChatApp, make: Callable[[ChatApp], None]) -> None:
    async with app.run_test(size=SIZES[0]) as pilot:
        await until(pilot, lambda: True)
        make(app)
        for theme in THEMES:
            app.action_theme(theme)
            for size in SIZES:
                await shoot(pilot, snapshot, size, f"{size[0]}x{size[1]}-{theme}")


@pytest.fixture
def pictures(snapshot: Any) -> Any:
    return snapshot.use_extension(SVGImageExtension)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
async def test_a_state(pictures: Any, tmp_path: Path, state: Callable[[ScriptedAgent, ChatApp], None]) -> None:
    agent = scripted(tmp_path)
    app = ChatApp(agent, ScreenOptions(clock=lambda: 0.0))
    await in_all_looks(pictures, app, lambda app: state(agent, app))


async def test_a_resumed_session(pictures: Any, tmp_path: Path) -> None:
    app = ChatApp(recorded(tmp_path), ScreenOptions(clock=lambda: 0.0))
    await in_all_looks(pictures, app, lambda _app: None)


class Shelf:
    """Two sessions, two models."""

    def listed(self) -> Sequence[SavedSession]:
        return (
            SavedSession("s-1", "why do the [tests] fail?", os.getcwd(), 1.7e9, 3, "big"),
            SavedSession("s-2", "日本語の parser", os.getcwd(), 1.6e9, 1, "small"),
        )

    def about(self, identifier: str) -> str:
        return f"> the first prompt of {identifier}\n\nan answer"

    def configured(self) -> Sequence[OfferedModel]:
        return (OfferedModel("big", "configured"), OfferedModel("small", "light"))

    async def offered(self) -> Sequence[OfferedModel]:
        return (OfferedModel("other"),)


OVER = {
    "themes": lambda app: app.action_theme(),
    "palette": lambda app: app.action_palette(),
    "help": lambda app: app.action_help(),
    "settings": lambda app: app.action_settings(),
    "sessions": lambda app: app.action_sessions(),
    "models": lambda app: app.action_model(),
    "first-run": lambda app: app.action_setup(),
}
DESCRIBED = {"sessions": "> the first prompt of s-1", "settings": "from      "}
"""What comes beside these lists a moment later."""


@pytest.mark.parametrize("look", [*THEMES, "no-colour"])
@pytest.mark.parametrize("name", OVER)
async def test_what_lies_over_the_screen(
    pictures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, look: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere/config")
    if look == "no-colour":
        monkeypatch.setenv("NO_COLOR", "1")
    shelf = Shelf()
    options = ScreenOptions(
        theme=look if look in THEMES else "dark",
        sessions=lambda: shelf,  # type: ignore[arg-type, return-value]  # what the list asks for
        models=lambda: shelf,  # type: ignore[arg-type, return-value]  # same
        setup=lambda: ScriptedSetup({}),
        preferences=Preferences({}, tmp_path, {}),
        clock=lambda: 0.0,
    )
    app = ChatApp(recorded(tmp_path), options)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: True)
        OVER[name](app)
        await until(pilot, lambda: len(app.screen_stack) == 2)
        if name in DESCRIBED:
            await until(pilot, lambda: DESCRIBED[name] in screen_text(app))
        await shoot(pilot, pictures, (100, 30), "100x30")


@pytest.mark.parametrize("state", [running, failed], ids=lambda state: state.__name__)
async def test_states_without_colour(
    pictures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: Callable[[ScriptedAgent, ChatApp], None]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    agent = scripted(tmp_path)
    app = ChatApp(agent, ScreenOptions(clock=lambda: 0.0))
    async with app.run_test(size=(100, 30)) as pilot:
        state(agent, app)
        await shoot(pilot, pictures, (100, 30), "100x30")


async def test_a_picture_is_made_by_the_screen_itself(tmp_path: Path) -> None:
    picture = tmp_path / "screen.svg"
    app = ChatApp(recorded(tmp_path), ScreenOptions(clock=lambda: 0.0))
    await take(app, picture, (140, 40), idle)
    svg = picture.read_text(encoding="utf-8").replace("&#160;", " ")
    assert svg.startswith("<svg")
    for text in ("Layer 1", "what the model reads", "test_parser.py", "test_wide"):
        assert text in svg
