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
from agentclip.errors import CommandError, ErrorCode, one_line
from agentclip.messages import Image
from agentclip.results import Artifact, CommandFailure
from agentclip.shell.process import Descriptors, Surroundings
from agentclip.shell.stages import CommandEnd

SIGPIPE_STATUS = 141

IMAGE_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class CommandRunner:
    """Runs commands of one run, stops them, and keeps the pictures that they attach and the names of files that they make."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        """`<folder>/cmd-N`."""
        self._lock = threading.Lock()
        self.images: list[Image] = []
        self.client_failure: CommandFailure | None = None
        """Of the last command inside bash that stopped with an error."""
        self._made: dict[str, Artifact] = {}
        self._going: set[threading.Event] = set()
        self._stopped = False

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files that were made, each once, in the order of their first making."""
        with self._lock:
            return tuple(self._made.values())

    def run(
        self, command: Command, argv: Sequence[str], descriptors: Descriptors, where: Surroundings, cancelled: threading.Event
    ) -> CommandEnd:
        """How it ended; `cancelled` tells it to stop, and so does `stop`. The descriptors stay the caller's."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._stopped_by(cancelled))
            stdin = stack.enter_context(os.fdopen(os.dup(descriptors.stdin), "rb"))
            stdout = stack.enter_context(_writer(descriptors.stdout))
            stderr = stack.enter_context(_writer(descriptors.stderr))
            io = CommandIO(stdin, stdout, stderr, where.cwd, where.env, cancelled, self._attach, self._note_made)
            end = _guarded(command, argv, io)
            status = _flushed(stdout, _flushed(stderr, end.status))
            return end if status == end.status else CommandEnd(status)

    def stop(self) -> None:
        """Tell all that go on, and all that begin from now on, to stop."""
        with self._lock:
            self._stopped = True
            for cancelled in self._going:
                cancelled.set()

    @contextlib.contextmanager
    def _stopped_by(self, cancelled: threading.Event) -> Iterator[None]:
        with self._lock:
            self._going.add(cancelled)
            if self._stopped:
                cancelled.set()
        try:
            yield
        finally:
            with self._lock:
                self._going.discard(cancelled)

    def _note_made(self, path: Path, created: bool) -> None:  # noqa: FBT001  the shape of `CommandIO.made`
        real = os.path.realpath(path)
        with self._lock:
            self._made.setdefault(real, Artifact(real, created))

    def _attach(self, data: bytes, mime: str, source: str, width: int, height: int) -> Image:
        with self._lock:
            path = self._stem.with_name(f"{self._stem.name}.image-{len(self.images) + 1}.{IMAGE_ENDINGS[mime]}")
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            image = Image(str(path), mime, source, width, height)
            self.images.append(image)
            self._made[str(path)] = Artifact(str(path), created=True)
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


def _guarded(command: Command, argv: Sequence[str], io: CommandIO) -> CommandEnd:
    try:
        return CommandEnd(command.run(argv, io))
    except BrokenPipeError:
        return CommandEnd(SIGPIPE_STATUS)
    except CommandError as error:
        return _say(io, error, argv[0])
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _say(io, CommandError(f"{name}{os.strerror(error.errno or 0)}", hint=f"{argv[0]} --help"), argv[0])
    except SystemExit as stop:
        return CommandEnd(stop.code if isinstance(stop.code, int) else int(stop.code is not None))
    except Exception as error:  # noqa: BLE001  named boundary 1: a command's bug is an exit status, never our crash
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        return _say(io, CommandError(f"{type(error).__name__}: {error} at {where}", code=ErrorCode.INTERNAL), argv[0])


def _say(io: CommandIO, error: CommandError, command: str) -> CommandEnd:
    lines = (error.line(command), *map(one_line, error.about.excerpt))
    about = error.about
    failure = CommandFailure(command, error.code, error.message, error.next_step, about.input, dict(about.details))
    try:
        io.stdout.flush()
        io.stderr.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
        io.stderr.flush()
    except BrokenPipeError:
        return CommandEnd(SIGPIPE_STATUS)
    except OSError:
        pass  # nobody can be told: the status says it
    return CommandEnd(error.code.exit_status, failure)
