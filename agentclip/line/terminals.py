"""Which terminals can show what. Loads neither the screen nor the line editor."""

from __future__ import annotations

import os
from collections.abc import Mapping

_CAPABLE = (
    "xterm", "screen", "tmux", "rxvt", "linux", "vt1", "vt2", "vt3", "vt4", "vt5", "alacritty", "foot", "kitty", "wezterm",
    "ghostty", "konsole", "gnome", "iterm", "st-", "eterm", "contour", "rio", "putty", "mintty", "cygwin", "ansi",
)  # fmt: skip
"""Beginnings of names that move the cursor as everybody does, whether or not this machine has their description."""


def is_plain(environ: Mapping[str, str]) -> bool:
    """Whether TERM names a terminal that takes text and nothing else: none, `dumb`, or one that nobody knows."""
    name = environ.get("TERM", "")
    if name in {"", "dumb", "unknown", "network", "emacs"}:
        return True
    return not name.startswith(_CAPABLE) and not _moves_its_cursor(name)


def _moves_its_cursor(name: str) -> bool:
    try:
        import curses  # noqa: PLC0415  registered deferred import
    except ImportError:  # a Python that was built without it
        return False
    with open(os.devnull, "wb") as nowhere:
        try:
            curses.setupterm(name, nowhere.fileno())
        except curses.error:
            return False
    return curses.tigetstr("cup") is not None
