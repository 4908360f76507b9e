"""Sessions of this machine: listed newest first, and found by what a person types. Reads no log, takes no lock."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from agentclip.errors import ErrorCode, SessionError
from agentclip.store.facts import SessionFacts, read_facts

LOG_NAME = "events.jsonl"


def list_sessions(sessions_dir: Path, cwd: str | None = None) -> tuple[SessionFacts, ...]:
    """All sessions, newest first; only those of the directory `cwd` when it is given."""
    found = []
    for name in _names(sessions_dir):
        folder = os.path.join(sessions_dir, name)
        facts = read_facts(folder) or _lost(folder, name)
        if facts is not None and (cwd is None or facts.cwd == cwd):
            found.append(facts if facts.id == name else replace(facts, id=name))
    return tuple(sorted(found, key=lambda facts: (facts.updated_s, facts.id), reverse=True))


def newest(sessions_dir: Path, cwd: str) -> SessionFacts | None:
    """The session of the directory that was used last; None when there is none."""
    return next(iter(list_sessions(sessions_dir, cwd)), None)


def find(sessions_dir: Path, id_or_prefix: str) -> Path:
    """The folder of the session with that id, or the only one whose id begins so.

    Raises:
        SessionError: none, or more than one.
    """
    names = _names(sessions_dir)
    matches = [name for name in names if name == id_or_prefix] or [
        name for name in names if id_or_prefix and name.startswith(id_or_prefix)
    ]
    if len(matches) == 1:
        return sessions_dir / matches[0]
    if not matches:
        raise SessionError(f"no session {id_or_prefix!r}", hint="See them with: agentclip sessions list")
    some = ", ".join(sorted(matches)[:5]) + (", ..." if len(matches) > 5 else "")
    raise SessionError(
        f"{id_or_prefix!r} fits {len(matches)} sessions: {some}", hint="Type more of the id", code=ErrorCode.USAGE
    )


def _names(sessions_dir: Path) -> list[str]:
    try:
        with os.scandir(sessions_dir) as entries:
            return [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SessionError(f"{sessions_dir} cannot be read: {error.strerror}") from error


def _lost(folder: str, name: str) -> SessionFacts | None:
    """A session whose facts are damaged can still be opened by its id; a folder without a log is no session."""
    try:
        status = os.stat(os.path.join(folder, LOG_NAME))
    except OSError:
        return None
    return SessionFacts(name, "", "", "", "", status.st_mtime, status.st_mtime)
