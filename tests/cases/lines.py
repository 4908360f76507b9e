"""Lines through both layers without a model, in process: real bash, real programs, what the model would read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from agentclip.commands.catalog import built_in_commands
from agentclip.present.machine import Machine
from agentclip.present.shown import show
from agentclip.results import ChainResult, Limits, Presented
from agentclip.shell.execute import Executor, Place, RunHandle, RunRequest
from agentclip.shell.jobs import JobTable
from agentclip.shell.state import command_environment
from agentclip.sources import SessionJobs, SessionTopics


class Lines:
    """One session of lines."""

    def __init__(self, folder: Path, env: Mapping[str, str], limits: Limits, spool_limit_bytes: int) -> None:
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.limits = limits
        jobs = JobTable()
        table = built_in_commands(SessionTopics(folder / "sessions"), SessionJobs(jobs))
        place = Place(folder / "session", str(self.work), command_environment({**os.environ, **env}), spool_limit_bytes)
        self.executor = Executor(table, place, jobs)

    def run(self, line: str) -> tuple[ChainResult, Presented]:
        """Run a line to its end."""
        handle = self.start(line)
        return self.end(handle)

    def start(self, line: str, timeout_s: float = 60) -> RunHandle:
        handle = self.executor.prepare(line, RunRequest(timeout_s=timeout_s))
        handle.begin()
        return handle

    def end(self, handle: RunHandle) -> tuple[ChainResult, Presented]:
        result = handle.result()
        state = self.executor.state
        machine = Machine(self.executor.table.names(), state.env.get("PATH", os.defpath), state.cwd)
        return result, show(result, self.limits, machine)

    def read(self, line: str) -> str:
        """What the model reads, the footer's duration left off."""
        return self.run(line)[1].text


@contextlib.contextmanager
def lines(
    folder: Path,
    *,
    env: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    spool_limit_bytes: int = 64 * 1024 * 1024,
) -> Iterator[Lines]:
    """A session in a folder; nothing of it lives afterwards."""
    session = Lines(folder, env or {}, limits or Limits(), spool_limit_bytes)
    try:
        yield session
    finally:
        session.executor.close()


def program_folder(folder: Path, *programs: str, like: str = "exit 0") -> Path:
    """A folder for PATH that holds programs of these names only."""
    folder.mkdir(exist_ok=True)
    for program in programs:
        file = folder / program
        file.write_text(f"#!/bin/sh\n{like}\n")
        file.chmod(0o755)
    return folder


def linked_programs(folder: Path, *programs: str) -> Path:
    """A folder for PATH that links to real programs of this machine."""
    folder.mkdir(exist_ok=True)
    for program in programs:
        real = next((path for part in os.environ["PATH"].split(":") if os.access(path := f"{part}/{program}", os.X_OK)), None)
        if real is not None and not (folder / program).exists():
            (folder / program).symlink_to(real)
    return folder
