"""Where our commands get their facts: saved sessions for `topic`, the job table for `jobs`.

Commands, store and shell do not know each other; this joins them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from agentclip.commands.jobs import JobFacts
from agentclip.commands.topic import TopicMatch, TopicRun
from agentclip.events import (
    AssistantReplied,
    CommandFinished,
    CommandStarted,
    Event,
    Recorded,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.results import StreamFile
from agentclip.shell.jobs import Job, JobTable
from agentclip.store.codec import UnreadableLineError, decode
from agentclip.store.facts import SessionFacts, read_facts
from agentclip.store.listing import LOG_NAME, find, list_sessions
from agentclip.store.log import read_log
from agentclip.store.session import Session

COUNTED_RUNS = 500
"""Runs that say which commands a session uses."""


class SessionTopics:
    """The sessions of this machine as topics."""

    def __init__(self, sessions_dir: Path, current: Session | None = None) -> None:
        self._folder = sessions_dir
        self._current = current
        """The session that asks: it is open already, so nobody else can open it to rename it."""

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

    def search(self, words: Sequence[str], stop: Callable[[], None]) -> Iterator[TopicMatch]:
        """What was said and run, as it is read from the logs; only lines that can hold the words are decoded."""
        folded = [word.lower() for word in words]
        for facts in list_sessions(self._folder):
            for recorded in _told(self._folder / facts.id / LOG_NAME, stop):
                kind, text = _text_of(recorded.event)
                if all(word in text.lower() for word in folded):
                    yield TopicMatch(facts.id, recorded.time, kind, text)

    def rename(self, topic: str, title: str) -> str:
        """Another title, or the first prompt's. Raises SessionError: none, several, or open elsewhere."""
        folder = find(self._folder, topic)
        if self._current is not None and folder.name == self._current.id:
            self._current.rename(title or _first_prompt(folder))
            return self._current.meta.title
        session = Session.open(self._folder, folder.name)
        try:
            session.rename(title or _first_prompt(folder))
        finally:
            session.close()
        return session.meta.title


def _told(log: Path, stop: Callable[[], None]) -> Iterator[Recorded]:
    """The prompts, replies and commands of a log, line by line; damaged lines are left out."""
    try:
        with log.open("rb") as file:
            for line in file:
                stop()
                if _TOLD.search(line, 0, _HEAD_BYTES):
                    with contextlib.suppress(UnreadableLineError):
                        yield decode(line)
    except OSError:
        return


_TOLD = re.compile(rb'"type":"(TurnStarted|UserMessageFolded|AssistantReplied|CommandStarted)"')
_HEAD_BYTES = 200
"""The type stands within the first bytes of a line."""


def _text_of(event: Event) -> tuple[str, str]:
    match event:
        case TurnStarted(message) | UserMessageFolded(message):
            return "prompt", message.text
        case AssistantReplied(message):
            return "answer", message.text
        case CommandStarted(number=number, command=command):
            return f"run {number}", command
        case _:
            return "", ""


def _first_prompt(folder: Path) -> str:
    prompts = (text for kind, text in map(_text_of, _events(folder)) if kind == "prompt")
    return next(prompts, "")


def _events(folder: Path) -> Iterator[Event]:
    return (recorded.event for recorded in _told(folder / LOG_NAME, lambda: None))


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


def command_uses(session: Session) -> Mapping[str, int]:
    """How often the session called each command of late: those stay in a tool description that cannot hold all."""
    newest = itertools.islice(session.events.newest(CommandStarted), COUNTED_RUNS)
    chains = (recorded.event.chain for recorded in newest if isinstance(recorded.event, CommandStarted))
    stages = (stage for chain in chains for pipeline in chain.pipelines for stage in pipeline.stages)
    return Counter(stage.argv[0] for stage in stages if stage.argv)


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
