"""A stage that is running: a process or one of our commands on a thread."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct
from typing_extensions import override

from agentclip.results import CommandFailure, Stage, StageKind, StageResult

REFUSALS = frozenset({2, 69, 70, 77, 78, 126, 127})
"""Statuses by which our own commands say that they did not do the work: they fail their pipeline."""


class CommandEnd(Struct, frozen=True):
    """How one of our commands ended."""

    status: int
    failure: CommandFailure | None = None
    """None when it ended without an error of its own."""


class RunningStage(Protocol):
    """What the run waits for."""

    index: int
    stage: Stage
    started: float

    @property
    def pid(self) -> int | None:
        """None for a command in process."""

    def descriptor(self) -> int | None:
        """Becomes readable when the stage has ended; None when only `ended` tells."""

    def ended(self) -> bool:
        """Whether it is over; collects the process when it is."""

    def result(self, origin: float) -> StageResult:
        """After it ended; `origin` is when the run began."""


class ProcessStage(RunningStage):
    """A program or a bash."""

    def __init__(self, index: int, stage: Stage, process: subprocess.Popen[bytes]) -> None:
        self.index = index
        self.stage = stage
        self.started = time.monotonic()
        self._process = process
        self._finished = 0.0
        self._io: tuple[int | None, int | None] = (None, None)
        self._pidfd = os.pidfd_open(process.pid) if sys.platform == "linux" else None

    @property
    @override
    def pid(self) -> int | None:
        return self._process.pid

    @override
    def descriptor(self) -> int | None:
        return self._pidfd

    @override
    def ended(self) -> bool:
        if self._finished:
            return True
        counted = bytes_moved(self._process.pid)
        if self._process.poll() is None:
            return False
        self._finished = time.monotonic()
        self._io = counted
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        return True

    @override
    def result(self, origin: float) -> StageResult:
        status, name = decode_status(self._process.returncode)
        kind = self.stage.kind or StageKind.SHELL
        if kind is StageKind.SHELL and name is None:
            name = signal_name(status - 128)
        return StageResult(
            index=self.index,
            text=self.stage.text,
            kind=kind,
            status=status,
            signal=name,
            started_s=self.started - origin,
            duration_s=self._finished - self.started,
            bytes_in=self._io[0],
            bytes_out=self._io[1],
        )


Work = Callable[[], CommandEnd]
"""One of our commands at work."""

_BROKEN = CommandEnd(70)


class ThreadStage(RunningStage):
    """One of our commands, or a word that nothing answers to. A thread cannot be killed: the command itself looks."""

    pid: int | None = None

    def __init__(self, index: int, stage: Stage, work: Work, wake: Callable[[], None]) -> None:
        self.index = index
        self.stage = stage
        self.started = time.monotonic()
        self._end: CommandEnd | None = None
        self._finished = 0.0
        self._wake = wake
        self._thread = threading.Thread(target=self._run, args=(work,), name=f"command {index}", daemon=True)
        self._thread.start()

    def _run(self, work: Work) -> None:
        end = _BROKEN
        try:
            end = work()
        finally:
            self._finished = time.monotonic()
            self._end = self._end or end
            self._wake()

    def abandon(self, status: int) -> None:
        """It did not listen: the run goes on without it."""
        self._finished = time.monotonic()
        self._end = CommandEnd(status)

    @override
    def descriptor(self) -> int | None:
        return None

    @override
    def ended(self) -> bool:
        return self._end is not None

    @override
    def result(self, origin: float) -> StageResult:
        end = self._end or _BROKEN
        return StageResult(
            index=self.index,
            text=self.stage.text,
            kind=self.stage.kind or StageKind.COMMAND,
            status=end.status,
            refused=end.status in REFUSALS,
            started_s=self.started - origin,
            duration_s=self._finished - self.started,
            failure=end.failure,
        )


def decode_status(returncode: int) -> tuple[int, str | None]:
    """A Popen return code as sh's status, and the signal's name."""
    return (returncode, None) if returncode >= 0 else (128 - returncode, signal_name(-returncode))


def signal_name(number: int) -> str | None:
    """`SIGKILL` for 9; None when there is no such signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return None


def bytes_moved(pid: int) -> tuple[int | None, int | None]:
    """Read and written by the process and the children it has waited for, while the kernel still tells."""
    counts: dict[str, int] = {}
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/io", encoding="ascii") as file:
        for line in file:
            name, _, value = line.partition(":")
            counts[name] = int(value)
    return counts.get("rchar"), counts.get("wchar")
