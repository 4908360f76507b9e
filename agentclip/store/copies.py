"""Whole session folders: read, copied under a new id, removed. Another program may have the session open.

A copy appears at once or not at all, a removal never leaves half a session in the listing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from agentclip.errors import ErrorCode, SessionError
from agentclip.store.facts import SessionFacts, read_facts, write_facts
from agentclip.store.history import StoredEvents
from agentclip.store.index import index_log
from agentclip.store.listing import LOG_NAME
from agentclip.store.rebase import OUTPUT_NAME
from agentclip.store.session import new_id

SNAPSHOTS = "snapshot-*.xml"
LOCK_NAME = "lock"


def fork(folder: Path, title: str | None = None) -> SessionFacts:
    """Copy a session as it is now, also one that is at work, under a new id; every path into the old folder names the new one.

    Raises:
        SessionError: it cannot be read, or the copy cannot be written.
    """
    identifier = new_id()
    target = folder.with_name(f".fork-{identifier}")
    try:
        target.mkdir(mode=0o700)
        _copy_text(folder / LOG_NAME, target / LOG_NAME, (folder.name, identifier), index_log(folder / LOG_NAME).size)
        for snapshot in sorted(folder.glob(SNAPSHOTS)):
            _copy_text(snapshot, target / snapshot.name, (folder.name, identifier), snapshot.stat().st_size)
        _copy_output(folder / OUTPUT_NAME, target / OUTPUT_NAME)
        facts = _facts_of_copy(folder, identifier, title)
        write_facts(target, facts)
        target.rename(folder.with_name(identifier))
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise SessionError(f"session {folder.name} was not copied: {error}", code=ErrorCode.UNAVAILABLE) from error
    return facts


def delete(folder: Path) -> None:
    """Remove a session for good.

    Raises:
        SessionError: another program has it open, or it cannot be removed.
    """
    gone = folder.with_name(f".deleted-{folder.name}")
    try:
        with _locked(folder):
            folder.rename(gone)
        shutil.rmtree(gone)
    except OSError as error:
        raise SessionError(f"session {folder.name} was not removed: {error}", code=ErrorCode.UNAVAILABLE) from error


def events_of(folder: Path) -> StoredEvents:
    """The events of a session as they are now, also of one that is at work. Raises SessionError."""
    path = folder / LOG_NAME
    index = index_log(path)
    return StoredEvents(path, index) if path.exists() else StoredEvents()


def newest_snapshot(folder: Path) -> str | None:
    """The text of the newest snapshot file; None when there is none yet. Raises OSError."""
    found = sorted(folder.glob(SNAPSHOTS))
    return found[-1].read_text(encoding="utf-8", errors="replace") if found else None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        raise SessionError(
            f"session {folder.name} is open in another agentclip (pid {holder or 'unknown'})",
            hint="Close it there first",
            code=ErrorCode.SESSION_BUSY,
        ) from error
    finally:
        os.close(descriptor)


def _copy_text(source: Path, target: Path, names: tuple[str, str], size: int) -> None:
    """The first `size` bytes, with the new id in paths to spools and at the session's start."""
    (old, new), marks = names, ("/{}/" + OUTPUT_NAME, '"session_id":"{}"')
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file, source.open("rb") as lines:
        for line in lines:
            if size <= 0:
                break
            text = line[:size]
            for mark in marks:
                text = text.replace(mark.format(old).encode(), mark.format(new).encode())
            file.write(text)
            size -= len(line)


def _copy_output(source: Path, target: Path) -> None:
    """The spools, real files only. One that is removed meanwhile by retention is left out."""
    target.mkdir(mode=0o700)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(entry.path, target / entry.name)
                    os.chmod(target / entry.name, 0o600)


def _facts_of_copy(folder: Path, identifier: str, title: str | None) -> SessionFacts:
    now_s = time.time()
    facts = read_facts(folder) or SessionFacts(folder.name, "", "", "", "", now_s, now_s)
    return replace(facts, id=identifier, title=title or f"{facts.title} (copy)".strip(), created_s=now_s, updated_s=now_s)
