"""Where the lines of a growing spool file are, in memory that depends on its size in blocks and never on its lines.

In: a path. Out: counts of lines, and single lines by number, clipped. Only the number of line ends per 16 KiB is kept (8 bytes
each: 5 MB for a 10 GB file); a line is found by looking into one block. Must not know: widgets, events, what the bytes mean.
"""

from __future__ import annotations

import codecs
import os
from array import array
from bisect import bisect_right

from msgspec import Struct

BLOCK = 16 * 1024
READ = 1024 * 1024
CLIP = 8 * 1024
"""Bytes of a line that are read for the screen, from its beginning."""
END = 2 * 1024
"""And from its end, when it is longer: where a progress bar stands."""


class RawLine(Struct, frozen=True):
    """One line of a spool, without its line end."""

    data: bytes
    left_out: int
    """Bytes behind `data` that were not read; 0 when the line is whole."""
    end: bytes = b""
    """What comes behind those."""


class SpoolIndex:
    """Line ends of one file. `extend` may run in a thread, one at a time; everything else reads what is complete."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        """Bytes indexed so far."""
        self._before = array("Q", [0])
        """Line ends before each block; one more entry than full blocks."""
        self._tail_ends = 0
        """Line ends in the last, incomplete block."""
        self._ends_with_newline = True

    @property
    def lines(self) -> int:
        """Lines so far, the last one counted even without its line end."""
        return self._before[-1] + self._tail_ends + (not self._ends_with_newline)

    def extend(self, size: int, budget: int = 8 * READ) -> bool:
        """Index up to `size` bytes of the file, at most `budget` now; False when there is nothing left to do."""
        goal = min(size, self.size + budget)
        try:
            with open(self.path, "rb", buffering=0) as file:
                while self.size < goal:
                    data = os.pread(file.fileno(), min(READ, goal - self.size), self.size)
                    if not data:
                        return False
                    self._count(data)
        except OSError:
            return False
        return self.size < size

    def _count(self, data: bytes) -> None:
        position = 0
        while position < len(data):
            room = BLOCK - self.size % BLOCK
            step = min(room, len(data) - position)
            self._tail_ends += data.count(b"\n", position, position + step)
            position += step
            self.size += step
            if step == room:
                self._before.append(self._before[-1] + self._tail_ends)
                self._tail_ends = 0
        self._ends_with_newline = data.endswith(b"\n")

    def line_of(self, offset: int) -> int:
        """How many lines begin before byte `offset`, at most those indexed."""
        offset = min(offset, self.size)
        if offset <= 0:
            return 0
        block, inside = divmod(offset, BLOCK)
        data = self._read(block * BLOCK, inside)
        ends = self._before[block] + data.count(b"\n")
        previous = data[-1:] if data else self._read(offset - 1, 1)
        return ends + (previous != b"\n")

    def read(self, first: int, count: int, clip: int = CLIP) -> list[RawLine]:
        """Lines `first` to `first + count - 1`, as many of them as there are, `clip` bytes of each and its end."""
        last = min(first + count, self.lines)
        found: list[RawLine] = []
        start = self._start_of(first) if first < last else 0
        for line in range(first, last):
            data = self._read(start, min(clip, self.size - start))
            end = data.find(b"\n")
            if end >= 0:
                found.append(RawLine(data[:end], 0))
                start += end + 1
                continue
            following = self._start_of(line + 1) if line + 1 < self.lines else self.size + (not self._ends_with_newline)
            found.append(self._long_line(data, start, following - 1))
            start = following
        return found

    def tail(self, count: int) -> list[RawLine]:
        """The last lines."""
        return self.read(max(0, self.lines - count), count)

    def _long_line(self, data: bytes, start: int, end: int) -> RawLine:
        """The line between two offsets, of which the first bytes are read; no half of a character where it is cut."""
        behind = start + len(data)
        last = max(behind, end - END)
        tail = self._read(last, end - last)
        if last == behind:
            return RawLine(data + tail, 0)
        data = data[: codecs.utf_8_decode(data, "ignore")[1]]
        tail = tail[next((at for at, byte in enumerate(tail[:4]) if byte & 0xC0 != 0x80), 0) :]
        return RawLine(data, end - start - len(data) - len(tail), tail)

    def _start_of(self, line: int) -> int:
        """Offset of the first byte of a line that exists."""
        if line <= 0:
            return 0
        # The line begins after line end number `line`, which lies in the last block that has fewer before it.
        block = bisect_right(self._before, line - 1) - 1
        wanted = line - self._before[block]
        data = self._read(block * BLOCK, BLOCK)
        position = -1
        for _ in range(wanted):
            position = data.find(b"\n", position + 1)
        return block * BLOCK + position + 1

    def _read(self, offset: int, size: int) -> bytes:
        if size <= 0:
            return b""
        try:
            with open(self.path, "rb", buffering=0) as file:
                return os.pread(file.fileno(), size, offset)
        except OSError:
            return b""
