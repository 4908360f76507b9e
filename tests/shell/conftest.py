"""Layer 1 on real processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentclip.runtime import command_table
from agentclip.shell.execute import Executor, Place
from agentclip.shell.jobs import JobTable
from agentclip.shell.state import command_environment
from tests.shell.runs import Lines

MakeLines = Callable[..., Lines]


@pytest.fixture
def make_lines(tmp_path: Path) -> Iterator[MakeLines]:
    """Executors that are closed at the end."""
    made: list[Executor] = []

    def make(spool_limit_bytes: int = 256 * 1024 * 1024, ulimit: str = "") -> Lines:
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        jobs = JobTable()
        environment = command_environment(os.environ)
        place = Place(tmp_path / "session", str(work), environment, spool_limit_bytes, ulimit)
        executor = Executor(command_table(jobs), place, jobs)
        made.append(executor)
        return Lines(executor, work)

    yield make
    for executor in made:
        executor.close()


@pytest.fixture
def lines(make_lines: MakeLines) -> Lines:
    """One executor in a folder of its own."""
    return make_lines()
