"""A binary spool gets a second name that says what it holds: `cmd-3.png` beside `cmd-3.txt`.

The one module of Layer 2 that writes to the disk. It runs before `present`, which then advises the name; without the name it
advises the spool's own. Both are the same file (a hard link), so retention has to remove both.
"""

from __future__ import annotations

import contextlib
import os

from agentclip.present.binary import true_path
from agentclip.present.excerpt import kind_of_stream
from agentclip.results import Limits, StreamFile


def name_by_content(stdout: StreamFile, limits: Limits) -> str | None:
    """Link the spool under its true extension; return that path, or None for text and where linking is impossible."""
    if stdout.size <= 0:
        return None
    try:
        kind = kind_of_stream(stdout, limits.lines, limits.encoding)
        if kind is None:
            return None
        path = true_path(stdout, kind)
        with contextlib.suppress(FileExistsError):
            os.link(stdout.path, path, follow_symlinks=False)
    except OSError:
        return None
    return path
