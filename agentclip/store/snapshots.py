"""Snapshots as files of a session's folder, for people: an event comes in, `snapshot-0001.xml` goes out. The log has it too."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from agentclip.events import SnapshotTaken

_logger = logging.getLogger(__name__)


def snapshot_name(number: int) -> str:
    """The name of the file."""
    return f"snapshot-{number:04}.xml"


def write_snapshot(folder: Path, event: SnapshotTaken) -> None:
    """Write the file whole, readable by the owner only. A failure costs nothing: the log has the snapshot."""
    path = folder / (snapshot_name(event.number) + ".new")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(event.text.encode("utf-8", "replace") + b"\n")
        path.replace(folder / snapshot_name(event.number))
    except OSError as error:
        _logger.warning("%s was not written: %s", path, error)
