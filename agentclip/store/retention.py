"""What commands left on disk is kept for a while: old files go, then the oldest until the rest fits.

In: the folders of sessions and of `exec`, and how much to keep. Out: what was removed. The unit is one run of a session
(`cmd-3.txt`, its stderr, its order, its pictures, its other names) or the whole folder of one `exec`. Logs of sessions stay,
so a session goes on without them. What another agentclip has open is left alone. Bounded: in time, and in what is looked at.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from agentclip.paths import make_private
from agentclip.store.rebase import OUTPUT_NAME

SECONDS_BETWEEN = 3600
"""A sweep this young is not repeated."""
MAX_FOLDERS = 5000
MAX_SECONDS = 0.5
LOCK_NAME = "lock"

_STAMP_NAME = "retention.stamp"
_RUN_FILE = re.compile(r"(cmd|run)-\d+\.")
_logger = logging.getLogger(__name__)


class Keep(Struct, frozen=True):
    """How much stays."""

    days: int = 30
    """0 for any age."""
    total_mb: int = 2048
    """Of all that commands left; 0 for any size."""


class _Unit(Struct, frozen=True):
    """What goes or stays together."""

    folder: str
    """Of the session or of the exec: its lock decides."""
    paths: tuple[str, ...]
    """Files; empty when the whole folder is meant."""
    size: int
    """Bytes on disk, of files with several names once."""
    changed_s: float
    """When the newest of its files was last written."""


class Swept(Struct, frozen=True):
    """What a sweep did."""

    removed: int = 0
    """Runs and exec folders."""
    bytes: int = 0
    finished: bool = True
    """False when time was up before all was removed; the next sweep goes on."""


def sweep_if_due(state_dir: Path, keep: Keep, now_s: float | None = None, max_seconds: float = MAX_SECONDS) -> Swept | None:
    """Sweep the state folder unless that was done within the hour; None when it was, or there is nothing yet."""
    now_s = time.time() if now_s is None else now_s
    stamp = state_dir / _STAMP_NAME
    try:
        if 0 <= now_s - stamp.stat().st_mtime < SECONDS_BETWEEN:
            return None
    except OSError:
        if not state_dir.is_dir():
            return None
    try:
        # Before the work, so that two programs that end together do not both do it.
        with open(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb"):
            os.utime(stamp, (now_s, now_s))
        swept = sweep(state_dir / "sessions", state_dir / "exec", keep, now_s, max_seconds)
        if not swept.finished:
            os.utime(stamp, (0, 0))
    except OSError as error:
        _logger.warning("old output was not removed: %s", error)
        return None
    return swept


def sweep(sessions_dir: Path, exec_dir: Path, keep: Keep, now_s: float, max_seconds: float = MAX_SECONDS) -> Swept:
    """Remove what is too old, then the oldest until the rest fits. Another program's open folders count but stay."""
    units = sorted([*_session_units(sessions_dir), *_exec_units(exec_dir)], key=lambda unit: unit.changed_s)
    left = sum(unit.size for unit in units)
    oldest_s = now_s - keep.days * 86400 if keep.days else float("-inf")
    limit = keep.total_mb * 1024 * 1024 if keep.total_mb else float("inf")
    until = time.monotonic() + max_seconds
    removed = freed = 0
    for unit in units:
        if unit.changed_s >= oldest_s and left <= limit:
            break
        if time.monotonic() > until:
            return Swept(removed, freed, finished=False)
        if _remove(unit):
            removed += 1
            freed += unit.size
            left -= unit.size
    return Swept(removed, freed)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a folder from being removed while the block runs, by a lock that the kernel frees whatever happens."""
    make_private(folder)
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _session_units(sessions_dir: Path) -> Iterator[_Unit]:
    for folder in _folders(sessions_dir):
        runs: dict[str, list[os.DirEntry[str]]] = {}
        for entry in _files(os.path.join(folder, OUTPUT_NAME)):
            if _RUN_FILE.match(entry.name):
                runs.setdefault(".".join(entry.name.split(".")[:1]), []).append(entry)
        yield from (unit for files in runs.values() if (unit := _unit(folder, files, whole=False)))


def _exec_units(exec_dir: Path) -> Iterator[_Unit]:
    for folder in _folders(exec_dir):
        files = [*_files(folder), *_files(os.path.join(folder, OUTPUT_NAME))]
        unit = _unit(folder, files, whole=True)
        yield unit or _Unit(folder, (), 0, _changed(folder))


def _unit(folder: str, files: list[os.DirEntry[str]], *, whole: bool) -> _Unit | None:
    """The files as one unit; None when they are gone by now."""
    sizes: dict[int, int] = {}
    changed_s = 0.0
    for file in files:
        try:
            status = file.stat(follow_symlinks=False)
        except OSError:
            continue
        sizes[status.st_ino] = status.st_blocks * 512
        changed_s = max(changed_s, status.st_mtime)
    if not sizes:
        return None
    return _Unit(folder, () if whole else tuple(file.path for file in files), sum(sizes.values()), changed_s)


def _remove(unit: _Unit) -> bool:
    """Remove a unit unless its folder is open somewhere, this program included."""
    lock = os.path.join(unit.folder, LOCK_NAME)
    descriptor = None
    try:
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if unit.paths:
            for path in unit.paths:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
        else:
            shutil.rmtree(unit.folder)
    except BlockingIOError:
        return False
    except OSError as error:
        _logger.warning("%s was not removed: %s", unit.folder, error)
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True


def _folders(parent: Path) -> list[str]:
    """Real folders, the oldest names first: no link leads out."""
    try:
        with os.scandir(parent) as entries:
            found = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return found[:MAX_FOLDERS]


def _files(folder: str) -> list[os.DirEntry[str]]:
    if os.path.islink(folder):
        return []
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return []


def _changed(folder: str) -> float:
    try:
        return os.lstat(folder).st_mtime
    except OSError:
        return 0.0
