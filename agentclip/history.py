"""What a person sent, shared by the screen's prompt and the line mode: entries in, entries out, in a file of mode 600.

The form is that of prompt_toolkit's FileHistory: a comment with the time, then each line of the entry behind a plus sign. An
entry is one write at the end of the file, so programs that run at the same time do not mix theirs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from agentclip import paths


def history_file() -> Path:
    """`$XDG_STATE_HOME/agentclip/history`."""
    return paths.state_dir() / "history"


def read_history(path: Path) -> list[str]:
    """All entries, oldest first; none when there is no file or it cannot be read. Lines of another form are left out."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return list(_entries(data))


def remember(path: Path, text: str) -> None:
    """Add an entry. Raises OSError."""
    paths.make_private(path.parent)
    lines = "".join(f"+{line}\n" for line in text.split("\n"))
    entry = f"\n# {datetime.now().astimezone().replace(tzinfo=None)}\n{lines}".encode("utf-8", "surrogateescape")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, entry)
    finally:
        os.close(descriptor)


def _entries(data: bytes) -> Iterator[str]:
    lines: list[bytes] = []
    for line in (*data.split(b"\n"), b""):
        if line.startswith(b"+"):
            lines.append(line[1:])
        elif lines:
            yield b"\n".join(lines).decode("utf-8", "replace")
            lines = []
