"""Nothing of a run lives after a cancel or a time limit; jobs live as long as they should."""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator

import pytest

from agentclip.results import Ended
from agentclip.shell.execute import RunHandle, RunRequest
from agentclip.shell.ladder import Stop
from tests.shell.runs import Lines, marked, wait_until

LADDER_S = 2.5
"""INT, a second, TERM, a second, KILL, and what the machine takes."""

ESCAPES = {
    "plain": "exec -a {mark} sleep 300",
    "setsid": "setsid bash -c 'exec -a {mark} sleep 300' & wait",
    "nohup": "nohup bash -c 'exec -a {mark} sleep 300' >/dev/null 2>&1 & wait",
    "double fork": "( ( exec -a {mark} sleep 300 ) & ) ; sleep 300",
    "daemon": "setsid bash -c '( exec -a {mark} sleep 300 ) & ' ; sleep 300",
    "empty environment": "setsid env -i bash -c 'exec -a {mark} sleep 300' & wait",
    "deaf": "(trap '' INT TERM HUP; exec -a {mark} sleep 300) & wait",
    "deaf leader": "trap '' INT TERM; bash -c 'trap \"\" INT TERM; exec -a {mark} sleep 300'",
    "respawning": "trap '' INT TERM; while :; do bash -c 'exec -a {mark} sleep 300'; done",
    "pipeline": "bash -c 'exec -a {mark} sleep 300' | bash -c 'trap \"\" INT TERM; exec -a {mark} sleep 300' | cat",
}

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs a child subreaper")


@pytest.fixture
def mark() -> Iterator[str]:
    """A name for processes of this test alone."""
    name = f"ac_{uuid.uuid4().hex[:12]}"
    yield name
    assert marked(name) == []


@linux_only
@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
def test_nothing_is_alive_after_a_cancel(lines: Lines, mark: str, escape: str) -> None:
    handle = lines.start("echo kept; " + escape.format(mark=mark))
    wait_until(lambda: bool(marked(mark)))
    began = time.monotonic()
    handle.cancel()
    result = handle.result()
    assert marked(mark) == []
    assert (result.ended, result.status) == (Ended.CANCELLED, 130)
    assert time.monotonic() - began < LADDER_S + 5
    with open(result.stdout.path, "rb") as file:
        assert file.read() == b"kept\n"


@linux_only
@pytest.mark.parametrize("escape", [ESCAPES["empty environment"], ESCAPES["deaf"], ESCAPES["respawning"]])
def test_a_second_cancel_kills_at_once(lines: Lines, mark: str, escape: str) -> None:
    handle = lines.start(escape.format(mark=mark))
    wait_until(lambda: bool(marked(mark)))
    began = time.monotonic()
    handle.cancel()
    handle.kill()
    handle.result()
    assert marked(mark) == []
    assert time.monotonic() - began < LADDER_S - 0.2


@linux_only
def test_nothing_is_alive_after_the_time_limit_and_what_was_printed_is_kept(lines: Lines, mark: str) -> None:
    ran = lines.run(f"echo step-1; bash -c 'bash -c \"exec -a {mark} sleep 300\" & wait'; echo step-2", timeout_s=1)
    assert marked(mark) == []
    assert (ran.out, ran.status, ran.result.ended, ran.result.limit) == (b"step-1\n", 124, Ended.TIMEOUT, 1)


def test_a_cancel_before_the_start_runs_nothing(lines: Lines) -> None:
    handle = lines.executor.prepare("touch ran", RunRequest())
    handle.cancel()
    handle.begin()
    result = handle.result()
    assert (result.ended, result.status, result.stages) == (Ended.CANCELLED, 130, ())
    assert not (lines.work / "ran").exists()


def test_a_cancel_between_two_stages_starts_nothing_more(lines: Lines) -> None:
    handle = lines.start("touch begun; sleep 300; touch ran")
    wait_until((lines.work / "begun").exists)
    handle.cancel()
    handle.result()
    assert not (lines.work / "ran").exists()


def test_a_job_does_not_hold_the_call_and_goes_on_with_its_log(lines: Lines) -> None:
    began = time.monotonic()
    ran = lines.run("(sleep 0.5; echo later; sleep 300) & echo started")
    assert time.monotonic() - began < 10
    assert (ran.out, ran.status, len(ran.result.jobs)) == (b"started\n", 0, 1)
    log = lines.executor.jobs.all()[0].log_path
    wait_until(lambda: "later" in open(log).read())  # noqa: SIM115  read once


@linux_only
def test_a_job_beside_a_cancelled_run_lives_on_and_ends_with_the_session(lines: Lines, mark: str) -> None:
    lines.run(f"bash -c 'exec -a {mark} sleep 300' & echo started")
    wait_until(lambda: bool(marked(mark)))
    other = lines.start("setsid env -i sleep 300 & sleep 300; wait")
    other.cancel()
    other.result()
    assert len(marked(mark)) == 1
    assert [job.number for job in lines.executor.close()] == [1]
    assert marked(mark) == []


@linux_only
def test_a_job_may_itself_be_killed(lines: Lines, mark: str) -> None:
    lines.run(f"setsid bash -c 'exec -a {mark} sleep 300' & echo started")
    wait_until(lambda: bool(marked(mark)))
    lines.executor.jobs.kill(lines.executor.jobs.all())
    assert marked(mark) == []


def test_jobs_are_commands_of_the_model(lines: Lines) -> None:
    lines.run("(echo working; sleep 300) & echo started")
    wait_until(lambda: "working" in lines.text("jobs tail 1"))
    assert "running" in lines.text("jobs")
    assert lines.run("jobs kill 1").status == 0
    assert lines.executor.jobs.all()[0].look() is False


def test_a_stop_wish_is_taken_from_any_thread_more_than_once(lines: Lines) -> None:
    handle = lines.start("sleep 300")
    for wish in (Stop.CANCEL, Stop.TIMEOUT, Stop.KILL, Stop.KILL):
        _wish(handle, wish)
    assert handle.result().ended is Ended.CANCELLED


def _wish(handle: RunHandle, wish: Stop) -> None:
    (handle.kill if wish is Stop.KILL else handle.cancel)()


@pytest.mark.parametrize("line", ["kill 0; echo after", "kill -TERM $$; echo after"])
def test_a_line_that_kills_its_own_group_ends_alone(lines: Lines, line: str) -> None:
    ran = lines.run("echo before; " + line)
    assert (ran.out, ran.status) == (b"before\n", 143)


def test_a_kept_job_outlives_the_session_and_goes_on_writing(lines: Lines, mark: str) -> None:
    lines.run(f"bash -c 'exec -a {mark} bash -c \"while sleep 0.2; do echo tick; done\"' & echo started")
    wait_until(lambda: bool(marked(mark)))
    assert "kept" in lines.text("jobs keep 1 2>&1; jobs")
    log = lines.executor.jobs.all()[0].log_path
    lines.executor.close()
    size = os.path.getsize(log)
    wait_until(lambda: os.path.getsize(log) > size + 10)
    for pid in marked(mark):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not marked(mark))
