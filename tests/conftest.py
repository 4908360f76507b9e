"""What all tests share: a home of their own, and a leak check on processes."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentclip.shell.descendants import own_children, read_process

GRACE_S = 20.0
"""What was told to end may take a moment."""


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the person's own files, and none finds a key."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith("AGENTCLIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    """A leaked process makes a later test fail for no reason of its own: name the one that leaked it."""
    before = own_children()
    yield
    if sys.platform == "linux":
        deadline = time.monotonic() + GRACE_S
        while (left := _living(own_children() - before)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left, f"left running: {left}"


def _living(pids: set[int]) -> list[str]:
    """The command lines of those that run."""
    rows = [row for pid in pids if (row := read_process(pid)) is not None and row.state != "Z"]
    found = []
    for row in rows:
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{row.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def pytest_configure() -> None:
    """Tests send Ctrl+C; who starts them in the background of a script has it ignored, and all they start as well."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI everything that tests need is installed: a skipped test means that it is not."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_finish() -> None:
    """What is loaded now stays, and most of what tests make goes by itself: the collector took a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
