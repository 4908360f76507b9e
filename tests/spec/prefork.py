"""`agentclip exec --raw` a thousand times without a thousand imports: imported once, forked for every line.

Each fork is the real program from `main` on, on its own descriptors; only the interpreter's start is saved.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a line ended."""

    status: int
    """As a shell reads it: 128+N for a signal."""
    stdout: bytes
    stderr: bytes


class Prefork:
    """The server process, as tests hold it."""

    def __init__(self, scratch: Path) -> None:
        self._stderr = scratch / "stderr"
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.spec.prefork"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path.cwd()
        )

    def run(self, line: str, cwd: Path, env: dict[str, str]) -> Outcome:
        """Run one line with `exec --raw`."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        request = {"line": line, "cwd": str(cwd), "env": env, "stderr": str(self._stderr)}
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        status, size = self._server.stdout.readline().split()
        return Outcome(_as_shells_do(int(status)), self._server.stdout.read(int(size)), self._stderr.read_bytes())

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


def run_bash(line: str, cwd: Path, env: dict[str, str]) -> Outcome:
    """The reference: bash itself."""
    answer = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", "--", line],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=cwd,
        env=env,
        check=False,
        start_new_session=True,
        timeout=LIMIT_S,
    )
    return Outcome(_as_shells_do(answer.returncode), answer.stdout, answer.stderr)


def _as_shells_do(returncode: int) -> int:
    return 128 - returncode if returncode < 0 else returncode


def _serve() -> None:
    for name in ("agentclip.cli", "agentclip.cli.execute"):
        importlib.import_module(name)
    for text in sys.stdin.buffer:
        request = json.loads(text)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _become(request, writing)
        os.close(writing)
        with open(reading, "rb") as stdout:
            output = stdout.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.buffer.write(b"%d %d\n" % (status, len(output)) + output)
        sys.stdout.buffer.flush()


def _become(request: dict[str, str], stdout: int) -> None:
    """In the fork: be the program that was asked for."""
    from agentclip.cli import main

    os.setsid()
    signal.alarm(LIMIT_S)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[arg-type]  # a nested object of strings
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stdout, 1)
    os.close(stdout)
    os.dup2(os.open(request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    status = 70
    try:
        status = main(["exec", "--raw", "--", request["line"]])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve()
