"""A model in circles, through the whole loop: warned, then stopped; words cut off in the stream; progress judged by a model."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentclip.agent.judge import read_answer
from agentclip.agent.options import AgentOptions
from agentclip.errors import ErrorCode
from agentclip.events import Advised, AssistantReplied, CommandFinished, TurnEnd
from tests.agent.crasher import DirectModel
from tests.agent.workbench import Bench, against, bench
from tests.fake_model.script import Reply, run, text
from tests.fake_model.server import FakeModel

JUDGE = "You watch an agent"
QUIET = AgentOptions(judge_progress=False)


async def test_the_same_call_with_the_same_result_is_told_and_then_ended(tmp_path: Path) -> None:
    """Case B54."""
    script = [run("date +%s%N")] * 8 + [run("echo same")] * 8 + [text("never")]
    async with against(tmp_path, script, options=QUIET) as (it, server):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.LIMIT, ErrorCode.LOOP_DETECTED)
        assert "echo same" in end.text
        assert len(it.of(CommandFinished)) == 16
        (advised,) = it.of(Advised)
        assert "echo same" in advised.message.text
        assert "echo same" in advised.reason
        contents = [str(message["content"]) for message in server.last.messages]
        assert sum("This looks like a loop" in content for content in contents) == 1
        # A way to go on: the next prompt begins anew.
        server.script[:] = [run("echo same"), text("on")]
        assert (await it.agent.turn("go on")).reason is TurnEnd.ANSWERED


async def test_a_model_that_heeds_the_warning_is_not_stopped(tmp_path: Path) -> None:
    async with against(tmp_path, [run("false")] * 5 + [run("true"), text("done")], options=QUIET) as (it, _):
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        assert len(it.of(Advised)) == 1


@pytest.mark.parametrize("configured", ["on", "off"])
async def test_detection_can_be_switched_off(tmp_path: Path, configured: str) -> None:
    options = AgentOptions(judge_progress=False, loop_detection=configured == "on")
    async with against(tmp_path, [run("echo same")] * 12 + [text("done")], options=options) as (it, _):
        it.agent.loop_detection = False
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        assert it.of(Advised) == []


@pytest.mark.parametrize("kind", ["text", "reasoning"])
async def test_words_that_repeat_are_cut_off_in_the_stream(tmp_path: Path, kind: str) -> None:
    paragraph = " ".join(f"Sentence {n} about part {n * 3} of the plan." for n in range(45))[:1500]
    runaway = {kind: "I begin.\n" + (paragraph + "\n") * 200, "piece_chars": 500}
    async with against(tmp_path, [runaway, text("done")], options=QUIET) as (it, server):
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        assert len(it.of(Advised)) == 1
        assert "repeats itself" in it.of(Advised)[0].reason
        if kind == "text":
            partial = next(event for event in it.of(AssistantReplied) if event.partial)
            assert partial.message.text.startswith("I begin.")
            assert len(partial.message.text) < 4000
        assert len(server.last.raw) < 20_000


async def test_words_that_repeat_twice_end_the_turn(tmp_path: Path) -> None:
    runaway = {"text": "- check the log files again\n" * 500, "piece_chars": 200}
    async with against(tmp_path, [runaway, runaway, text("never")], options=QUIET) as (it, server):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.LIMIT, ErrorCode.LOOP_DETECTED)
        assert len(server.requests) == 2


# --- progress by meaning -------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def judged(
    tmp_path: Path, answers: dict[str, Reply], steps: int
) -> AsyncIterator[tuple[Bench, list[dict[str, Any]], list[dict[str, Any]]]]:
    """An agent whose light and main model answer the judge's question so; both lists of requests for it."""
    asked: dict[str, list[dict[str, Any]]] = {"light": [], "main": []}
    done = 0

    def answer(name: str) -> Any:
        def one(body: dict[str, Any]) -> Reply:
            nonlocal done
            if str(body["messages"][0]["content"]).startswith(JUDGE):
                asked[name].append(body)
                return answers[name]
            done += 1
            return run(f"echo {done}; sleep 0.05") if done <= steps else text("done")

        return one

    with FakeModel(answer("main")) as main, FakeModel(answer("light")) as light:
        light_model = DirectModel(light.url)
        async with bench(tmp_path, DirectModel(main.url), options=AgentOptions()) as it:
            it.agent.use_light_model(light_model)
            yield it, asked["light"], asked["main"]
        await light_model.aclose()
        assert main.violations == light.violations == []


YES = text('{"loop": 0.95, "reason": "looks for a file that is not there"}')
NO = text('Well: {"loop": 0.1, "reason": "advances"}')


async def test_from_step_fifteen_a_light_model_judges_and_the_main_one_has_the_last_word(tmp_path: Path) -> None:
    async with judged(tmp_path, {"light": YES, "main": YES}, 60) as (it, light, main):
        end = await it.agent.turn("find it")
        assert (end.reason, end.code) == (TurnEnd.LIMIT, ErrorCode.LOOP_DETECTED)
        assert "looks for a file" in it.of(Advised)[0].message.text
        assert (len(light), len(main)) == (2, 2)
        assert 20 <= len(it.of(CommandFinished)) < 40
        assert "find it" in light[0]["messages"][1]["content"]


async def test_without_the_second_opinion_nothing_happens_and_the_next_look_comes_soon(tmp_path: Path) -> None:
    async with judged(tmp_path, {"light": YES, "main": NO}, 32) as (it, light, main):
        assert (await it.agent.turn("find it")).reason is TurnEnd.ANSWERED
        assert it.of(Advised) == []
        assert len(light) >= 2
        assert len(main) >= 2


@pytest.mark.parametrize("answer", [NO, text("no idea"), text('{"loop": "yes"}'), {"status": 500, "body": "no"}])
async def test_no_and_errors_mean_no_loop(tmp_path: Path, answer: Reply) -> None:
    async with judged(tmp_path, {"light": answer, "main": YES}, 26) as (it, light, main):
        assert (await it.agent.turn("find it")).reason is TurnEnd.ANSWERED
        assert it.of(Advised) == []
        assert len(light) == 1
        assert main == []


async def test_a_judge_that_hangs_holds_up_nothing(tmp_path: Path) -> None:
    async with judged(tmp_path, {"light": {"hang": "start"}, "main": YES}, 20) as (it, light, _):
        async with asyncio.timeout(60):
            assert (await it.agent.turn("find it")).reason is TurnEnd.ANSWERED
        assert len(light) == 1


async def test_a_short_turn_is_never_judged(tmp_path: Path) -> None:
    async with judged(tmp_path, {"light": YES, "main": YES}, 13) as (it, light, _):
        assert (await it.agent.turn("find it")).reason is TurnEnd.ANSWERED
        assert light == []


@pytest.mark.parametrize(
    ("answer", "confidence"),
    [
        ('{"loop": 1, "reason": "x"}', 1.0),
        ('```json\n{"loop": 0.5}\n```', 0.5),
        ('{"loop": true}', 0.0),
        ('{"loop": 7}', 0.0),
        ('{"loop": NaN}', 0.0),
        ("{" * 5000, 0.0),
        ("", 0.0),
    ],
)
def test_only_a_sound_answer_counts(answer: str, confidence: float) -> None:
    assert read_answer(answer)[0] == confidence
