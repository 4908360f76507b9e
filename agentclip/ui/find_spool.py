"""Finding words in spools of any size, in memory that depends on the size in blocks and never on lines or hits.

In: words, paths with sizes. Out: lines that have them, by number. What is compared are the bytes of the line without colours
(SGR), so that text whose colour changes in the middle is found; other escapes stay in and are not the marks that the pane shows
for them. One pass counts lines and hits per block of whole lines; a hit is found again by looking into one block.
Must not know: widgets, rows.
"""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from agentclip.ui.find import Words

BLOCK = 256 * 1024
"""Bytes looked at in one go: the keyboard waits for as long."""
_SGR = re.compile(rb"\x1b\[[0-9;:]{0,64}m")
_OVERLAP = 512
"""Bytes that may stand inside a hit beside the words: colours."""


class Needle:
    """Words as bytes, and text made comparable to them."""

    def __init__(self, words: Words) -> None:
        self._exact = words.exact
        self._wide = not words.text.isascii() and words.text.upper() != words.text
        """Letters whose capitals `bytes.lower` does not know."""
        self.data = words.text.encode("utf-8", "surrogateescape")
        self._lines = re.compile(re.escape(self.data) + rb"[^\n]*")

    def comparable(self, data: bytes) -> bytes:
        """The same lines without colours, in small letters unless capitals matter."""
        if b"\x1b[" in data:
            data = _SGR.sub(b"", data)
        if self._exact:
            return data
        if self._wide:
            return data.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape")
        return data.lower()

    def count(self, data: bytes) -> int:
        """How many lines have the words."""
        data = self.comparable(data)
        return len(self._lines.findall(data)) if self.data in data else 0

    def lines(self, data: bytes) -> list[int]:
        """Which lines have the words."""
        data = self.comparable(data)
        found: list[int] = []
        line = counted = 0
        at = data.find(self.data)
        while at >= 0:
            line += data.count(b"\n", counted, at)
            found.append(line)
            counted = at
            end = data.find(b"\n", at)
            at = data.find(self.data, end) if end >= 0 else -1
        return found


class StreamHits:
    """Lines with the words in one file. `look` runs in a thread; everything else answers from what is complete."""

    def __init__(self, path: str, size: int, words: Words) -> None:
        self.path = path
        self.size = size
        """Bytes to be looked at."""
        self.done = 0
        """Bytes looked at."""
        self.finished = False
        self._needle = Needle(words)
        self._offsets = array("Q", [0])
        """Where each block begins; one more entry than there are blocks."""
        self._lines = array("Q", [0])
        """Lines before each block."""
        self._hits = array("Q", [0])
        """Hits before each block; one more entry than there are blocks."""
        self._looked_into: tuple[int, list[int]] = (-1, [])
        """The last block looked into again, and its hits."""
        self._whole = True
        """The last block ends with a line end."""

    @property
    def total(self) -> int:
        """Lines with the words so far."""
        return self._hits[-1]

    @property
    def lines(self) -> int:
        """Lines looked at."""
        return self._lines[-1]

    def grow(self, size: int) -> None:
        """The file has this size now: there is more to look at. Not while something looks."""
        if size <= self.size:
            return
        if not self._whole:
            for each in (self._offsets, self._lines, self._hits):
                each.pop()
            self._whole, self._looked_into = True, (-1, [])
        self.size, self.done, self.finished = size, self._offsets[-1], False

    def look(self, stopped: Callable[[], bool]) -> None:
        """Go through what is not looked at yet."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                for data, whole in self._blocks(file.fileno(), stopped):
                    self._take(data, whole)
        except OSError:
            pass  # a file that is gone has nothing to find
        self.finished = not stopped()

    def _blocks(self, file: int, stopped: Callable[[], bool]) -> Iterator[tuple[bytes, int]]:
        """Whole lines, and their bytes in the file; of a line longer than a block only whether it has the words is kept."""
        offset = self._offsets[-1]
        while offset < self.size and not stopped():
            data = os.pread(file, min(BLOCK, self.size - offset), offset)
            if not data:
                return
            end = data.rfind(b"\n") + 1
            if end == 0 and len(data) == BLOCK:
                data, end = self._long_line(file, offset, stopped)
            else:
                data = data[:end] or data
                end = len(data)
            if not stopped():
                yield data, end
            offset += end

    def _long_line(self, file: int, start: int, stopped: Callable[[], bool]) -> tuple[bytes, int]:
        """A line that does not fit into a block: the words when it has them, then its end; and its bytes in the file."""
        needle = self._needle
        overlap = len(needle.data) + _OVERLAP
        offset, kept, found, end = start, b"", False, -1
        while offset < self.size and not stopped():
            data = os.pread(file, min(BLOCK, self.size - offset), offset)
            end = data.find(b"\n")
            piece = data if end < 0 else data[:end]
            found = found or needle.count(kept + piece) > 0
            kept = (kept + piece)[-overlap:]
            offset += len(piece)
            self.done = offset
            if end >= 0 or not data:
                offset += end >= 0
                break
        closed = b"\n" if end >= 0 else b""
        return (needle.data if found else b" ") + closed, offset - start

    def _take(self, data: bytes, size: int) -> None:
        # Those who answer look at the hits last: the entry that makes a block known comes at the end.
        self._offsets.append(self._offsets[-1] + size)
        self._whole = data.endswith(b"\n")
        self._lines.append(self._lines[-1] + data.count(b"\n") + (not self._whole))
        self._hits.append(self._hits[-1] + self._needle.count(data))
        self.done = self._offsets[-1]

    def before(self, line: int) -> int | None:
        """How many hits lie before a line; None while nobody knows."""
        known = len(self._hits) - 1
        block = bisect_right(self._lines, line, 0, known + 1) - 1
        if block >= known:
            return self._hits[known] if self.finished or line <= self._lines[known] else None
        if self._hits[block + 1] == self._hits[block]:
            return self._hits[block]
        return self._hits[block] + bisect_left(self._inside(block), line)

    def line(self, number: int) -> int:
        """The line of a hit that is known, counted from 0."""
        block = bisect_right(self._hits, number) - 1
        inside = number - self._hits[block]
        found = self._inside(block)
        return found[min(inside, len(found) - 1)] if found else self._lines[block]

    def _inside(self, block: int) -> list[int]:
        first = self._lines[block]
        if self._lines[block + 1] == first + 1:
            return [first]
        if self._looked_into[0] != block:
            data = b""
            try:
                with open(self.path, "rb", buffering=0) as file:
                    data = os.pread(file.fileno(), self._offsets[block + 1] - self._offsets[block], self._offsets[block])
            except OSError:
                pass  # gone meanwhile: the first line of the block stands for all of its hits
            self._looked_into = (block, [first + line for line in self._needle.lines(data)])
        return self._looked_into[1]
