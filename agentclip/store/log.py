"""The append-only file of a session: events in, lines on disk; lines back to events, a torn end repaired.

It knows nothing of sessions, turns or locks.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from agentclip.errors import ErrorCode, SessionError
from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    CommandStarted,
    Event,
    Recorded,
    SnapshotTaken,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.store.codec import UnreadableLineError, decode, encode
from agentclip.store.index import index_log

_SYNCED = (
    TurnStarted,
    UserMessageFolded,
    Advised,
    AssistantReplied,
    CallAnswered,
    CommandStarted,
    CommandFinished,
    SnapshotTaken,
    TurnFinished,
)
"""Events that complete a message or must outlive a power cut before anything else happens."""

_logger = logging.getLogger(__name__)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection while a long log becomes values: it finds nothing and takes four fifths of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class LogContent(Struct, frozen=True):
    """What a file held."""

    events: tuple[Recorded, ...]
    size: int
    """Bytes up to the end of the last whole line; what follows is torn."""
    torn: bytes
    """The end of the file behind the last newline; normally empty."""
    skipped: int
    """Whole lines that this version cannot read."""


def read_log(path: Path) -> LogContent:
    """Read a log without changing it; another program may be writing to it. A missing file is an empty log."""
    events: list[Recorded] = []
    size = skipped = 0
    torn = b""
    try:
        with collector_paused(), path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    torn = line
                    break
                size += len(line)
                try:
                    events.append(decode(line))
                except UnreadableLineError as error:
                    skipped += 1
                    _logger.warning("%s: a line was skipped: %s", path, error)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error
    return LogContent(tuple(events), size, torn, skipped)


class EventLog:
    """An open log. One process writes it, one line with one `write` each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notices: tuple[str, ...] = ()
        """What the person should know about the file; empty for a sound one."""
        index = index_log(path)
        self.index = index
        """What the file held when it was opened; later events are the caller's."""
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if index.torn:
            self._repair(index.torn)
        self._size = index.size
        self._seq = max(len(index.kinds) + index.skipped, index.last_seq)
        if index.skipped:
            lines = "1 line" if index.skipped == 1 else f"{index.skipped} lines"
            self.notices += (f"{lines} of the session could not be read and were left out",)

    def append(self, event: Event) -> Recorded:
        """Write the event. After a failure the file is as before.

        Raises:
            SessionError: the disk is full or the file cannot be written.
        """
        recorded = Recorded(self._seq + 1, round(time.time(), 3), event)
        line = encode(recorded)
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            self._undo()
            raise _unwritable(self.path, error.strerror) from error
        if written != len(line):
            self._undo()
            raise _unwritable(self.path, "no space left on the disk")
        self._size += len(line)
        self._seq += 1
        if isinstance(event, _SYNCED) and not _is_followed(event):
            self._sync()
        return recorded

    def close(self) -> None:
        """Close the file; what was appended is there already."""
        os.close(self._fd)

    def _repair(self, torn: bytes) -> None:
        """Keep a last line that only misses its newline; cut off any other torn end, so that no append is glued to it."""
        try:
            decode(torn)
        except UnreadableLineError:
            os.ftruncate(self._fd, self.index.size)
            self.notices += ("the last line of the session was torn and has been cut off",)
            return
        os.write(self._fd, b"\n")
        self.index.take(torn + b"\n")
        self.notices += ("the last line of the session had no end and has been repaired",)

    def _undo(self) -> None:
        try:
            os.ftruncate(self._fd, self._size)
        except OSError as error:
            _logger.warning("%s: a half written line stays: %s", self.path, error)

    def _sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            _logger.warning("%s: not synced: %s", self.path, error)


def _is_followed(event: Event) -> bool:
    """Whether another event that is synced comes before anything happens: the start of the first call, or its answer."""
    return isinstance(event, AssistantReplied) and bool(event.message.tool_calls) and not event.partial


def _unwritable(path: Path, reason: str | None) -> SessionError:
    return SessionError(f"{path} cannot be written: {reason}", hint="Free some space and try again", code=ErrorCode.UNAVAILABLE)
