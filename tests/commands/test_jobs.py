from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentclip.commands.jobs import JobFacts, Jobs, JobsCommand
from tests.commands.calls import Desk, Outcome


@dataclass(slots=True)
class Processes:
    """Jobs that are real processes writing real logs."""

    folder: Path
    started: list[tuple[str, subprocess.Popen[bytes]]] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)

    def start(self, line: str) -> int:
        with (self.folder / f"job-{len(self.started) + 1}.txt").open("wb") as log:
            argv = ["bash", "-c", line]
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.started.append((line, process))
        return len(self.started)

    def list(self) -> tuple[JobFacts, ...]:
        return tuple(self._facts(number) for number in range(1, len(self.started) + 1))

    def wait(self, number: int, timeout_s: float, cancelled: threading.Event) -> JobFacts | None:
        if not self._has(number):
            return None
        deadline = time.monotonic() + timeout_s
        while self._facts(number).running and time.monotonic() < deadline and not cancelled.wait(0.01):
            pass
        return self._facts(number)

    def kill(self, number: int) -> JobFacts | None:
        if not self._has(number):
            return None
        process = self.started[number - 1][1]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return self._facts(number)

    def keep(self, number: int) -> JobFacts | None:
        self.kept.add(number)
        return self._facts(number) if self._has(number) else None

    def _has(self, number: int) -> bool:
        return 1 <= number <= len(self.started)

    def _facts(self, number: int) -> JobFacts:
        line, process = self.started[number - 1]
        log = self.folder / f"job-{number}.txt"
        status = process.poll()
        pids = (process.pid,) if status is None else ()
        return JobFacts(number, pids, line, str(log), log.stat().st_size, status is None, status, number in self.kept)


_: type[Jobs] = Processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path)
    yield processes
    for number in range(1, len(processes.started) + 1):
        processes.kill(number)


def jobs(desk: Desk, processes: Processes, *words: str) -> Outcome:
    return desk.call(JobsCommand(processes), "jobs", *words)


def finished(processes: Processes, line: str) -> int:
    number = processes.start(line)
    processes.started[number - 1][1].wait()
    return number


def test_no_jobs_is_no_error_and_no_data(desk: Desk, processes: Processes) -> None:
    outcome = jobs(desk, processes)
    assert (outcome.status, outcome.out, outcome.error) == (0, b"", "no background jobs")


def test_jobs_are_listed_one_per_line(desk: Desk, processes: Processes) -> None:
    finished(processes, "echo one\nexit 3")
    processes.start("exec sleep 100")
    first, second = (line.split("\t") for line in jobs(desk, processes).text.splitlines())
    assert first == ["1", "ended with exit 3", "-", "4 bytes", str(processes.folder / "job-1.txt"), r"echo one\nexit 3"]
    pid = processes.started[1][1].pid
    assert second == ["2", "running", f"pid {pid}", "0 bytes", str(processes.folder / "job-2.txt"), "exec sleep 100"]


@pytest.mark.parametrize(
    ("log", "count", "shown"),
    [
        (b"", 5, b""),
        (b"one\n", 5, b"one\n"),
        (b"one\ntwo\nthree\n", 2, b"two\nthree\n"),
        (b"one\ntwo\nno end", 2, b"two\nno end"),
        (b"one\n\n\n", 2, b"\n\n"),
        (b"x" * 200_000 + b"\nlast\n", 1, b"last\n"),
        (b"x" * 200_000 + b"\nlast\n", 2, b"x" * 200_000 + b"\nlast\n"),
        (b"\n" * 200_000, 70_000, b"\n" * 70_000),
        (b"first\n" + b"y" * ((1 << 16) - 1) + b"\n", 1, b"y" * ((1 << 16) - 1) + b"\n"),
    ],
    ids=range(9),
)
def test_tail_is_what_tail_would_print(desk: Desk, processes: Processes, log: bytes, count: int, shown: bytes) -> None:
    finished(processes, "true")
    path = processes.folder / "job-1.txt"
    path.write_bytes(log)
    assert subprocess.run(["tail", "-n", str(count), path], stdout=subprocess.PIPE, check=True).stdout == shown
    assert jobs(desk, processes, "tail", "1", "-n", str(count)).out == shown


def test_tail_shows_twenty_lines_unless_told(desk: Desk, processes: Processes) -> None:
    finished(processes, "seq 100")
    assert jobs(desk, processes, "tail", "1").text.split() == [str(number) for number in range(81, 101)]


def test_wait_ends_with_the_status_of_the_job(desk: Desk, processes: Processes) -> None:
    processes.start("sleep 0.2; exit 7")
    outcome = jobs(desk, processes, "wait", "1")
    assert (outcome.status, outcome.text) == (7, "job 1 has ended with exit 7\n")


def test_wait_gives_up_after_its_timeout(desk: Desk, processes: Processes) -> None:
    processes.start("exec sleep 100")
    outcome = jobs(desk, processes, "wait", "1", "-t", "0")
    assert (outcome.status, outcome.error) == (124, "[error] jobs: job 1 still runs (TIMEOUT). Use: jobs tail 1")


def test_a_cancelled_wait_leaves_the_job_running(desk: Desk, processes: Processes) -> None:
    processes.start("exec sleep 100")
    cancelled = threading.Event()
    timer = threading.Timer(0.1, cancelled.set)
    timer.start()
    with open(os.devnull, "rb") as null:
        outcome = desk.on_descriptor(JobsCommand(processes), ("jobs", "wait", "1"), null.fileno(), cancelled)
    timer.join()
    assert outcome.status == 130
    assert processes.list()[0].running


def test_kill_returns_when_nothing_lives(desk: Desk, processes: Processes) -> None:
    processes.start("exec sleep 100")
    outcome = jobs(desk, processes, "kill", "1")
    assert (outcome.status, outcome.text) == (0, "job 1 killed\n")
    assert not processes.list()[0].running


def test_keep_says_where_the_output_goes(desk: Desk, processes: Processes) -> None:
    processes.start("exec sleep 100")
    outcome = jobs(desk, processes, "keep", "1")
    assert outcome.text == f"job 1 outlives the session; its output goes to {processes.folder / 'job-1.txt'}\n"
    assert "\trunning, kept\t" in jobs(desk, processes).text


@pytest.mark.parametrize("word", ["kill", "keep"])
def test_an_ended_job_is_neither_killed_nor_kept(desk: Desk, processes: Processes, word: str) -> None:
    finished(processes, "exit 3")
    outcome = jobs(desk, processes, word, "1")
    assert (outcome.status, outcome.error) == (
        1,
        "[error] jobs: job 1 has already ended with exit 3 (FAILED). Use: jobs tail 1",
    )


@pytest.mark.parametrize("word", ["tail", "wait", "kill", "keep"])
def test_a_number_that_is_none_is_said(desk: Desk, processes: Processes, word: str) -> None:
    outcome = jobs(desk, processes, word, "7")
    assert (outcome.status, outcome.error) == (2, "[error] jobs: there is no job 7 (INPUT_NOT_FOUND). Use: jobs")
