"""The terminal as something to write to: what it cannot spell is spelled otherwise; once it is gone, nothing is written."""

from __future__ import annotations

import os
import sys

from typing_extensions import override

from agentclip.descriptor import DescriptorFile

_ASCII = str.maketrans({"│": "|", "…": "...", "·": "-", "→": "->", "⏎": "\\n"})


class Tty(DescriptorFile):
    """Standard output, unbuffered. A text file as far as prompt_toolkit needs one."""

    def __init__(self) -> None:
        super().__init__(sys.stdout.fileno(), sys.stdout.encoding or "utf-8")
        self._simple = not self.encoding.lower().replace("-", "").startswith("utf")

    @override
    def write(self, text: str) -> int:
        """All of it, or nothing when the terminal is gone."""
        super().write(text.translate(_ASCII) if self._simple else text)
        return len(text)

    def size(self) -> tuple[int, int]:
        """Columns and rows; 80 and 24 where nobody says so."""
        try:
            found = os.get_terminal_size(self.fileno())
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24
