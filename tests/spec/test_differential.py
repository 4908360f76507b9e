"""`agentclip exec --raw LINE` against `bash -c LINE`: the same bytes on stdout, the same status, the same files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.spec import fixture
from tests.spec.corpus import Entry, entries
from tests.spec.prefork import Outcome, Prefork, run_bash
from tests.spec.strategies import lines

ENTRIES = entries()
TIMES = 30
EVERY = 11
"""The default suite runs each eleventh entry."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Both ways of running a line, each time in a fresh copy of the fixture at the same path."""

    template: Path
    folder: Path
    prefork: Prefork

    def both(self, line: str) -> tuple[tuple[Outcome, dict[str, object]], tuple[Outcome, dict[str, object]]]:
        """How bash ended and what it left, then the same for us."""
        expected = self.bash(line)
        fixture.renew(self.template, self.folder)
        got = self.prefork.run(line, self.folder, fixture.environ(self.folder))
        return expected, (got, fixture.state(self.folder))

    def bash(self, line: str) -> tuple[Outcome, dict[str, object]]:
        """How bash ended and what it left."""
        fixture.renew(self.template, self.folder)
        ended = run_bash(line, self.folder, fixture.environ(self.folder))
        return ended, fixture.state(self.folder)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    root = tmp_path_factory.mktemp("spec")
    fixture.build(root / "template")
    prefork = Prefork(root)
    yield Bench(root / "template", root / "work", prefork)
    prefork.close()


def steady(output: bytes) -> bytes:
    """Without the one number that no two processes share: `set` tells the pid of the shell's parent."""
    return re.sub(rb"(?m)^PPID=[0-9]+$", b"PPID", output)


def check_made_up(bench: Bench, line: str) -> None:
    """Who is first, a writer or the end of its reader, bash leaves open: what we do must be what it does one of TIMES times."""
    (expected, left), (got, ours) = bench.both(line)
    mine = (got.status, steady(got.stdout), ours)
    seen = [(expected.status, steady(expected.stdout), left)]
    while mine not in seen and len(seen) < TIMES:
        again, left = bench.bash(line)
        seen.append((again.status, steady(again.stdout), left))
    assert mine in seen, got.stderr.decode("utf-8", "replace")


def check(bench: Bench, entry: Entry) -> None:
    (expected, left), (got, ours) = bench.both(entry.line)
    assert got.status == expected.status, got.stderr.decode("utf-8", "replace")
    if entry.rule is None:
        assert steady(got.stdout) == steady(expected.stdout), got.stderr.decode("utf-8", "replace")
        assert ours == left


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, id=f"{number}: {entry.line[:50]!r}", marks=() if number % EVERY == 0 else pytest.mark.slow)
        for number, entry in enumerate(ENTRIES)
    ],
)
def test_a_line_does_what_bash_does(bench: Bench, entry: Entry) -> None:
    check(bench, entry)


@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=[*HealthCheck])
@given(line=lines())
def test_made_up_lines_do_what_bash_does(bench: Bench, line: str) -> None:
    check_made_up(bench, line)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=1500, deadline=None, suppress_health_check=[*HealthCheck], print_blob=True)
@given(line=lines())
def test_many_made_up_lines_do_what_bash_does(bench: Bench, line: str) -> None:
    check_made_up(bench, line)
