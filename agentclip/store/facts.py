"""What a listing shows of a session without reading its log: one small file per session, replaced whole."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentclip.events import CommandStarted, TurnStarted
from agentclip.store.history import StoredEvents

FILE_NAME = "meta.json"
_TITLE_CHARS = 80


class SessionFacts(Struct, frozen=True):
    """One session, as listed."""

    id: str
    title: str
    """One line without control characters; empty before the first prompt."""
    cwd: str
    """Absolute directory the session belongs to; empty when its facts were lost."""
    model: str
    """The model last used."""
    version: str
    """The agentclip that made it."""
    created_s: float
    """Seconds since the epoch."""
    updated_s: float
    turns: int = 0
    commands: int = 0


def title_of(text: str) -> str:
    """A title from a prompt: its words on one line, any script, at most 80 characters."""
    line = "".join(c if c.isprintable() else " " for c in text[:1000])
    line = " ".join(line.split())
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1].rstrip() + "…"


def counted(facts: SessionFacts, events: StoredEvents) -> SessionFacts:
    """The facts brought in line with the log: counts, last time, and a title when there is none yet."""
    first = next(events.of(TurnStarted), None) if not facts.title else None
    return replace(
        facts,
        title=title_of(first.event.message.text) if first and isinstance(first.event, TurnStarted) else facts.title,
        turns=events.number_of(TurnStarted),
        commands=events.number_of(CommandStarted),
        updated_s=events[-1].time if events else facts.updated_s,
    )


def write_facts(folder: Path, facts: SessionFacts) -> None:
    """Replace the file as a whole. Raises OSError."""
    path = folder / (FILE_NAME + ".new")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, msgspec.json.encode(facts))
    finally:
        os.close(fd)
    path.replace(folder / FILE_NAME)


def read_facts(folder: Path | str) -> SessionFacts | None:
    """The facts of a session's folder; None when the file is missing or damaged."""
    try:
        with open(os.path.join(folder, FILE_NAME), "rb") as file:
            return _decoder.decode(file.read())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


_decoder = msgspec.json.Decoder(SessionFacts)
