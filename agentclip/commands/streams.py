"""Bytes in and out of a command's descriptors, in blocks, stopping when the run is being stopped."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Iterator

from agentclip.command import CommandIO
from agentclip.errors import CommandError, ErrorCode

BLOCK = 1 << 16
"""Bytes per read: what a Linux pipe holds."""

_LOOK_MS = 50
"""How often a waiting read looks whether the run is being stopped: a thread cannot be woken."""


def say(io: CommandIO, text: str) -> None:
    """Write a line of text to stdout."""
    io.stdout.write(f"{text}\n".encode("utf-8", "backslashreplace"))


def note(io: CommandIO, text: str) -> None:
    """Write a line for the reader to stderr, where it cannot get into a pipe's data."""
    io.stderr.write(f"{text}\n".encode("utf-8", "backslashreplace"))
    io.stderr.flush()


def has_stdin(io: CommandIO) -> bool:
    """Whether somebody gave standard input: a pipe or a file, not /dev/null and not a terminal."""
    return not stat.S_ISCHR(os.fstat(io.stdin.fileno()).st_mode)


def read_blocks(io: CommandIO) -> Iterator[bytes]:
    """Standard input until its end. Raises CommandError when the run is stopped, also where the writer's end looks like EOF."""
    descriptor = io.stdin.fileno()
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    while True:
        stop_if_cancelled(io)
        if not waiting.poll(_LOOK_MS):
            continue
        try:
            block = os.read(descriptor, BLOCK)
        except OSError as error:
            raise CommandError(f"cannot read standard input: {error.strerror}") from error
        if not block:
            stop_if_cancelled(io)
            return
        yield block


def copy_range(io: CommandIO, path: str, start: int, end: int) -> None:
    """Write bytes `start` to `end` of a file to stdout. Raises OSError when it cannot be read."""
    with open(path, "rb") as file:
        file.seek(start)
        left = end - start
        while left > 0 and (block := file.read(min(BLOCK, left))):
            stop_if_cancelled(io)
            io.stdout.write(block)
            left -= len(block)


def stop_if_cancelled(io: CommandIO) -> None:
    """Raise CommandError when the run is being stopped."""
    if io.cancelled.is_set():
        raise CommandError("cancelled", code=ErrorCode.CANCELLED)


def size_text(size: int) -> str:
    """`78 bytes`, `32KB`, `1.2MB` (KB = 1024 bytes)."""
    if size < 1024:
        return f"{size} byte{'' if size == 1 else 's'}"
    unit, scale = ("KB", 1024) if size < 1024**2 else ("MB", 1024**2) if size < 1024**3 else ("GB", 1024**3)
    return f"{size / scale:.1f}".removesuffix(".0") + unit
