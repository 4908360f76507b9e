"""`jobs`: what runs in the background of this session. Facts come in through `Jobs`; this module knows no process."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from agentclip.command import CommandIO, Declaration, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.files import explained
from agentclip.commands.registry import CommandGroup, Handler
from agentclip.commands.streams import BLOCK, copy_range, note, say, size_text, stop_if_cancelled
from agentclip.errors import CommandError, ErrorCode, one_line

_LONGEST_WAIT_S = 24 * 3600


class JobFacts(Struct, frozen=True):
    """One job as of now."""

    number: int
    """From 1, within the session."""
    pids: tuple[int, ...]
    """What lives of it; empty when it has ended."""
    command: str
    log: str
    """Absolute path of the file its output goes to."""
    size: int
    """Bytes in the log."""
    running: bool
    status: int | None = None
    """Exit status; None while it runs, and where nobody could tell."""
    kept: bool = False
    """Outlives the session."""


class Jobs(Protocol):
    """The background jobs of a session. A number that is none gives None."""

    def list(self) -> tuple[JobFacts, ...]:
        """All jobs in order of their numbers, ended ones included."""

    def wait(self, number: int, timeout_s: float, cancelled: threading.Event) -> JobFacts | None:
        """Return when the job has ended, the time is over or the run is being stopped."""

    def kill(self, number: int) -> JobFacts | None:
        """End it, and return when nothing of it lives."""

    def keep(self, number: int) -> JobFacts | None:
        """Let it outlive the session."""


_NUMBER = Parameter("number", "the job, as `jobs` lists it", "integer", required=True, minimum=1)
_EXIT_CODES = ((0, "done"), (2, "wrong words, or no such job"))


class JobsCommand(CommandGroup):
    """Lists, follows and ends background jobs."""

    declaration = Declaration(
        name="jobs",
        summary="Background jobs (started with &): list, tail, wait, kill, keep",
        runs_bare=True,
        subcommands=(
            Declaration(
                name="jobs tail",
                summary="last lines of a job's output",
                parameters=(
                    _NUMBER,
                    Parameter(
                        "--lines", "how many", "integer", short="-n", default="20", minimum=1, maximum=100_000, value="N"
                    ),
                ),
                examples=("jobs tail 1", "jobs tail 1 -n 100", "jobs tail 2 | grep -i error"),
                exit_codes=_EXIT_CODES,
                often_followed_by=("jobs wait", "jobs kill"),
            ),
            Declaration(
                name="jobs wait",
                summary="wait until a job has ended",
                parameters=(
                    _NUMBER,
                    Parameter(
                        "--timeout",
                        "give up after so many seconds; left out: at the time limit of the run",
                        "integer",
                        short="-t",
                        minimum=0,
                        maximum=_LONGEST_WAIT_S,
                        value="seconds",
                    ),
                ),
                examples=("jobs wait 1", "jobs wait 1 -t 30", "jobs wait 1 && jobs tail 1"),
                exit_codes=(
                    (0, "it has ended (or with its own exit status, where that is known)"),
                    (2, "wrong words, or no such job"),
                    (124, "it still runs"),
                    (130, "cancelled; the job runs on"),
                ),
                often_followed_by=("jobs tail",),
            ),
            Declaration(
                name="jobs kill",
                summary="end a job and everything it started",
                parameters=(_NUMBER,),
                examples=("jobs kill 1", "jobs kill 1; jobs tail 1", "jobs kill 2 && jobs"),
                exit_codes=((0, "nothing of it lives"), (1, "it had already ended"), (2, "wrong words, or no such job")),
                often_followed_by=("jobs",),
            ),
            Declaration(
                name="jobs keep",
                summary="let a job outlive the session",
                parameters=(_NUMBER,),
                examples=("jobs keep 1", "jobs keep 1 && jobs", "jobs keep 2; jobs tail 2"),
                exit_codes=((0, "kept"), (1, "it had already ended"), (2, "wrong words, or no such job")),
                often_followed_by=("jobs tail",),
            ),
        ),
        examples=("jobs", "jobs tail 1", "jobs wait 1 -t 30", "jobs kill 1"),
        exit_codes=((0, "done; no jobs is no error"), (2, "wrong words")),
        often_followed_by=("jobs tail", "jobs wait"),
    )

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def handlers(self) -> Mapping[str, Handler]:
        """The subcommands."""
        return {"tail": self._tail, "wait": self._wait, "kill": self._kill, "keep": self._keep}

    def handle(self, args: Arguments, io: CommandIO) -> int:  # noqa: ARG002  it takes no words
        """One line per job: number, state, pids, size and path of the log, command; tabs between."""
        jobs = self._jobs.list()
        for job in jobs:
            say(io, "\t".join((str(job.number), _state(job), _pids(job), size_text(job.size), job.log, one_line(job.command))))
        if not jobs:
            note(io, "no background jobs")
        return 0

    def _tail(self, args: Arguments, io: CommandIO) -> int:
        number = args.integer("number")
        job = next((job for job in self._jobs.list() if job.number == number), None)
        if job is None:
            raise _no_job(number)
        with explained(job.log):
            start, end = _last_lines(job.log, args.integer("--lines"), io)
            copy_range(io, job.log, start, end)
        return 0

    def _wait(self, args: Arguments, io: CommandIO) -> int:
        number, timeout_s = args.integer("number"), args.optional_integer("--timeout")
        job = self._jobs.wait(number, _LONGEST_WAIT_S if timeout_s is None else timeout_s, io.cancelled)
        if job is None:
            raise _no_job(number)
        if job.running:
            stop_if_cancelled(io)
            raise CommandError(f"job {number} still runs", hint=f"jobs tail {number}", code=ErrorCode.TIMEOUT)
        say(io, f"job {number} has {_state(job)}")
        return job.status or 0

    def _kill(self, args: Arguments, io: CommandIO) -> int:
        number = args.integer("number")
        self._running(number)
        self._jobs.kill(number)
        say(io, f"job {number} killed")
        return 0

    def _keep(self, args: Arguments, io: CommandIO) -> int:
        number = args.integer("number")
        job = self._running(number)
        self._jobs.keep(number)
        say(io, f"job {number} outlives the session; its output goes to {job.log}")
        return 0

    def _running(self, number: int) -> JobFacts:
        job = next((job for job in self._jobs.list() if job.number == number), None)
        if job is None:
            raise _no_job(number)
        if not job.running:
            raise CommandError(f"job {number} has already {_state(job)}", hint=f"jobs tail {number}", code=ErrorCode.FAILED)
        return job


def _no_job(number: int) -> CommandError:
    return CommandError(f"there is no job {number}", hint="jobs", code=ErrorCode.INPUT_NOT_FOUND)


def _state(job: JobFacts) -> str:
    if job.running:
        return "running, kept" if job.kept else "running"
    return "ended" if job.status is None else f"ended with exit {job.status}"


def _pids(job: JobFacts) -> str:
    return f"pid {' '.join(map(str, job.pids))}" if job.pids else "-"


def _last_lines(path: str, count: int, io: CommandIO) -> tuple[int, int]:
    """Offsets of the last `count` lines of a file: looked for from its end, in constant memory."""
    with open(path, "rb") as file:
        end = position = file.seek(0, 2)
        missing = count + 1  # the line end before the first line that is shown
        while position > 0:
            stop_if_cancelled(io)
            start = max(0, position - BLOCK)
            file.seek(start)
            block = file.read(position - start)
            if position == end and not block.endswith(b"\n"):
                missing -= 1  # the last line has no end yet
            found = block.count(b"\n")
            if found >= missing:
                return start + _nth_from_end(block, missing) + 1, end
            missing -= found
            position = start
        return 0, end


def _nth_from_end(block: bytes, count: int) -> int:
    """Offset of the `count`th line end, counted from the back."""
    position = len(block)
    for _ in range(count):
        position = block.rindex(b"\n", 0, position)
    return position
