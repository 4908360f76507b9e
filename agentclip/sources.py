"""Where our commands get their facts: saved sessions for `topic`, the job table for `jobs`.

Commands, store and shell do not know each other; this joins them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from agentclip.commands.jobs import JobFacts
from agentclip.commands.topic import TopicRun
from agentclip.events import CommandFinished, CommandStarted
from agentclip.results import StreamFile
from agentclip.shell.jobs import Job, JobTable
from agentclip.store.facts import SessionFacts, read_facts
from agentclip.store.listing import LOG_NAME, find, list_sessions
from agentclip.store.log import read_log


class SessionTopics:
    """The sessions of this machine as topics."""

    def __init__(self, sessions_dir: Path) -> None:
        self._folder = sessions_dir

    def list(self, limit: int | None) -> Sequence[SessionFacts]:
        """Newest first."""
        return list_sessions(self._folder)[:limit]

    def info(self, topic: str) -> SessionFacts:
        """One session's facts. Raises SessionError."""
        folder = find(self._folder, topic)
        return read_facts(folder) or SessionFacts(folder.name, "", "", "", "", 0.0, 0.0)

    def runs(self, topic: str) -> Sequence[TopicRun]:
        """Its runs, oldest first, those that never ended included. Raises SessionError."""
        events = read_log(find(self._folder, topic) / LOG_NAME).events
        all_events = [recorded.event for recorded in events]
        ended = {event.number: event for event in all_events if isinstance(event, CommandFinished)}
        return [_run(event, ended.get(event.number)) for event in all_events if isinstance(event, CommandStarted)]


def _run(started: CommandStarted, finished: CommandFinished | None) -> TopicRun:
    if finished is None:
        return TopicRun(started.number, started.command, None, "", _file(started.stdout_path))
    result = finished.result
    stdout = result.stdout if os.path.exists(result.stdout.path) else None
    return TopicRun(started.number, started.command, result.status, finished.shown.text, stdout)


def _file(path: str) -> StreamFile | None:
    try:
        return StreamFile(path, os.stat(path).st_size)
    except OSError:
        return None


class SessionJobs:
    """The job table as `jobs` shows it."""

    def __init__(self, jobs: JobTable) -> None:
        self._jobs = jobs

    def list(self) -> tuple[JobFacts, ...]:
        """All jobs, ended ones included."""
        return tuple(_facts(job) for job in self._jobs.all())

    def wait(self, number: int, timeout_s: float, cancelled: threading.Event) -> JobFacts | None:
        """Return when it ended, the time is over or the run is being stopped; None for no such job."""
        job = self._jobs.get(number)
        if job is not None:
            self._jobs.wait(job, timeout_s, cancelled)
        return None if job is None else _facts(job)

    def kill(self, number: int) -> JobFacts | None:
        """End it; None for no such job."""
        job = self._jobs.get(number)
        if job is not None:
            self._jobs.kill([job])
        return None if job is None else _facts(job)

    def keep(self, number: int) -> JobFacts | None:
        """Let it outlive the session; None for no such job."""
        job = self._jobs.get(number)
        if job is not None:
            job.kept = True
        return None if job is None else _facts(job)


def _facts(job: Job) -> JobFacts:
    running = job.look()
    return JobFacts(job.number, job.pids, job.command, job.log_path, job.spool.stdout.size, running, kept=job.kept)
