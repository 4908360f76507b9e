"""A picture file becomes what every provider takes: a child process decodes, scales and encodes it.

A child, since decoders of pictures cannot be interrupted in a thread, take memory by the gigabyte, crash now and then, and
print to stderr from within C libraries, which is the screen.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import BinaryIO

import msgspec
from msgspec import Struct

from agentclip.errors import CommandError, ErrorCode

MAX_PIXELS = 100_000_000
"""Declared width x height beyond this is refused before decoding: decoded it would take up to 400 MB."""

MAX_SENT_BYTES = 5 * 1024**2 * 3 // 4
"""Providers count 5 MB after base64, which makes four characters of three bytes."""

_LOOK_S = 0.05
"""How often the waiting thread looks whether the run is being stopped."""

_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "TMPDIR")
"""What the child's interpreter may need. Keys of providers are none of its business."""


class Picture(Struct, frozen=True):
    """A picture ready to be sent."""

    data: bytes
    mime: str
    """One of kinds.SENT_TYPES, true of the bytes."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    notes: tuple[str, ...] = ()
    """What was changed, in words."""


class AnswerHead(Struct, frozen=True):
    """What the child writes: this as a line of JSON, then the bytes of the picture."""

    mime: str = ""
    width: int = 0
    height: int = 0
    notes: tuple[str, ...] = ()
    error: str = ""
    """Why there is no picture; empty when there is one."""


def prepare(file: BinaryIO, mime: str, max_side: int, stop: Callable[[], None]) -> Picture:
    """The picture in the file (read from its start), no side longer than `max_side` pixels.

    `stop` is asked while waiting and may raise; the child is gone when this returns or raises. Raises CommandError, its
    message to follow the picture's name, when the picture is broken or too large.
    """
    os.lseek(file.fileno(), 0, os.SEEK_SET)  # the child shares the descriptor, not the buffer
    with tempfile.TemporaryFile() as answer:
        argv = [sys.executable, "-P", "-m", "agentclip.commands.raster", mime, str(max_side)]
        env = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        child = subprocess.Popen(argv, stdin=file, stdout=answer, stderr=subprocess.DEVNULL, env=env, start_new_session=True)
        try:
            while not _ended(child):
                stop()
        finally:
            child.kill()
            child.wait()
        stop()  # whoever stops the run may have ended the child first
        answer.seek(0)
        return _read(answer, child.returncode, mime)


def _ended(child: subprocess.Popen[bytes]) -> bool:
    try:
        child.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _read(answer: BinaryIO, status: int, mime: str) -> Picture:
    line = answer.readline()
    if status != 0 or not line:
        reason = signal.Signals(-status).name if status < 0 else "no decoder knows it"
        raise CommandError(f"cannot be decoded ({mime}, {reason})", code=ErrorCode.NOT_AN_IMAGE)
    head = msgspec.json.decode(line, type=AnswerHead)
    if head.error:
        raise CommandError(head.error, code=ErrorCode.NOT_AN_IMAGE)
    return Picture(answer.read(), head.mime, head.width, head.height, head.notes)
