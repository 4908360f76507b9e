"""What is a loop and what only looks like one. Both series of issue 6, judged by the documented counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import pytest

from agentclip.agent.loop_guard import LoopGuard, words_that_repeat
from agentclip.agent.repetition import MAX_UNIT_CHARS, Repetition
from agentclip.errors import ErrorCode
from agentclip.events import Advised, AssistantReplied, CallAnswered, CommandFinished, TurnEnd, TurnFinished
from agentclip.messages import AssistantMessage, ToolCall, ToolMessage
from agentclip.results import Chain, ChainResult, Ended, Presented, StreamFile

Step = tuple[str, int, str]
"""A command, its exit status, its output."""


def played(steps: Iterable[Step], *, texts: Sequence[str] = (), guard: LoopGuard | None = None) -> list[tuple[int, str]]:
    """What the guard says of a turn: (step from 1, "advised" or "ended"), up to the end."""
    guard = guard or LoopGuard()
    said = []
    for number, (command, status, output) in enumerate(steps, 1):
        text = texts[number - 1] if texts else ""
        guard.take(AssistantReplied(AssistantMessage(text, (called(command, number),))))
        guard.take(finished(number, status, output))
        match guard.verdict():
            case Advised(message):
                assert "loop" in message.text
                said.append((number, "advised"))
            case TurnFinished(reason, _, code):
                assert (reason, code) == (TurnEnd.LIMIT, ErrorCode.LOOP_DETECTED)
                return [*said, (number, "ended")]
            case None:
                pass
    return said


def called(command: str, number: int) -> ToolCall:
    return ToolCall(f"c{number}", "run", json.dumps({"command": command}))


def finished(number: int, status: int, output: str) -> CommandFinished:
    spool = StreamFile(f"/s/cmd-{number}.txt", len(output))
    result = ChainResult(number, Chain("", ()), status, spool, (), (status,), number * 0.013, Ended.EXITED)
    return CommandFinished(number, f"c{number}", result, Presented(f"{output}\n[exit:{status} | {number * 13}ms]"))


def cycle(length: int, times: int) -> list[Step]:
    return [(f"step {n}", n % 2, f"out {n}") for n in range(length)] * times


FALSE_ALARMS: dict[str, list[Step]] = {
    "polling with changing output": [("cat status", 0, f"done: {n} of 60") for n in range(60)],
    "polling a clock": [("date +%s%N", 0, str(1770000000 + n)) for n in range(60)],
    "four times the same": [("make", 2, "error: x")] * 4 + [("vi", 0, "")] + [("make", 2, "error: x")] * 4,
    "batch edits": [(f"sed -i s/a/b/ file{n}.py", 0, "") for n in range(60)],
    "a test run after each edit": [
        step for n in range(30) for step in ((f"edit a.py --line {n}", 0, "changed"), ("pytest -q", 1, "1 failed in 0.12s"))
    ],
    "another error each time": [("cargo build", 101, f"error[E0{n}]: no") for n in range(60)],
    "a cycle of six": cycle(6, 8),
    "reading page by page": [(f"sed -n {n},{n + 50}p log", 0, "the same line\n" * 20) for n in range(1, 3000, 50)],
}


@pytest.mark.parametrize("name", FALSE_ALARMS)
def test_work_that_looks_alike_is_no_loop(name: str) -> None:
    assert played(FALSE_ALARMS[name]) == []


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_a_cycle_is_told_after_five_rounds_and_ended_after_three_more(length: int) -> None:
    assert played(cycle(length, 20)) == [(5 * length, "advised"), (8 * length, "ended")]


def test_a_failing_command_is_the_same_although_it_took_another_time_each() -> None:
    steps = [("pytest  -q" if n % 2 else "pytest -q", 1, f"FAILED t.py::a\n1 failed in 0.{n}1s") for n in range(20)]
    assert played(steps) == [(5, "advised"), (8, "ended")]


def test_a_polling_series_and_then_a_true_one() -> None:
    """Case B54."""
    dates = [("date +%s%N", 0, str(1770000000123 + n)) for n in range(8)]
    assert played(dates + [("echo same", 0, "same")] * 8) == [(13, "advised"), (16, "ended")]


def test_another_cycle_after_the_warning_needs_five_rounds_of_its_own() -> None:
    assert played(cycle(1, 5) + [("other", 0, "x")] * 4) == [(5, "advised")]
    assert played(cycle(1, 5) + [("other", 0, "x")] * 5) == [(5, "advised"), (10, "ended")]


def test_a_strike_is_forgotten_after_thirty_good_steps() -> None:
    good = [(f"work {n}", 0, str(n)) for n in range(31)]
    assert played(cycle(1, 5) + good + [("other", 0, "x")] * 5) == [(5, "advised"), (41, "advised")]


def test_calls_that_cannot_be_run_are_calls_too() -> None:
    guard = LoopGuard()
    for number in range(1, 6):
        guard.take(AssistantReplied(AssistantMessage("", (ToolCall(f"c{number}", "run", "{broken"),))))
        guard.take(CallAnswered(ToolMessage(f"c{number}", "[error] run: not JSON"), "not run"))
        verdict = guard.verdict()
    assert isinstance(verdict, Advised)


def test_switched_off_it_says_nothing() -> None:
    assert played(cycle(1, 50), guard=LoopGuard(enabled=False)) == []


def test_a_new_turn_begins_anew() -> None:
    guard = LoopGuard()
    assert played(cycle(1, 4), guard=guard) == []
    guard.begin_turn()
    assert played(cycle(1, 4), guard=guard) == []


def test_the_same_long_reply_in_ten_steps_is_a_loop_a_short_habit_is_none() -> None:
    work = [(f"work {n}", 0, str(n)) for n in range(12)]
    assert played(work, texts=["Now the next file."] * 12) == []
    assert played(work, texts=["I think that the cause is in the parser. " * 6] * 12) == [(10, "advised")]


PARAGRAPH = " ".join(f"Sentence {n} says that part {n * 7} of the plan is not clear yet." for n in range(25))[:1500]

TRUE_WORDS = {
    "a paragraph of 1,500 characters": "Intro.\n" + (PARAGRAPH + "\n\n") * 10,
    "a paragraph without line ends": (PARAGRAPH + " ") * 10,
    "hyphens": "- check the log files again\n- run the test suite\n" * 10,
    "numbers that go on": "".join(f"{n}. check the log files again\n" for n in range(1, 13)),
    "a stutter": "I will now look. " * 40,
    "inside a fence": "```python\n" + "result = compute(result)\n" * 20,
    "Japanese": "もう一度ログを確認します。\n" * 12,
    "Chinese": "我再检查一下日志文件。" * 12,
    "a table": "| name | value that is repeated |\n" * 12,
    "zeros": "0" * 5000,
}
ORDINARY_WORDS = {
    "similar items": "".join(f"- file{n}.py: the import was changed to {n}\n" for n in range(200)),
    "a numbered list": "".join(f"{n}. look at module {chr(97 + n % 26)}{n}\n" for n in range(1, 100)),
    "a long table": "".join(f"| row {n} | {n * n} | ok |\n" for n in range(300)),
    "rulers": "Title\n" + "=" * 80 + "\n" + "-" * 200 + "\ntext",
    "an array": "x = [" + "0, " * 100 + "]",
    "nulls": "INSERT VALUES (" + "NULL, " * 12 + ")",
    "nine times": (PARAGRAPH + "\n") * 9 + "and then the end.",
    "code": "".join(f"    assert f({n}) == {n}\n" for n in range(100)),
    "html": "<tr>" + "<td></td>" * 30 + "</tr>",
    "blank lines": "a" + "\n" * 5000 + "b",
}


@pytest.mark.parametrize("name", TRUE_WORDS)
def test_words_that_repeat_are_seen(name: str) -> None:
    assert words_that_repeat(TRUE_WORDS[name], "text") is not None


@pytest.mark.parametrize("name", ORDINARY_WORDS)
def test_words_that_only_look_alike_are_not(name: str) -> None:
    assert words_that_repeat(ORDINARY_WORDS[name], "text") is None


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_is_cut_soon_after_the_tenth_round(size: int) -> None:
    text = "Some words first.\n" + (PARAGRAPH + "\n") * 30
    watch = Repetition()
    seen = next(end for end in range(size, len(text), size) if watch.feed(text[end - size : end]) is not None)
    assert 10 * len(PARAGRAPH) <= seen <= 12 * len(PARAGRAPH)


def test_a_unit_above_the_limit_is_not_looked_for() -> None:
    long = "".join(f"{n} word " for n in range(400))[: MAX_UNIT_CHARS + 200]
    assert words_that_repeat(long * 11, "text") is None
