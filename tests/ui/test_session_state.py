from __future__ import annotations

import pytest

from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    Event,
    Notice,
    ReasoningDelta,
    RetryWaiting,
    SessionStarted,
    Severity,
    TextDelta,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.messages import AssistantMessage, ToolMessage, UserMessage
from agentclip.ui.session_state import Phase, SessionState
from agentclip.ui.themes import Ink, Themes
from tests.ui.scripted import ScriptedAgent

INK = Ink(Themes.load().pick("dark"))


@pytest.fixture
def state() -> SessionState:
    return SessionState()


def rows(state: SessionState, width: int = 60) -> list[str]:
    found = [row for item in state.items for row in item.rows(width, INK)]
    return ["".join(segment.text for segment in row).rstrip() for row in found]


def tell(state: SessionState, *events: Event) -> None:
    for event in events:
        state.apply(event, 0.0)


def test_a_turn_as_it_streams(state: SessionState) -> None:
    tell(state, SessionStarted("s", "/w", "m", "1"), TurnStarted(UserMessage("do it\nnow")))
    assert state.phase == "thinking"
    tell(state, ReasoningDelta("hm\nwell"), TextDelta("I "), TextDelta("**will**"))
    assert state.phase == "writing"
    assert rows(state) == ["> do it", "  now", "", "~ well", "I will"]
    tell(state, AssistantReplied(AssistantMessage("I **will**", reasoning="hm\nwell")), TurnFinished(TurnEnd.ANSWERED))
    assert state.phase is Phase.IDLE
    assert rows(state) == ["> do it", "  now", "", "~ hm  (2 lines of reasoning)", "I will"]
    assert state.prompts == ["do it\nnow"]


def test_what_was_streamed_before_a_retry_is_void(state: SessionState) -> None:
    tell(state, TurnStarted(UserMessage("x")), TextDelta("half of"), RetryWaiting(2, 1, "rate limit"))
    assert state.phase is Phase.WAITING
    tell(state, TextDelta("whole"), AssistantReplied(AssistantMessage("whole")))
    text = "\n".join(rows(state))
    assert "half" not in text
    assert text.count("whole") == 1
    assert "rate limit; trying again in 2s (attempt 1)" in text


def test_a_cancelled_reply_keeps_what_came_and_says_so(state: SessionState) -> None:
    tell(state, TurnStarted(UserMessage("x")), TextDelta("half"), TurnFinished(TurnEnd.CANCELLED, "cancelled"))
    assert rows(state)[-3:] == ["half", "[stopped here; only this much came]", "! cancelled"]


def test_every_other_event_is_one_line_for_the_person(state: SessionState) -> None:
    tell(
        state,
        UserMessageFolded(UserMessage("also this")),
        Advised(UserMessage("please call"), "the call was broken"),
        CallAnswered(ToolMessage("c", "no"), "unknown tool"),
        Notice("a torn line was cut", Severity.WARNING),
        TurnFinished(TurnEnd.FAILED, "401: wrong key", "BAD_KEY"),
    )
    assert rows(state) == [
        "> also this",
        "! the call was broken",
        "! call not run: unknown tool",
        "! a torn line was cut",
        "✗ 401: wrong key",
    ]


def test_a_run_shows_its_last_lines_and_then_how_it_went(state: SessionState, agent: ScriptedAgent) -> None:
    agent.subscribe(lambda event: state.apply(event, 3.0))
    run = agent.start("pytest -q | tail")
    run.write(b"one\ntwo\nthree\n\x1b[31mfour\n")
    assert rows(state)[0].startswith("▸  1 run pytest -q | tail")
    assert rows(state)[0].endswith("running 0s")
    assert rows(state)[1:] == ["  │ two", "  │ three", "  │ four"]
    run.finish(status=1)
    assert rows(state) == [f"{'▸  1 run pytest -q | tail':<49}exit 1 1.2s"]
    assert [stage.sign for stage in state.runs[1].stages] == ["", "|"]


def test_markup_in_names_and_errors_is_text(state: SessionState, agent: ScriptedAgent) -> None:
    agent.subscribe(lambda event: state.apply(event, 0.0))
    agent.run("echo '[red]x[/]' \x1b]0;owned\x07", b"")
    tell(state, Notice("bad [/] \x1b[2J path /tmp/[WIP]-x", Severity.ERROR))
    text = "\n".join(rows(state))
    assert "echo '[red]x[/]' ␛]0;owned␇" in text
    assert "bad [/] ␛[2J path /tmp/[WIP]-x" in text
