"""Running one of our commands on real descriptors, as if it were a program.

This is a boundary: whatever a command does wrong ends as text on its stderr and an exit status, never as an exception of ours.
"""

from __future__ import annotations

import contextlib
import os
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from agentclip.command import Command, CommandIO
from agentclip.errors import CommandError, ErrorCode
from agentclip.messages import Image
from agentclip.shell.process import Descriptors, Surroundings

SIGPIPE_STATUS = 141

IMAGE_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class CommandRunner:
    """Runs commands of one run, and keeps the pictures that they attach."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        """`<folder>/cmd-N`."""
        self._lock = threading.Lock()
        self.images: list[Image] = []

    def run(
        self, command: Command, argv: Sequence[str], descriptors: Descriptors, where: Surroundings, cancelled: threading.Event
    ) -> int:
        """The exit status. The descriptors stay the caller's."""
        with contextlib.ExitStack() as stack:
            stdin = stack.enter_context(os.fdopen(os.dup(descriptors.stdin), "rb"))
            stdout = stack.enter_context(_writer(descriptors.stdout))
            stderr = stack.enter_context(_writer(descriptors.stderr))
            io = CommandIO(stdin, stdout, stderr, where.cwd, where.env, cancelled, self._attach)
            status = _guarded(command, argv, io)
            return _flushed(stdout, _flushed(stderr, status))

    def _attach(self, data: bytes, mime: str, source: str, width: int, height: int) -> Image:
        with self._lock:
            path = self._stem.with_name(f"{self._stem.name}.image-{len(self.images) + 1}.{IMAGE_ENDINGS[mime]}")
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            image = Image(str(path), mime, source, width, height)
            self.images.append(image)
            return image


@contextlib.contextmanager
def _writer(descriptor: int) -> Iterator[BinaryIO]:
    raw = os.fdopen(os.dup(descriptor), "wb")
    try:
        yield raw
    finally:
        # A reader that left: what is still buffered cannot be delivered.
        with contextlib.suppress(OSError):
            raw.close()


def _flushed(stream: BinaryIO, status: int) -> int:
    try:
        stream.flush()
    except BrokenPipeError:
        return SIGPIPE_STATUS
    except OSError:
        return status or 1
    return status


def _guarded(command: Command, argv: Sequence[str], io: CommandIO) -> int:
    try:
        return command.run(argv, io)
    except BrokenPipeError:
        return SIGPIPE_STATUS
    except CommandError as error:
        return _say(io, error.line(argv[0]), error.code)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        problem = CommandError(f"{name}{os.strerror(error.errno or 0)}", hint=f"{argv[0]} --help", code=ErrorCode.FAILED)
        return _say(io, problem.line(argv[0]), problem.code)
    except Exception as error:  # noqa: BLE001  named boundary 1: a command's bug is an exit status, never our crash
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        bug = CommandError(
            f"{type(error).__name__}: {error} at {where}", hint="another way, and report this", code=ErrorCode.INTERNAL
        )
        return _say(io, bug.line(argv[0]), bug.code)


def _say(io: CommandIO, line: str, code: ErrorCode) -> int:
    try:
        io.stdout.flush()
        io.stderr.write(line.encode("utf-8", "backslashreplace") + b"\n")
        io.stderr.flush()
    except BrokenPipeError:
        return SIGPIPE_STATUS
    except OSError:
        return code.exit_status
    return code.exit_status
