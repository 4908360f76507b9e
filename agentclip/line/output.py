"""The terminal as something to write to: what it cannot spell is spelled otherwise; once it is gone, nothing is written."""

from __future__ import annotations

import os
import sys

_ASCII = str.maketrans({"│": "|", "…": "...", "·": "-", "→": "->", "⏎": "\\n"})


class Tty:
    """Standard output, unbuffered. A text file as far as prompt_toolkit needs one."""

    def __init__(self) -> None:
        self.encoding = sys.stdout.encoding or "utf-8"
        self._simple = not self.encoding.lower().replace("-", "").startswith("utf")
        self._descriptor = sys.stdout.fileno()
        self._gone = False

    def write(self, text: str) -> int:
        """All of it, or nothing when the terminal is gone."""
        if self._simple:
            text = text.translate(_ASCII)
        data = memoryview(text.encode(self.encoding, "replace"))
        while data and not self._gone:
            try:
                data = data[os.write(self._descriptor, data) :]
            except OSError:
                self._gone = True
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""

    def fileno(self) -> int:
        """Of standard output."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(self._descriptor)

    def size(self) -> tuple[int, int]:
        """Columns and rows; 80 and 24 where nobody says so."""
        try:
            found = os.get_terminal_size(self._descriptor)
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24
