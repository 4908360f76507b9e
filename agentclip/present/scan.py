"""Spool files read in constant memory: lines from the start, a window at the end, exact line counts.

In: a path and how many of its bytes belong to the result (a job may still be writing behind them). Out: raw bytes. Knows
nothing of budgets and of what is shown. Encodings whose line end is not one byte (UTF-16, UTF-32) come out as UTF-8.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from msgspec import Struct

BLOCK_BYTES = 1 << 18
LINE_EDGE_BYTES = 1 << 16
"""A longer line is kept as its first and its last bytes; what is between is only counted."""


class RawLine(Struct, frozen=True):
    """One line, its line end left off."""

    head: bytes
    """The whole line, or its first LINE_EDGE_BYTES."""
    tail: bytes = b""
    """Its last LINE_EDGE_BYTES when the line is longer than the edge; otherwise empty."""
    chars: int | None = None
    """Decoded characters of a line longer than the edge; None when `head` is the whole line."""
    ended: bool = True
    """False for a last line without line end."""


class Spool:
    """The first `size` bytes of a file. Raises OSError when it is not there or not a regular file."""

    def __init__(self, path: str, size: int) -> None:
        # A spool is ours, but a named pipe in its place must not hang us.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file", path)
        self._file = io.FileIO(descriptor)
        self.size = min(size, about.st_size)
        """Bytes of the result that are there."""
        self._position = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def window(self, start: int, size: int) -> bytes:
        """Up to `size` bytes from an offset on, whatever has been read before."""
        return os.pread(self._file.fileno(), max(0, min(size, self.size - start)), start)

    def read(self) -> bytes:
        """The next block; empty at the end."""
        block = self.window(self._position, BLOCK_BYTES)
        self._position += len(block)
        return block

    def count_rest(self) -> tuple[int, bytes]:
        """Line ends in all that `read` has not yet given, and the last byte there (empty when nothing is left)."""
        buffer = bytearray(BLOCK_BYTES)
        view = memoryview(buffer)
        count, last = 0, b""
        self._file.seek(self._position)
        while size := self._file.readinto(view[: max(0, min(BLOCK_BYTES, self.size - self._position))]):
            count += buffer.count(b"\n", 0, size)
            last = bytes(view[size - 1 : size])
            self._position += size
        return count, last

    def end(self, size: int) -> tuple[bytes, bool]:
        """About the last `size` bytes, and whether they begin where the file does."""
        start = max(0, self.size - size)
        return self.window(start, size), start == 0


class WideSpool(Spool):
    """A file of 2- or 4-byte characters, given as UTF-8."""

    def __init__(self, path: str, size: int, codec: str) -> None:
        super().__init__(path, size)
        self._codec = codec
        self._decoder = codecs.getincrementaldecoder(codec)("replace")

    def read(self) -> bytes:
        """The next block, converted; empty at the end."""
        while block := super().read():
            if converted := self._decoder.decode(block).encode("utf-8", "replace"):
                return converted
        return self._decoder.decode(b"", final=True).encode("utf-8", "replace")

    def count_rest(self) -> tuple[int, bytes]:
        """Line ends in what is left, counted in characters."""
        count, last = 0, b""
        while block := self.read():
            count += block.count(b"\n")
            last = block[-1:]
        return count, last

    def end(self, size: int) -> tuple[bytes, bool]:
        """About the last `size` bytes, converted."""
        start = max(0, self.size - size) // 4 * 4
        return self.window(start, self.size - start).decode(self._codec, "replace").encode("utf-8", "replace"), start == 0


class Lines:
    """The lines of a spool in order; what is not asked for is only counted."""

    def __init__(self, spool: Spool, codec: str) -> None:
        self._spool = spool
        self._codec = codec
        self._block = b""
        self._at = 0
        self.taken = 0
        """Lines given so far."""

    def __iter__(self) -> Iterator[RawLine]:
        while self._more():
            line = self._short_line() or self._next_line()
            self.taken += 1
            yield line

    def count_rest(self) -> int:
        """Lines behind those given; a last one without line end counts."""
        here = self._block[self._at :]
        count, last = self._spool.count_rest()
        self._block = b""
        last = last or here[-1:]
        return here.count(b"\n") + count + (last not in {b"", b"\n"})

    def _more(self) -> bool:
        """Whether anything is left; reads on when the block is used up."""
        if self._at >= len(self._block):
            self._block, self._at = self._spool.read(), 0
        return bool(self._block)

    def _short_line(self) -> RawLine | None:
        """The next line when it lies in the block and is not long: nearly always."""
        end = self._block.find(b"\n", self._at, self._at + LINE_EDGE_BYTES)
        if end < 0:
            return None
        line = RawLine(self._block[self._at : end])
        self._at = end + 1
        return line

    def _next_line(self) -> RawLine:
        """A line over a block's border, a long one, or a last one without line end."""
        decoder = codecs.getincrementaldecoder(self._codec)("replace")
        head, tail, size, chars, ended = b"", b"", 0, 0, False
        while not ended and self._more():
            end = self._block.find(b"\n", self._at)
            ended = end >= 0
            piece = self._block[self._at : end if ended else None]
            self._at += len(piece) + ended
            size += len(piece)
            # A hundred times faster, and the same in UTF-8 (not in ISO 2022, where ASCII may mean something else).
            plain = self._codec == "utf-8" and piece.isascii() and not decoder.getstate()[0]
            chars += len(piece) if plain else len(decoder.decode(piece))
            tail = (tail + piece)[-LINE_EDGE_BYTES:]
            if len(head) < LINE_EDGE_BYTES:
                head = (head + piece)[:LINE_EDGE_BYTES]
        if size <= LINE_EDGE_BYTES:
            return RawLine(head, ended=ended)
        return RawLine(head, tail, chars + len(decoder.decode(b"", final=True)), ended)
