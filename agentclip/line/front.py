"""The seam between a session and the terminal it is shown on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentclip.line.text import Line


class Desk(Protocol):
    """What a terminal needs from the session."""

    @property
    def busy(self) -> bool:
        """Something is being worked on."""

    @property
    def cwd(self) -> str:
        """Where `!` lines run and `@` files are looked for."""

    def entered(self, text: str) -> None:
        """The person sent something."""

    def interrupted(self) -> None:
        """Ctrl+C with nothing typed."""

    def take_back(self) -> str | None:
        """The newest message that waits, no longer waiting; None when nothing waits."""

    def status(self, width: int) -> str:
        """The session in one line."""

    def quit(self, status: int = 0) -> None:
        """End, once what runs is stopped."""

    def quit_when_idle(self) -> None:
        """No more input will come."""


class Front(Protocol):
    """A terminal."""

    @property
    def echoes(self) -> bool:
        """What the person types stays where it was typed."""

    @property
    def edits(self) -> bool:
        """`load` can put a text into the prompt."""

    @property
    def width(self) -> int:
        """Cells of a line."""

    def show(self, shown: Sequence[Line]) -> None:
        """Print lines above the prompt."""

    def refresh(self) -> None:
        """The status line may be another one."""

    def load(self, text: str) -> None:
        """Put a text into the prompt."""

    def use_theme(self, name: str) -> None:
        """Other colours from here on. Raises ConfigError: it has none, or there is no such theme."""

    async def serve(self, desk: Desk) -> None:
        """Take input until `close`, or until the terminal is gone."""

    def close(self) -> None:
        """End `serve` with the terminal as it was."""
