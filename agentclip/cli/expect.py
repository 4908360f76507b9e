"""What `run` demands of a finished task: files that it must have made, command lines that must succeed.

Paths and lines come in, with the state of the files before the task; what is met and what is not goes out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from agentclip import runtime
from agentclip.cli.execute import name_survivors
from agentclip.config import Settings
from agentclip.errors import CommandError, ErrorCode
from agentclip.results import Ended
from agentclip.shell.state import command_environment

Seen = tuple[int, int, int, int]
"""Device, inode, size and nanoseconds of the last change of a file."""


class Expectation(Struct, frozen=True):
    """One demand, looked at."""

    kind: str
    """`file` or `command`."""
    value: str
    """The path or the line, as given."""
    met: bool
    detail: str
    """One line; what was found."""
    cancelled: bool = False
    """The person ended it."""


def look(files: Sequence[str]) -> Mapping[str, Seen | None]:
    """The files as they are now, from the working directory; None for one that is no regular file."""
    return {path: _seen(path) for path in files}


def compare(before: Mapping[str, Seen | None]) -> tuple[Expectation, ...]:
    """Whether each file is there and was created or modified since."""
    return tuple(_compared(path, seen) for path, seen in before.items())


def run_lines(lines: Sequence[str], settings: Settings, on_run: Callable[[runtime.Stoppable], None]) -> tuple[Expectation, ...]:
    """Run each line through Layer 1, in our own directory and environment: not in what the model made of the session's."""
    found: list[Expectation] = []
    if not lines:
        return ()
    environment = command_environment(os.environ, settings.pass_env)
    with runtime.lines(settings, environment, name_survivors) as runner:
        for line in lines:
            try:
                result, shown = runner.run(line, on_run)
            except CommandError as error:
                found.append(Expectation("command", line, met=False, detail=str(error)))
                continue
            cancelled = result.ended is Ended.CANCELLED
            found.append(Expectation("command", line, result.status == 0, shown.text, cancelled))
            if cancelled:
                break
    return tuple(found)


def failure_of(expectations: Sequence[Expectation]) -> tuple[ErrorCode, str] | None:
    """Why the task is not what was expected; None when all is met."""
    if any(each.cancelled for each in expectations):
        return ErrorCode.CANCELLED, "cancelled while an expected command ran"
    unmet = [each for each in expectations if not each.met]
    if not unmet:
        return None
    said = "; ".join(f"{each.value}: {each.detail.splitlines()[-1] if each.detail else 'failed'}" for each in unmet)
    return ErrorCode.EXPECTATION_FAILED, f"the task ended, but not as expected: {said}"


def _seen(path: str) -> Seen | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _compared(path: str, before: Seen | None) -> Expectation:
    after = _seen(path)
    if after is None:
        there = "it is no regular file" if os.path.lexists(path) else "it does not exist"
        return Expectation("file", path, met=False, detail=there)
    if after == before:
        return Expectation("file", path, met=False, detail="it was there before and was not changed")
    return Expectation("file", path, met=True, detail="created" if before is None else "modified")
