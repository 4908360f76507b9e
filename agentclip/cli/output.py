"""Text for stdout that may be a pipe whose reader leaves, and the log that nothing else may print to."""

from __future__ import annotations

import errno
import logging
import os
import sys
from pathlib import Path

from agentclip import paths

MAX_LOG_BYTES = 1024 * 1024


def say(text: str) -> None:
    """Print a line; a reader that left, or a terminal that is gone, is no error. Raises OSError for a full disk."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in {errno.EPIPE, errno.EIO}:
            raise
        # Everything after this goes nowhere, the flush at exit included.
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


def way_back(session_id: str) -> str:
    """The last line of a session."""
    return f"To come back: agentclip --resume {session_id}"


def say_json(document: object) -> None:
    """Print one JSON document. ASCII: a lone surrogate in a file name stays valid JSON."""
    import json  # noqa: PLC0415  registered deferred import

    say(json.dumps(document))


def log_to_file() -> Path:
    """Send our own log to `agentclip.log`: a line on stderr would draw over the screen. Asked again, nothing happens."""
    path = paths.make_private(paths.state_dir()) / "agentclip.log"
    logger = logging.getLogger("agentclip")
    if any(isinstance(each, logging.FileHandler) and each.baseFilename == str(path.absolute()) for each in logger.handlers):
        return path
    if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    logger.propagate = False
    return path
