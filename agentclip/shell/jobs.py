"""What still lives after a run: background jobs. They end with the session unless they are kept."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable

from msgspec import Struct, field

from agentclip.results import BackgroundJob
from agentclip.shell.descendants import Family
from agentclip.shell.spool import Spool

GRACE_S = 1.0
"""Between TERM and KILL."""
LOOK_EVERY_S = 0.02
WATCH_EVERY_S = 0.5


class Job(Struct):
    """One run's survivors and the spool that goes on taking their output."""

    number: int
    command: str
    family: Family
    spool: Spool
    started: float
    """Seconds since the epoch, when the run returned."""
    kept: bool = False
    pids: tuple[int, ...] = field(default=())
    """As of the last look."""

    @property
    def log_path(self) -> str:
        """The spool of its stdout."""
        return str(self.spool.stdout.path)

    def look(self) -> bool:
        """Whether anything of it lives; updates `pids`."""
        self.pids = tuple(row.pid for row in self.family.alive())
        return bool(self.pids)


class JobTable:
    """All jobs of a session, numbered from 1. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._jobs: dict[int, Job] = {}
        self._watcher: threading.Thread | None = None

    def add(self, command: str, family: Family, spool: Spool) -> BackgroundJob:
        """Take over what a run left alive."""
        with self._lock:
            family.settle()
            job = Job(max(self._jobs, default=0) + 1, command, family, spool, time.time())
            job.look()
            self._jobs[job.number] = job
            if self._watcher is None or not self._watcher.is_alive():
                self._watcher = threading.Thread(target=self._watch, name="jobs", daemon=True)
                self._watcher.start()
            return BackgroundJob(job.number, job.pids, command)

    def _watch(self) -> None:
        """Collect what ends, as long as anything lives: no zombie waits for the next command."""
        while self.pids():
            time.sleep(WATCH_EVERY_S)

    def all(self) -> tuple[Job, ...]:
        """In order of their numbers, ended ones included."""
        with self._lock:
            return tuple(self._jobs.values())

    def get(self, number: int) -> Job | None:
        """The job of that number, or None."""
        return self._jobs.get(number)

    def pids(self) -> frozenset[int]:
        """Processes that belong to jobs, as of now."""
        with self._lock:
            for job in self._jobs.values():
                if job.pids:
                    job.look()
            return frozenset(pid for job in self._jobs.values() for pid in job.pids)

    def kill(self, jobs: Iterable[Job]) -> None:
        """TERM, a second, KILL; returns when nothing of them lives."""
        with self._lock:
            living = [job for job in jobs if job.look()]
            for job in living:
                job.family.signal(signal.SIGTERM)
            deadline = time.monotonic() + GRACE_S
            while (living := [job for job in living if job.look()]) and time.monotonic() < deadline:
                time.sleep(LOOK_EVERY_S)
            for job in living:
                job.family.kill_all()
                job.look()

    def wait(self, job: Job, timeout_s: float, cancelled: threading.Event) -> bool:
        """Whether the job ended in time; a cancel ends the waiting only."""
        deadline = time.monotonic() + timeout_s
        while job.look():
            if time.monotonic() >= deadline or cancelled.wait(LOOK_EVERY_S):
                return False
        return True

    def close(self) -> tuple[Job, ...]:
        """End all but the kept ones; return who was still alive."""
        with self._lock:
            living = tuple(job for job in self._jobs.values() if job.look())
            self.kill(job for job in living if not job.kept)
            for job in self._jobs.values():
                if job.kept and job in living:
                    hand_over(job.spool)
                job.spool.close()
            self._jobs.clear()
            return living


def hand_over(spool: Spool) -> None:
    """Let a `cat` of its own session move a kept job's output from now on: without a reader it would die of SIGPIPE."""
    for stream in spool.streams:
        if stream.read_end < 0:
            continue
        with contextlib.suppress(OSError), open(stream.path, "ab") as log:
            os.set_blocking(stream.read_end, True)
            subprocess.Popen(["cat"], stdin=stream.read_end, stdout=log, stderr=subprocess.DEVNULL, start_new_session=True)
