"""Keeping the memory of a process that holds a key from other processes of the same user. Leaf."""

from __future__ import annotations

import ctypes
import sys

PR_SET_DUMPABLE = 4


def make_undumpable() -> None:
    """No debugger of the same user reads this process' memory, no core dump holds it (Linux). Lasts until the next exec."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
