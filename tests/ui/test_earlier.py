"""A long session: the newest part is drawn at once, the rest comes while the person works and moves nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import pytest
from textual.geometry import Offset
from textual.selection import Selection

from agentclip.events import (
    AssistantReplied,
    Event,
    Notice,
    Recorded,
    SessionStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from agentclip.messages import AssistantMessage, Usage, UserMessage
from agentclip.ui.earlier import FIRST_EVENTS, Earlier
from agentclip.ui.heights import Heights
from agentclip.ui.session_state import SessionState
from agentclip.ui.themes import Ink, Themes
from tests.benchmarks.resume import make_log
from tests.ui.pty_session import on_terminal
from tests.ui.screens import make_app, pane_rows, screen_text, until
from tests.ui.scripted import LiveRun, ScriptedAgent

WIDE = (140, 40)
TURNS = 1500
INK = Ink(Themes.load().pick("dark"))


def turn(agent: ScriptedAgent, number: int) -> Iterator[Event]:
    run = LiveRun(agent, number, f"echo {number}")
    yield TurnStarted(UserMessage(f"prompt {number}"))
    yield AssistantReplied(AssistantMessage(f"I look at {number}." if number % 3 else ""), Usage(100 + number, 5))
    yield run.started
    if number % 4 == 0:
        yield Notice("told in the middle")
    yield run.finished()
    yield AssistantReplied(AssistantMessage(f"Number {number} is\n\n- done\n- and said"), Usage(200 + number, 5))
    yield TurnFinished(TurnEnd.ANSWERED if number % 5 else TurnEnd.CANCELLED, "" if number % 5 else "cancelled")


def log(agent: ScriptedAgent, turns: int) -> list[Event]:
    return [SessionStarted("s", "/w", "m", "1"), *(event for number in range(1, turns + 1) for event in turn(agent, number))]


class Watched(Sequence[Recorded]):
    """A history that counts how many events are asked for; slow while a test wants to see that the rest is missing."""

    def __init__(self, events: Sequence[Event], *, slow: bool = False) -> None:
        self._all = [Recorded(seq, 0.0, event) for seq, event in enumerate(events, 1)]
        self.read = 0
        self.slow = slow

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, key: int) -> Recorded: ...
    @overload
    def __getitem__(self, key: slice) -> list[Recorded]: ...
    def __getitem__(self, key: int | slice) -> Recorded | list[Recorded]:
        if self.slow:
            time.sleep(0.01)
        found = self._all[key]
        self.read += len(found) if isinstance(found, list) else 1
        return found


def described(state: SessionState) -> dict[str, object]:
    rows = [["".join(segment.text for segment in row) for row in item.rows(60, INK)] for item in state.items]
    return {
        "rows": rows,
        "numbers": state.numbers,
        "newest": state.newest and state.newest.number,
        "finished": [run.finished is not None for _, run in sorted(state.runs.items())],
        "prompts": state.prompts,
        "cwd": state.cwd,
        "tokens": state.context_tokens,
    }


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 16, 1000])
def test_a_state_made_of_pieces_is_the_state_made_at_once(agent: ScriptedAgent, piece: int) -> None:
    events = log(agent, 21)
    whole = SessionState()
    for event in events:
        whole.apply(event, 0.0)
    state = SessionState()
    for end in range(len(events), 0, -piece):
        earlier = SessionState()
        for event in events[max(0, end - piece) : end]:
            earlier.apply(event, 0.0)
        state.put_before(earlier)
    assert described(state) == described(whole)
    assert state.earlier == len(state.items)


def test_the_newest_part_is_taken_first_and_nothing_else_is_read(agent: ScriptedAgent) -> None:
    history, state = Watched(log(agent, 1000)), SessionState()
    earlier = Earlier(history, state, 0.0)
    earlier.take_newest()
    assert history.read <= FIRST_EVENTS + 1
    assert (state.numbers[-1], state.cwd, state.whole) == (1000, "/w", False)
    prompts = [*state.prompts]
    while earlier.left:
        earlier.take_piece()
        earlier.take_piece()
        prompts[:0] = earlier.deliver()
    assert history.read <= len(history) + 1
    assert (state.whole, state.numbers, prompts) == (True, list(range(1, 1001)), state.prompts)


def test_heights_grow_at_both_ends() -> None:
    heights, plain = Heights(), [3, 1, 4, 1, 5]
    for height in plain:
        heights.append(height)
    for more in ([2, 7], [1], [8, 2, 8]):
        assert heights.at(sum(plain)) == len(plain) - 1
        heights.prepend(more)
        plain = [*more, *plain]
        heights.append(6)
        plain.append(6)
        heights.replace(1, 9)
        plain[1] = 9
        assert [heights.start(index) for index in range(len(plain))] == [sum(plain[:index]) for index in range(len(plain))]
        rows = [index for index, height in enumerate(plain) for _ in range(height)]
        assert ([heights.at(row) for row in range(len(rows))], heights.total) == (rows, len(rows))


class LongAgent(ScriptedAgent):
    """With a long session behind it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.past = Watched(log(self, TURNS), slow=True)

    def history(self) -> Sequence[Recorded]:
        return self.past


@pytest.fixture
def long(tmp_path: Path) -> LongAgent:
    return LongAgent(tmp_path)


async def test_what_is_read_selected_and_pinned_stays_while_the_rest_comes(long: LongAgent) -> None:
    app = make_app(long)
    async with app.run_test(size=WIDE) as pilot:
        chat, earlier = app.board.chat, app.earlier
        await pilot.pause()
        assert f"prompt {TURNS}" in screen_text(app)
        await pilot.press("alt+up")
        await pilot.press("pageup", "pageup")
        rows, pinned = pane_rows(chat), app.board.pinned
        key = chat.place_of(chat.first_row + 3)
        picked = chat.get_selection(Selection(Offset(0, key), Offset(30, key + 2)))
        assert earlier.left
        long.past.slow = False
        await until(pilot, lambda: not earlier.left)
        assert (pane_rows(chat), app.board.pinned) == (rows, pinned)
        assert chat.place_of(chat.first_row + 3) == key
        assert chat.get_selection(Selection(Offset(0, key), Offset(30, key + 2))) == picked
        assert app.state.numbers == list(range(1, TURNS + 1))
        await pilot.press("home")
        app.board.chat.go_to(0)
        await pilot.pause()
        assert pane_rows(chat)[0] == "> prompt 1"
        app.pin(1)
        await pilot.press("alt+down")
        assert app.board.pinned == 2


async def test_a_key_is_drawn_before_the_rest_has_come_and_the_history_of_prompts_is_whole_in_the_end(long: LongAgent) -> None:
    app = make_app(long)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("x")
        assert app.earlier.left
        assert "x" in app.board.prompt.text
        await pilot.press("backspace", "up", "up")
        assert app.board.prompt.text == f"prompt {TURNS - 1}"
        long.past.slow = False
        await until(pilot, lambda: not app.earlier.left)
        await pilot.press("up")
        assert app.board.prompt.text == f"prompt {TURNS - 2}"
        assert list(app.board.prompt.entries.newest_first()) == [f"prompt {number}" for number in range(TURNS, 0, -1)]


async def test_words_far_above_are_found_as_soon_as_they_are_there(long: LongAgent) -> None:
    app = make_app(long)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("ctrl+f")
        assert app.earlier.left
        app.board.find.box.value = "look at 7."
        await pilot.press("enter")
        await pilot.pause()
        assert (app.earlier.left > 0, "finding" in screen_text(app)) == (True, True)
        long.past.slow = False
        await until(pilot, lambda: not app.earlier.left and "I look at 7." in screen_text(app))


@pytest.mark.slow
def test_a_log_of_100_mb_takes_keys_in_the_real_program_soon(tmp_path: Path) -> None:
    """The bar is a second; this one only guards against reading everything first, on a busy machine."""
    state = tmp_path / "state"
    name = make_log(state / "agentclip" / "sessions", 100)
    environment = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    began = time.monotonic()
    with on_terminal("-m", "agentclip", "--resume", name, "--model", "replay:demo", environment=environment) as session:
        session.wait_for("type here", 10)
        session.type("first words")
        session.wait_for("first words", 10)
        assert time.monotonic() - began < 10
        session.wait_for(lambda: re.search(r"> prompt \d+", session.text) is not None)
        session.type("\x03\x04")
        assert session.wait_for_end() == 0
