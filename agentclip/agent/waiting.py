"""What waits to be done, oldest first: prompts, `!` lines and wishes for a snapshot. Values only."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from enum import Enum, auto

from msgspec import Struct, field

COMPRESS = "/compress"


class Kind(Enum):
    """Of an entry."""

    PROMPT = auto()
    SHELL = auto()
    COMPRESS = auto()


class Waiting(Struct, frozen=True):
    """An entry."""

    text: str
    kind: Kind = Kind.PROMPT

    @property
    def shown(self) -> str:
        """As the person typed it."""
        return f"!{self.text}" if self.kind is Kind.SHELL else self.text


class Queue(Struct):
    """The entries; what the person typed keeps its order."""

    _entries: deque[Waiting] = field(default_factory=deque)

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, entry: Waiting) -> None:
        """To the end."""
        self._entries.append(entry)

    def take(self) -> Waiting:
        """The oldest."""
        return self._entries.popleft()

    def take_back(self) -> str | None:
        """The newest, as it was typed; None when nothing waits."""
        return self._entries.pop().shown if self._entries else None

    def prompts(self) -> Iterator[str]:
        """Take the oldest ones that are prompts, up to the first that is none."""
        while self._entries and self._entries[0].kind is Kind.PROMPT:
            yield self._entries.popleft().text

    def texts(self) -> tuple[str, ...]:
        """All, oldest first, as they were typed."""
        return tuple(entry.shown for entry in self._entries)

    def clear(self) -> None:
        """Nothing waits."""
        self._entries.clear()
