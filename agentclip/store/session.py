"""One session on disk: its folder, its lock, its log. Events in; the same events back after any death of the process.

    <sessions>/<id>/events.jsonl   append-only, one line per stored event
                    meta.json      what a listing shows
                    lock           flock, with the pid of the holder inside
                    cmd-output/    spools of Layer 1

Nothing is created before the first event, so a session without a turn leaves no folder. It must not know who talks.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import time
from pathlib import Path

from msgspec.structs import replace

from agentclip.errors import ErrorCode, SessionError
from agentclip.events import CommandFinished, CommandStarted, Event, Recorded, SessionStarted, TurnFinished, TurnStarted
from agentclip.paths import APPLICATION, make_private
from agentclip.store.facts import SessionFacts, counted, read_facts, title_of, write_facts
from agentclip.store.history import StoredEvents
from agentclip.store.listing import LOG_NAME, find
from agentclip.store.log import EventLog
from agentclip.store.rebase import OUTPUT_NAME

_logger = logging.getLogger(__name__)

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: sorts like the numbers, no letters that look alike."""

_FREED_WITHIN_S = 1.0
"""How long a dead holder's lock may last."""


def new_id(now_s: float | None = None) -> str:
    """A name such as `260115-c4k92qx`: the UTC date, the time of day in steps of 84 ms, 15 random bits."""
    now_s = time.time() if now_s is None else now_s
    part = int(now_s % 86400 / 86400 * 32**4)
    number = part << 15 | secrets.randbits(15)
    letters = "".join(_ALPHABET[number >> shift & 31] for shift in range(30, -1, -5))
    return time.strftime("%y%m%d-", time.gmtime(now_s)) + letters


class Session:
    """An open session. `append` is not async, so no cancel can lose an event."""

    def __init__(self, folder: Path, facts: SessionFacts) -> None:
        """Use `create` or `open`."""
        self.folder = folder
        self.meta = facts
        self.events = StoredEvents()
        """All stored events, oldest first; only grows."""
        self.notices: tuple[str, ...] = ()
        """What was repaired when it was opened, for the person."""
        self._log: EventLog | None = None
        self._lock: int | None = None
        self._closed = False
        self._moved_to = ""

    @classmethod
    def create(cls, sessions_dir: Path, cwd: str, model: str, version: str) -> Session:
        """A new session of the directory `cwd`; its folder appears with its first event."""
        now_s = time.time()
        identifier = new_id(now_s)
        facts = SessionFacts(identifier, "", cwd, model, version, now_s, now_s)
        return cls(sessions_dir.absolute() / identifier, facts)

    @classmethod
    def open(cls, sessions_dir: Path, id_or_prefix: str) -> Session:
        """Open a saved session, repairing a torn end and modes that are too wide.

        Raises:
            SessionError: none or several fit, it is open elsewhere (the pid is named), or it cannot be read.
        """
        folder = find(sessions_dir.absolute(), id_or_prefix)
        session = cls(folder, read_facts(folder) or SessionFacts(folder.name, "", "", "", "", 0.0, 0.0))
        try:
            session._begin()
        except SessionError:
            session.close()
            raise
        session._recall()
        return session

    @property
    def id(self) -> str:
        """The name of the folder."""
        return self.folder.name

    @property
    def cmd_output(self) -> Path:
        """Where the spools of this session go."""
        return self.folder / OUTPUT_NAME

    @property
    def begun(self) -> bool:
        """Whether it is on disk."""
        return self._log is not None

    @property
    def last_number(self) -> int:
        """The highest number of a command so far; 0 before the first."""
        return next((r.event.number for r in self.events.newest(CommandStarted) if isinstance(r.event, CommandStarted)), 0)

    @property
    def last_cwd(self) -> str:
        """The directory after its last finished command, or the one it began in; or where it was moved to since."""
        if self._moved_to:
            return self._moved_to
        ends = (r.event.result.cwd for r in self.events.newest(CommandFinished) if isinstance(r.event, CommandFinished))
        return next((cwd for cwd in ends if cwd), self.meta.cwd)

    @property
    def exports(self) -> tuple[tuple[str, str | None], ...]:
        """What its commands have exported and unset, as its log says."""
        finished = self.events.containing(CommandFinished, b'"exports":[[')
        changed = (r.event.result.exports for r in finished if isinstance(r.event, CommandFinished))
        return next(filter(None, changed), ())

    def append(self, event: Event) -> Recorded:
        """Write the event to disk and return it with its place in the log.

        Raises:
            SessionError: it cannot be written; log and events are as before.
        """
        if self._closed:
            raise SessionError(f"session {self.id} is closed", code=ErrorCode.INTERNAL)
        if self._log is None:
            if isinstance(event, TurnStarted):
                self.meta = replace(self.meta, title=self.meta.title or title_of(event.message.text))
            self._begin()
        assert self._log is not None
        if not self.events and not isinstance(event, SessionStarted):
            meta = self.meta
            self.events.append(self._log.append(SessionStarted(self.id, meta.cwd, meta.model, meta.version)))
        recorded = self._log.append(event)
        self.events.append(recorded)
        if isinstance(event, CommandFinished):
            self._moved_to = ""
        if isinstance(event, TurnStarted | TurnFinished):
            self._save_facts()
        return recorded

    def move_to(self, cwd: str) -> None:
        """Go on in another directory, because the last one is gone; when its first one is gone too, it belongs there now."""
        self._moved_to = cwd
        if not os.path.isdir(self.meta.cwd):
            self.meta = replace(self.meta, cwd=cwd)

    def rename(self, title: str) -> None:
        """Give it another title; an empty one brings back the first prompt's."""
        self.meta = replace(self.meta, title=title_of(title))
        if self.begun:
            self._save_facts()

    def use_model(self, name: str) -> None:
        """Remember the model that now answers."""
        self.meta = replace(self.meta, model=name)

    def close(self) -> None:
        """Save the facts and free the lock; may be called again."""
        if self._closed:
            return
        self._closed = True
        if self._log is not None:
            self._save_facts()
            self._log.close()
        if self._lock is not None:
            os.close(self._lock)

    def _begin(self) -> None:
        """Make or open the folder: the lock first, then the log, so that a second program changes nothing."""
        new = not (self.folder / LOG_NAME).exists()
        try:
            make_private(self.folder)
            make_private(self.cmd_output)
            if self._lock is None:
                self._lock = _locked(self.folder / "lock", self.id)
            _tighten(self.folder)
            if new:
                write_facts(self.folder, self.meta)
            self._log = EventLog(self.folder / LOG_NAME)
        except OSError as error:
            raise SessionError(
                f"session {self.id} cannot be opened: {error.strerror}: {error.filename}", code=ErrorCode.UNAVAILABLE
            ) from error
        if new:
            _sync_folder(self.folder)

    def _recall(self) -> None:
        """Take over what the log holds; facts that were lost come back from it."""
        assert self._log is not None
        self.events = StoredEvents(self._log.path, self._log.index)
        self.notices = self._log.notices
        first = self.events[0].event if self.events else None
        if isinstance(first, SessionStarted) and not self.meta.cwd:
            lost = replace(self.meta, cwd=first.cwd, model=first.model, version=first.version, created_s=self.events[0].time)
            self.meta = lost
        self.meta = counted(self.meta, self.events)

    def _save_facts(self) -> None:
        self.meta = counted(self.meta, self.events)
        try:
            write_facts(self.folder, self.meta)
        except OSError as error:
            _logger.warning("%s: the facts were not saved: %s", self.folder, error)


def _locked(path: Path, identifier: str) -> int:
    """Take the lock and return its descriptor; the kernel frees it with the process, however that ends."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + _FREED_WITHIN_S
    while not _is_taken(fd):
        holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
        # A child that the dead holder forked has the lock too, until it becomes another program.
        if not _is_alive(holder) and time.monotonic() < until:
            time.sleep(0.01)
            continue
        os.close(fd)
        raise SessionError(
            f"session {identifier} is open in another agentclip (pid {holder or 'unknown'})",
            hint="Close it there, or start a new session",
            code=ErrorCode.SESSION_BUSY,
        )
    os.ftruncate(fd, 0)
    os.pwrite(fd, b"%d\n" % os.getpid(), 0)
    return fd


def _is_taken(fd: int) -> bool:
    """Whether the lock is ours now."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (ValueError, ProcessLookupError, OverflowError):
        return False
    return True


def _tighten(folder: Path) -> None:
    """Take from others what they may read, also in files of older versions or restored from a copy."""
    outer = folder.parent.parent
    wide: list[tuple[str, int]] = [
        *([(str(outer), 0o700)] if outer.name == APPLICATION else []),
        (str(folder.parent), 0o700),
        (str(folder), 0o700),
        *((entry.path, 0o700 if entry.is_dir(follow_symlinks=False) else 0o600) for entry in os.scandir(folder)),
        *((entry.path, 0o600) for entry in os.scandir(folder / OUTPUT_NAME) if entry.is_file(follow_symlinks=False)),
    ]
    for path, mode in wide:
        status = os.lstat(path)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid() and not os.path.islink(path):
            os.chmod(path, mode)


def _sync_folder(folder: Path) -> None:
    """Make the names of new files outlive a power cut, where the file system can."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        _logger.warning("%s: not synced: %s", folder, error)
    finally:
        os.close(fd)
