"""A terminal's descriptor as a text file that never fails: once the terminal is gone, writing does nothing.

In: a descriptor. Must not know: who draws on it.
"""

from __future__ import annotations

import os


class DescriptorFile:
    """Unbuffered; what the encoding cannot spell becomes a question mark."""

    def __init__(self, descriptor: int, encoding: str = "utf-8") -> None:
        self.encoding = encoding
        self._descriptor = descriptor
        self._gone = False

    def write(self, text: str) -> int:
        """All of it, or nothing when the terminal is gone."""
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
        """The descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(self._descriptor)
