"""F5 and F7: other sessions of this machine, other models, from the screen. The sessions are real ones on disk."""

from __future__ import annotations

import asyncio
import gc
import random
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual import events
from textual.strip import Strip

from agentclip import paths
from agentclip.cli.course import Course
from agentclip.cli.shelves import SavedSessions
from agentclip.config import Settings
from agentclip.errors import ConfigError, ErrorCode, ModelError
from agentclip.events import AssistantReplied, TurnEnd, TurnFinished, TurnStarted
from agentclip.history import history_file
from agentclip.messages import AssistantMessage, UserMessage
from agentclip.store.listing import list_sessions
from agentclip.store.session import Session
from agentclip.ui.app import ChatApp
from agentclip.ui.session_picker import ago
from agentclip.ui.shelves import OfferedModel
from agentclip.ui.transcript import Transcript
from tests.ui.screens import drawn, make_app, screen_text, send, until
from tests.ui.scripted import ScriptedAgent

SIZE = (140, 40)


def saved(prompt: str, answer: str = "an answer", cwd: str | None = None) -> str:
    """A session on disk; its id."""
    session = Session.create(paths.sessions_dir(), cwd or str(Path.cwd()), "m", "0")
    session.append(TurnStarted(UserMessage(prompt)))
    session.append(AssistantReplied(AssistantMessage(answer)))
    session.append(TurnFinished(TurnEnd.ANSWERED))
    session.close()
    return session.id


def titles() -> dict[str, str]:
    return {facts.id: facts.title for facts in list_sessions(paths.sessions_dir())}


@dataclass
class Screen:
    """A screen that can go elsewhere, and where it wanted to."""

    agent: ScriptedAgent
    went: list[str | None] = field(default_factory=list)

    def app(self, **options: object) -> ChatApp:
        shelf = SavedSessions(Course(Settings(), {}))
        return make_app(self.agent, sessions=lambda: shelf, go_to=self.went.append, **options)


@pytest.fixture
def screen(agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Screen:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Screen(agent)


async def test_enter_goes_to_the_chosen_session_and_this_one_is_closed_first(screen: Screen) -> None:
    one, _two = saved("first task"), saved("second task")
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "> second task" in screen_text(app))
        await pilot.press("down")
        await until(pilot, lambda: "an answer" in screen_text(app) and one in screen_text(app))
        text = screen_text(app)
        assert "Sessions of this directory  (2 of 2)" in text
        for part in ("first task", "> first task", "1 turn, 0 runs", "model m", one):
            assert part in text
        await pilot.press("enter")
        await until(pilot, lambda: screen.agent.closed)
    assert screen.went == [one]


async def test_search_finds_words_of_the_title_and_the_id(screen: Screen) -> None:
    wanted = saved("fix the 日本語 parser")
    for number in range(5):
        saved(f"other {number}")
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f5", *"日本")
        await pilot.pause()
        await until(pilot, lambda: "> fix the 日本語 parser" in screen_text(app))
        assert "(1 of 1, 6 rows in all)" in screen_text(app)
        await pilot.press("escape", "f5", *wanted[-5:])
        await pilot.pause()
        await until(pilot, lambda: "> fix the 日本語 parser" in screen_text(app))


async def test_the_directory_is_searched_where_rows_differ_in_it(screen: Screen, tmp_path: Path) -> None:
    saved("of here")
    saved("of elsewhere", cwd=str(tmp_path / "abroad"))
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f5")
        await until(pilot, lambda: "(1 of 1)" in screen_text(app))
        await pilot.press(*"project")
        await until(pilot, lambda: "nothing fits" in screen_text(app))
        await pilot.press("tab")
        await until(pilot, lambda: "> of here" in screen_text(app))
        await pilot.press(*["backspace"] * 7, *"abroad")
        await until(pilot, lambda: "(1 of 1, 2 rows in all)" in screen_text(app) and "> of elsewhere" in screen_text(app))


async def test_tab_shows_those_of_other_directories(screen: Screen, tmp_path: Path) -> None:
    saved("of here")
    saved("of elsewhere", cwd=str(tmp_path))
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "> of here" in screen_text(app))
        assert "of elsewhere" not in screen_text(app)
        await pilot.press("tab")
        await until(pilot, lambda: "of elsewhere" in screen_text(app))
        assert "Sessions of all directories" in screen_text(app)
        await pilot.press("tab")
        await until(pilot, lambda: "of elsewhere" not in screen_text(app))


async def test_where_there_are_none_it_says_what_to_do(screen: Screen, tmp_path: Path) -> None:
    app = screen.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "no saved session yet. Esc, then type a task" in screen_text(app))
        await pilot.press("enter", "ctrl+f", "ctrl+r", "ctrl+d", "escape")
        saved("of elsewhere", cwd=str(tmp_path))
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "> of elsewhere" in screen_text(app))  # none of here: all at once
        await pilot.press("tab")
        await until(pilot, lambda: "Tab shows those of all" in screen_text(app))
    assert screen.went == []


async def test_a_title_is_changed(screen: Screen) -> None:
    identifier = saved("dull")
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "> dull" in screen_text(app))
        await pilot.press("ctrl+r")
        await pilot.pause()
        await until(pilot, lambda: "Title; an empty one" in screen_text(app))
        await pilot.press(*" no more", "enter")
        await until(pilot, lambda: "> dull no more" in screen_text(app))
    assert titles() == {identifier: "dull no more"}


async def test_removing_asks_and_only_y_removes(screen: Screen) -> None:
    kept, gone = saved("kept"), saved("gone")
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "> gone" in screen_text(app))
        for key, left in (("n", {kept, gone}), ("escape", {kept, gone}), ("y", {kept})):
            await pilot.press("ctrl+d")
            await pilot.pause()
            await until(pilot, lambda: "for good" in screen_text(app))
            await pilot.press(key)
            await until(pilot, lambda: "for good" not in screen_text(app))
            await until(pilot, lambda left=left: set(titles()) == left)  # type: ignore[misc]  # bound in the loop
        await until(pilot, lambda: "> kept" in screen_text(app))


async def test_a_session_that_is_open_elsewhere_is_neither_entered_nor_removed(screen: Screen) -> None:
    identifier = saved("busy")
    holder = Session.open(paths.sessions_dir(), identifier)
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "> busy" in screen_text(app))
        await pilot.press("ctrl+d")
        await pilot.pause()
        await until(pilot, lambda: "for good" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "is open in another agentclip" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1 and "✗" in screen_text(app))
    holder.close()
    assert screen.went == []
    assert set(titles()) == {identifier}


async def test_a_copy_is_made_and_gone_to(screen: Screen) -> None:
    identifier = saved("original")
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "> original" in screen_text(app))
        await pilot.press("ctrl+f")
        await until(pilot, lambda: screen.agent.closed)
    (copy,) = screen.went
    assert titles() == {identifier: "original", copy: "original (copy)"}


async def test_leaving_a_turn_that_runs_is_asked_about(screen: Screen) -> None:
    saved("other")
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        screen.agent.begin("work")
        for key, closed in (("n", False), ("y", True)):
            await send(pilot, "/new")
            await pilot.pause()
            await until(pilot, lambda: "Leaving cancels it" in screen_text(app))
            assert not screen.agent.closed
            await pilot.press(key)
            await until(pilot, lambda closed=closed: screen.agent.closed is closed)  # type: ignore[misc]  # bound in the loop
    assert screen.went == [None]


async def test_what_stands_in_the_prompt_is_kept_for_the_next_session(screen: Screen) -> None:
    saved("other")
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        app.board.prompt.insert("half a thought")
        await pilot.press("f5")
        await pilot.pause()
        await until(pilot, lambda: "> other" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: screen.agent.closed)
    assert "half a thought" in history_file().read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
async def test_no_keys_in_any_order_break_the_lists(screen: Screen, seed: int) -> None:
    for number in range(5):
        saved(f"task {number}")
    chance = random.Random(seed)
    keys = (
        "enter",
        "escape",
        "ctrl+f",
        "ctrl+r",
        "ctrl+d",
        "y",
        "n",
        "f1",
        "f5",
        "f7",
        "ctrl+p",
        "tab",
        "down",
        "end",
        "t",
        "ctrl+c",
    )
    models = Models(screen.agent)
    app = screen.app(models=lambda: models)
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(20):
            await pilot.press("f5")
            for key in chance.choices(keys, k=6):
                app.post_message(events.Key(key, key if len(key) == 1 else None))
            await pilot.pause()
            screen.agent.running = chance.random() < 0.5
            if app._exit:  # noqa: SLF001  no public way to know
                break
    assert app.return_code in {0, None}


def test_a_screen_that_has_ended_is_forgotten(tmp_path: Path) -> None:
    """One program shows many: what each drew must not pile up."""

    async def shown() -> weakref.ref[Transcript]:
        app = make_app(ScriptedAgent(tmp_path))
        async with app.run_test(size=SIZE) as pilot:
            await drawn(pilot)
        return weakref.ref(app.board.chat)

    def strips() -> int:
        gc.collect()
        return sum(type(each) is Strip for each in gc.get_objects())

    asyncio.run(shown())
    before = strips()
    pane = asyncio.run(shown())
    assert strips() < before + 100
    assert pane() is None


async def test_words_do_what_the_keys_do(screen: Screen) -> None:
    identifier = saved("by its id")
    app = screen.app(pick_session=True)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("escape")
        for word in ("/sessions", "/resume"):
            await send(pilot, word)
            await pilot.pause()
            await until(pilot, lambda: "> by its id" in screen_text(app))
            await pilot.press("escape")
        await send(pilot, "/resume nosuch")
        await until(pilot, lambda: "no session 'nosuch'" in screen_text(app))
        await send(pilot, f"/resume {identifier[:12]}")
        await until(pilot, lambda: screen.agent.closed)
    assert screen.went == [identifier]


async def test_without_other_sessions_it_says_so(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=SIZE) as pilot:
        for word in ("/sessions", "/new", "/resume x"):
            await send(pilot, word)
            await until(pilot, lambda: "there are no other sessions here" in screen_text(app))
        await send(pilot, "/model")
        await until(pilot, lambda: "there are no other models here" in screen_text(app))


async def test_a_thousand_sessions_are_there_at_once(screen: Screen) -> None:
    first = Path(paths.sessions_dir() / saved("task no0"))
    meta, log = (first / "meta.json").read_bytes(), (first / "events.jsonl").read_bytes()
    for number in range(1, 1000):
        folder = first.with_name(f"260101-{number:07}")
        folder.mkdir()
        (folder / "meta.json").write_bytes(
            meta.replace(b"task no0", b"task no%d" % number).replace(first.name.encode(), folder.name.encode())
        )
        (folder / "events.jsonl").write_bytes(log)
    app = screen.app()
    async with app.run_test(size=SIZE) as pilot:
        began = time.perf_counter()
        await pilot.press("f5")
        await until(pilot, lambda: len(app.screen_stack) == 2 and "of 1,000" in screen_text(app))
        assert time.perf_counter() - began < 20  # 0.3 s here
        await pilot.press(*"task no77")
        await until(pilot, lambda: "1,000 rows in all" in screen_text(app) and "> task no77" in screen_text(app))


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "just now"), (59, "just now"), (60, "1 min ago"), (7300, "2 h ago"), (90000, "1 d ago")]
)
def test_times_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert ago(seconds) == text


class Models:
    """A shelf as the test wants it."""

    def __init__(self, agent: ScriptedAgent) -> None:
        self.agent = agent
        self.may_answer = asyncio.Event()
        self.error: ModelError | None = None
        self.used: list[str] = []

    def configured(self) -> Sequence[OfferedModel]:
        return [OfferedModel("alpha", "configured"), OfferedModel("beta", "the usual one")]

    async def offered(self) -> Sequence[OfferedModel]:
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return [OfferedModel("beta"), OfferedModel("gamma-7b", "32,768 tokens")]

    async def use(self, name: str) -> None:
        if name == "nobody":
            raise ConfigError("nobody is known to serve the model nobody", code=ErrorCode.UNKNOWN_MODEL)
        self.used.append(name)
        self.agent.model_name = name  # as the real agent does


async def test_a_model_is_chosen_from_what_is_configured_and_what_the_provider_offers(agent: ScriptedAgent) -> None:
    models = Models(agent)
    app = make_app(agent, models=lambda: models)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f7")
        await pilot.pause()
        await until(pilot, lambda: "asking the provider" in screen_text(app))
        assert "> * scripted" in screen_text(app)
        assert "alpha" in screen_text(app)
        models.may_answer.set()
        await until(pilot, lambda: "gamma-7b" in screen_text(app))
        assert screen_text(app).count("beta") == 1
        await pilot.press(*"gam", "enter")
        await until(pilot, lambda: models.used == ["gamma-7b"] and "gamma-7b" in screen_text(app).split("\n")[0])


async def test_a_provider_that_cannot_be_reached_is_one_line_and_any_name_can_be_typed(agent: ScriptedAgent) -> None:
    models = Models(agent)
    models.error = ModelError("connection refused", hint="Is the server running?")
    models.may_answer.set()
    app = make_app(agent, models=lambda: models)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f7")
        await pilot.pause()
        await until(pilot, lambda: "connection refused. Next: Is the server running?" in screen_text(app))
        await pilot.press(*"own/model", "enter")
        await until(pilot, lambda: models.used == ["own/model"])
        await send(pilot, "/model nobody")
        await until(pilot, lambda: "✗ nobody is known to serve the model nobody" in screen_text(app))
        await send(pilot, "/model beta")
        await until(pilot, lambda: models.used == ["own/model", "beta"])
