"""Server-sent events: bytes come in as they arrive, the data of each event goes out. Pure.

The WHATWG's "Interpreting an event stream" holds: lines end with LF, CR LF or CR, never with U+2028 and the like, which may
stand inside JSON. An event at the very end counts without its blank line too: not every server sends that.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_EVENT_BYTES = 16 * 1024 * 1024
BOM = b"\xef\xbb\xbf"


class EventTooLongError(ValueError):
    """An event does not end."""


class EventStream:
    """Decodes one stream."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The data of every event that `chunk` completes.

        Raises:
            EventTooLongError: more than MAX_EVENT_BYTES came without an end.
        """
        for piece in chunk.splitlines(keepends=True):  # bytes split at CR, LF and CR LF only
            if self._after_cr and piece == b"\n":
                self._after_cr = False
                continue
            self._after_cr = False
            self._line += piece.rstrip(b"\r\n")
            if self._size + len(self._line) > MAX_EVENT_BYTES:
                raise EventTooLongError(f"an event of more than {MAX_EVENT_BYTES} bytes")
            if piece.endswith((b"\r", b"\n")):
                self._after_cr = piece.endswith(b"\r")
                yield from self._end_line()

    def end(self) -> Iterator[str]:
        """The data of an event that the end of the stream completes."""
        if self._line:
            yield from self._end_line()
        yield from self._end_event()

    def _end_line(self) -> Iterator[str]:
        line = bytes(self._line).removeprefix(BOM if self._first else b"")
        self._first = False
        self._line.clear()
        if not line:
            yield from self._end_event()
        elif line.startswith(b"data:"):
            value = line[5:].removeprefix(b" ")
            self._data.append(value)
            self._size += len(value)

    def _end_event(self) -> Iterator[str]:
        if self._data:
            yield b"\n".join(self._data).decode("utf-8", "replace")
        self._data.clear()
        self._size = 0
