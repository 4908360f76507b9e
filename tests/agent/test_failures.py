"""A provider that fails: one clear line, the history intact, the prompt usable."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from agentclip.agent.options import AgentOptions
from agentclip.agent.reply import retry_wait_s
from agentclip.errors import ErrorCode, ModelError
from agentclip.events import Advised, AssistantReplied, CommandFinished, RetryWaiting, TurnEnd
from tests.agent.workbench import against, answers, bench, provider, roles
from tests.fake_model.script import run, text
from tests.fake_model.server import FakeModel

SOON = AgentOptions(max_retry_wait_s=0.05)
"""Waits that a test can sit out."""


def refusal(status: int, message: str = "no", **headers: str) -> dict[str, Any]:
    return {"status": status, "headers": headers, "body": {"error": {"message": message}}}


async def test_a_rate_limit_is_waited_out_as_long_as_it_asks(tmp_path: Path) -> None:
    """Case B50."""
    limited = refusal(429, "slow down", **{"Retry-After": "2"})
    async with against(tmp_path, [limited, limited, text("at last")], in_process=False) as (it, server):
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        assert [(event.seconds, event.attempt) for event in it.of(RetryWaiting)] == [(2.0, 1), (2.0, 2)]
        times = [request.time for request in server.requests]
        assert all(later - earlier >= 2 for earlier, later in itertools.pairwise(times))
        assert [message["content"] for message in server.last.messages[1:]] == ["go"]
        assert all("\n" not in event.reason and event.reason for event in it.of(RetryWaiting))


@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_a_server_error_is_tried_again_three_times_at_most(tmp_path: Path, status: int) -> None:
    async with against(tmp_path, [refusal(status)] * 9, options=SOON, in_process=False) as (it, server):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.FAILED, "SERVER_ERROR")
        assert len(server.requests) == 4
        assert end.text
        assert "\n" not in end.text


@pytest.mark.parametrize(("status", "code"), [(401, "MISSING_KEY"), (400, "BAD_REQUEST"), (404, "UNKNOWN_MODEL")])
async def test_what_another_try_cannot_mend_ends_the_turn_at_once(tmp_path: Path, status: int, code: str) -> None:
    async with against(tmp_path, [refusal(status, "the model `x` does not exist" if status == 404 else "no")]) as (it, server):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.FAILED, code)
        assert len(server.requests) == 1


async def test_a_wait_that_is_too_long_is_refused_instead(tmp_path: Path) -> None:
    async with against(tmp_path, [refusal(429, "come back tomorrow", **{"Retry-After": "86400"})]) as (it, server):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.FAILED, "RATE_LIMIT")
        assert len(server.requests) == 1


async def test_nobody_listening_is_one_clear_line_and_the_prompt_stays_usable(tmp_path: Path) -> None:
    server = FakeModel([text("pong")])
    model = provider(server, tmp_path)
    server.start()
    server.close()
    async with bench(tmp_path, model, options=SOON) as it:
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.FAILED, "UNAVAILABLE")
        assert end.text
        assert "\n" not in end.text
        assert not it.agent.running


@pytest.mark.parametrize("how", [True, "reset"])
async def test_a_stream_cut_inside_arguments_runs_nothing_and_is_asked_for_again(tmp_path: Path, how: object) -> None:
    """Case B46."""
    half = '{"command":"touch ac_half_1 && rm -rf ac_keep'
    cut: dict[str, Any] = {"calls": [{"name": "run", "arguments": half}], "cut": how}
    async with against(tmp_path, [cut, cut, run("echo whole"), text("ok")], options=SOON, in_process=False) as (it, server):
        (it.work / "ac_keep").mkdir()
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        assert not (it.work / "ac_half_1").exists()
        assert (it.work / "ac_keep").exists()
        assert len(it.of(RetryWaiting)) == 2
        assert roles(server) == ["system", "user", "assistant", "tool"]
        assert next(iter(answers(server).values())).startswith("whole\n")


async def test_a_stream_that_is_always_cut_fails_after_three_more_tries(tmp_path: Path) -> None:
    cut: dict[str, Any] = {**run("touch ac_half_3"), "cut": True}
    async with against(tmp_path, [cut] * 9, options=SOON, in_process=False) as (it, server):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.FAILED, "NETWORK")
        assert len(server.requests) == 4
        assert it.of(CommandFinished) == []


async def test_text_before_a_cut_is_kept_and_the_model_goes_on_from_there(tmp_path: Path) -> None:
    cut: dict[str, Any] = {"text": "The first half", "cut": True}
    async with against(tmp_path, [cut, text("and the second.")], options=SOON, in_process=False) as (it, server):
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        assert [(event.message.text, event.partial) for event in it.of(AssistantReplied)] == [
            ("The first half", True),
            ("and the second.", False),
        ]
        assert [event.reason for event in it.of(Advised)] == ["the connection was lost: asked to go on"]
        assert roles(server) == ["system", "user", "assistant", "user"]


async def test_finished_commands_survive_a_failure_later_in_the_turn(tmp_path: Path) -> None:
    async with against(tmp_path, [run("echo kept"), refusal(401), text("x")]) as (it, server):
        assert (await it.agent.turn("go")).reason is TurnEnd.FAILED
        await it.agent.turn("go on")
        assert next(iter(answers(server).values())).startswith("kept\n")
        assert roles(server) == ["system", "user", "assistant", "tool", "user"]


async def test_a_full_disk_ends_the_turn_with_one_line_and_the_session_goes_on_later(tmp_path: Path) -> None:
    import resource
    import signal

    async with against(tmp_path, [text("first"), text("y" * 400_000), text("third")]) as (it, _):
        await it.agent.turn("go")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = (it.session.folder / "events.jsonl").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 200, hard))
        try:
            end = await it.agent.turn("fill")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, ignored)
        assert end.reason is TurnEnd.FAILED
        assert "cannot be written" in end.text
        assert (await it.agent.turn("again")).reason is TurnEnd.ANSWERED


@pytest.mark.parametrize(
    ("code", "retry_after_s", "attempt", "seconds"),
    [
        (ErrorCode.SERVER_ERROR, None, 1, 1.0),
        (ErrorCode.SERVER_ERROR, None, 2, 2.0),
        (ErrorCode.NETWORK, None, 3, 4.0),
        (ErrorCode.NETWORK, None, 9, 60.0),
        (ErrorCode.RATE_LIMIT, 0.0, 1, 0.0),
        (ErrorCode.RATE_LIMIT, 7.5, 1, 7.5),
        (ErrorCode.RATE_LIMIT, 61.0, 1, None),
        (ErrorCode.RATE_LIMIT, -3.0, 1, 1.0),
        (ErrorCode.RATE_LIMIT, float("nan"), 1, 1.0),
        (ErrorCode.RATE_LIMIT, float("inf"), 2, 2.0),
        (ErrorCode.BAD_KEY, None, 1, None),
        (ErrorCode.CONTEXT_TOO_LONG, 1.0, 1, None),
    ],
)
def test_the_wait_before_another_try(code: ErrorCode, retry_after_s: float | None, attempt: int, seconds: float | None) -> None:
    assert retry_wait_s(ModelError("x", code=code, retry_after_s=retry_after_s), attempt, 60.0) == seconds
