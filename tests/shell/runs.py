"""Running lines in tests, and looking at processes by a mark that only the test has."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentclip.results import ChainResult
from agentclip.shell.execute import Executor, RunHandle, RunRequest

PATIENCE_S = 30.0
"""Against hangs only."""


@dataclass(frozen=True)
class Ran:
    """A result with its streams read."""

    result: ChainResult

    @property
    def status(self) -> int:
        return self.result.status

    @property
    def out(self) -> bytes:
        with open(self.result.stdout.path, "rb") as file:
            return file.read(self.result.stdout.size)

    @property
    def err(self) -> bytes:
        files = [stage.stderr for stage in self.result.stages if stage.stderr is not None]
        return b"".join(Path(file.path).read_bytes()[: file.size] for file in files)

    @property
    def kinds(self) -> list[str]:
        return [str(stage.kind) for stage in self.result.stages]


@dataclass(frozen=True)
class Lines:
    """An executor and the directory it began in."""

    executor: Executor
    work: Path

    def start(self, line: str, *, stdin: str | None = None, timeout_s: float | None = PATIENCE_S) -> RunHandle:
        handle = self.executor.prepare(line, RunRequest(stdin=stdin, timeout_s=timeout_s))
        handle.begin()
        return handle

    def run(self, line: str, *, stdin: str | None = None, timeout_s: float | None = PATIENCE_S) -> Ran:
        return Ran(self.start(line, stdin=stdin, timeout_s=timeout_s).result())

    def text(self, line: str) -> str:
        return self.run(line).out.decode()


def wait_until(condition: Callable[[], bool]) -> None:
    """Return when it holds; fail after a generous time."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.01)


def marked(mark: str) -> list[int]:
    """Pids of living processes whose argv[0] is the mark (`exec -a MARK`)."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                argv = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if argv.split(b"\0")[0] == mark.encode():
                found.append(int(name))
    return found
