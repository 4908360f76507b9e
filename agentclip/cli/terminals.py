"""What the terminal at both ends can show. Loads neither the screen nor the line editor."""

from __future__ import annotations

import os
import sys
from typing import Protocol

from agentclip.line.terminals import is_plain


def is_interactive() -> bool:
    """Whether a person sits at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def needs_lines() -> bool:
    """Whether a person sits at a terminal that cannot show the screen."""
    return is_interactive() and is_plain(os.environ)


def is_screen() -> bool:
    """Whether stdin and stdout are a terminal that can show the screen."""
    return is_interactive() and os.environ.get("TERM", "dumb") != "dumb"


def forget_the_size() -> None:
    """An exported size is that of another moment; the terminal knows its own."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)


class Ended(Protocol):
    """A screen that has ended."""

    @property
    def return_code(self) -> int | None:
        """Its own exit status."""


def exit_status(screen: Ended, result: object) -> int:
    """Of the program: what the screen returned. One that crashed returned nothing, and its own exit status tells."""
    return result if isinstance(result, int) else screen.return_code or 0
