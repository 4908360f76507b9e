from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentclip.present.presenter import present
from agentclip.results import Limits
from tests.present.runs import Ran, Run


def shown(run: Run, folder: Path) -> str:
    return present(run.result(folder), run.limits).text


@pytest.mark.parametrize("status", [0, 141])
def test_success_and_sigpipe_keep_the_last_twenty_lines(status: int, tmp_path: Path) -> None:
    text = shown(Run(b"", [[Ran("a", status, b"".join(b"w%d\n" % n for n in range(100))), Ran("head")]]), tmp_path)
    assert "\nw79\n" not in text
    assert all(f"\nw{n}\n" in text for n in range(80, 100))


@pytest.mark.parametrize(
    "pipelines",
    [
        [[Ran("a", 2, b"".join(b"w%d\n" % n for n in range(100))), Ran("wc")]],
        [[Ran("a", 1, b"".join(b"w%d\n" % n for n in range(100)))], [Ran("echo fallback")]],
        [[Ran("a", 0, b"".join(b"w%d\n" % n for n in range(100)))], [Ran("b", 3)], [Ran("echo fallback")]],
        [[Ran("a", 0, b"".join(b"w%d\n" % n for n in range(100)), refused=True)]],
    ],
)
def test_any_failure_on_the_way_shows_stderr_whole(pipelines: list[list[Ran]], tmp_path: Path) -> None:
    text = shown(Run(b"out\n", pipelines), tmp_path)
    assert all(f"w{n}\n" in text for n in range(100))


def test_stderr_is_not_dropped_because_stdout_is_long(tmp_path: Path) -> None:
    text = shown(Run(b"x\n" * 10**5, [[Ran("a", 1, b"bash: pip: command not found\n")]]), tmp_path)
    assert text.endswith("[stderr] bash: pip: command not found\n[exit:1 | 12ms]")


def test_a_small_speaker_leaves_its_share_to_a_large_one(tmp_path: Path) -> None:
    long = b"".join(b"w%d\n" % n for n in range(98))
    text = shown(Run(b"", [[Ran("a", 1, long), Ran("b", 1, b"one\n"), Ran("c", 1, b"two\n")]]), tmp_path)
    assert all(f"w{n}\n" in text for n in range(98))


@given(sizes=st.lists(st.integers(0, 20_000), max_size=30), failed=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
def test_all_stages_together_keep_to_one_budget(tmp_path: Path, *, sizes: list[int], failed: bool) -> None:
    stages = [Ran(f"p{n}", int(failed), b"e" * 70 + b"\n" + b"f" * size) for n, size in enumerate(sizes)]
    text = shown(Run(b"", [[*stages, Ran("end")]]), tmp_path)
    marks = 300 * min(len(sizes), 12) + 500
    assert len(text.encode()) <= Limits().stderr_bytes + marks
    assert text.count("\n") <= Limits().stderr_lines + 26
