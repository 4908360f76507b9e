"""What a person sent, shared by the screen's prompt and the line mode: entries in, entries out, in a file of mode 600.

The form is that of prompt_toolkit's FileHistory: a comment with the time, then each line of the entry behind a plus sign. An
entry is one write at the end of the file, so programs that run at the same time do not mix theirs. A file of more than
MAX_BYTES is replaced by its newer half: who adds holds a shared lock meanwhile, who replaces holds it alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from agentclip import paths

MAX_BYTES = 16 * 1024 * 1024
MAX_ENTRY = 256 * 1024
"""Characters. A longer text is not kept: one paste would push everything else out."""
LOCK_PATIENCE_S = 2.0
"""A program that was stopped while it held the lock does not hold up the others."""
_BEGINNING = b"\n# "


def history_file() -> Path:
    """`$XDG_STATE_HOME/agentclip/history`."""
    return paths.state_dir() / "history"


def read_history(path: Path) -> list[str]:
    """All entries, oldest first; none when there is no file or it cannot be read. Lines of another form are left out."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return list(_entries(data))


def remember(path: Path, text: str, max_bytes: int = MAX_BYTES) -> None:
    """Add an entry, unless it is too long to be kept. Raises OSError."""
    if len(text) > MAX_ENTRY:
        return
    paths.make_private(path.parent)
    lines = "".join(f"+{line}\n" for line in text.split("\n"))
    entry = f"\n# {datetime.now().astimezone().replace(tzinfo=None)}\n{lines}".encode("utf-8", "surrogateescape")
    descriptor = _open_locked(path)
    try:
        os.write(descriptor, entry)
        if os.fstat(descriptor).st_size > max_bytes:
            _replace_by_newer_half(path, descriptor, max_bytes)
    finally:
        os.close(descriptor)


class Entries:
    """What Up and a search go through: newest first, each text once. First what was sent here, then what the file had."""

    def __init__(self) -> None:
        self._shared: list[str] = []
        self._own: list[str] = []
        self._once: list[str] | None = []
        """None when it has to be made anew."""
        self._lowered: list[str] = []

    def share(self, entries: Sequence[str]) -> None:
        """What the file has, oldest first."""
        self._shared = list(entries)
        self._once = None

    def put_before(self, texts: Sequence[str]) -> None:
        """What was sent here before everything that is known of here, oldest first."""
        self._own[:0] = texts
        self._once = None

    def add(self, text: str) -> bool:
        """The newest; False when it is the newest already."""
        if self._own[-1:] == [text]:
            return False
        self._own.append(text)
        self._once = None
        return True

    def newest_first(self) -> Sequence[str]:
        """All."""
        if self._once is None:
            self._once = list(dict.fromkeys([*reversed(self._own), *reversed(self._shared)]))
            self._lowered = []
        return self._once

    def search(self, query: str) -> list[str]:
        """Those that hold every word of the query, capitals or not; all for a blank query."""
        found = self.newest_first()
        if len(self._lowered) != len(found):
            self._lowered = [text.lower() for text in found]
        words = query.lower().split()
        if not words:
            return list(found)
        first, *rest = words
        hits = [at for at, text in enumerate(self._lowered) if first in text]
        for word in rest:
            hits = [at for at in hits if word in self._lowered[at]]
        return [found[at] for at in hits]


def _open_locked(path: Path) -> int:
    """The end of the file that has this name now, kept from being replaced."""
    until_s = time.monotonic() + LOCK_PATIENCE_S
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except OSError:  # somebody replaces it, or its file system knows no locks
            pass
        if time.monotonic() >= until_s:
            return descriptor
        os.close(descriptor)
        time.sleep(0.005)


def _is_at(path: Path, descriptor: int) -> bool:
    here, there = os.fstat(descriptor), path.stat()
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _replace_by_newer_half(path: Path, descriptor: int, max_bytes: int) -> None:
    """Nothing happens while others add: the next one does it."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(path, descriptor):
            return
        data = os.pread(descriptor, max_bytes, max(0, os.fstat(descriptor).st_size - max_bytes // 2))
        _, mark, rest = data.partition(_BEGINNING)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        new = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(new, "wb") as file:
                file.write(mark + rest)
            os.replace(fresh, path)
        except OSError:
            with contextlib.suppress(OSError):
                fresh.unlink()
            raise


def _entries(data: bytes) -> Iterator[str]:
    lines: list[bytes] = []
    for line in (*data.split(b"\n"), b""):
        if line.startswith(b"+"):
            lines.append(line[1:])
        elif lines:
            yield b"\n".join(lines).decode("utf-8", "replace")
            lines = []
