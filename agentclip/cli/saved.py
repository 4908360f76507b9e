"""Which saved session a command line means. Imports next to nothing: the first picture waits for it."""

from __future__ import annotations

from pathlib import Path

from agentclip import paths
from agentclip.errors import SessionError
from agentclip.store.listing import find, newest


def chosen(resume: str | None, *, go_on: bool) -> str | None:
    """The id to resume, or None for a new session.

    Raises:
        SessionError: there is none with that id, or none of this directory to continue.
    """
    if resume:
        return find(paths.sessions_dir(), resume).name
    if not go_on:
        return resume
    facts = newest(paths.sessions_dir(), str(Path.cwd()))
    if facts is None:
        raise SessionError("no session of this directory", hint="See all with: agentclip sessions list")
    return facts.id
