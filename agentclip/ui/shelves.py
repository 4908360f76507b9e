"""What the screen needs from outside its session: the other saved sessions, the models. Protocols and values only.

Everything that is not async reads disks: call it on a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class SavedSession(Struct, frozen=True):
    """One saved session, as listed."""

    id: str
    title: str
    """Empty before the first prompt."""
    cwd: str
    updated_s: float
    """Seconds since the epoch."""
    turns: int
    model: str = ""


class SessionShelf(Protocol):
    """The saved sessions of this machine. All methods but the first may raise SessionError."""

    def listed(self) -> Sequence[SavedSession]:
        """Newest first."""

    def about(self, identifier: str) -> str:
        """What it is about, in a few lines."""

    def check(self, identifier: str) -> str:
        """The id of the session that `identifier` is the beginning of; it can be opened."""

    def fork(self, identifier: str) -> str:
        """Copy it as it is now; the id of the copy."""

    def rename(self, identifier: str, title: str) -> None:
        """Give it another title; an empty one brings back its first prompt."""

    def delete(self, identifier: str) -> None:
        """Remove it for good."""


class OfferedModel(Struct, frozen=True):
    """A model that can be had."""

    name: str
    """As `use` takes it."""
    detail: str = ""


class ModelShelf(Protocol):
    """The models there are."""

    def configured(self) -> Sequence[OfferedModel]:
        """Those the configuration names, and the usual ones of providers with a key. Asks nobody."""

    async def offered(self) -> Sequence[OfferedModel]:
        """What the endpoint in use offers. Raises AgentclipError."""

    async def use(self, name: str) -> None:
        """Let it answer as soon as nothing runs; returns then. Raises AgentclipError: nobody serves it, its key is missing."""
