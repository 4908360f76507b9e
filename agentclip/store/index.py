"""Where the events of a log stand: the bytes of its lines come in; positions, types and what is damaged go out.

A sound line is known by its first bytes and its last one: 100 MB take a tenth of a second, decoding them would take two. What
is inside a line is looked at when somebody asks for the event.
"""

from __future__ import annotations

import logging
import re
from array import array
from pathlib import Path

from msgspec import Struct, field

from agentclip.errors import SessionError
from agentclip.store.codec import TYPES, VERSION, UnreadableLineError, decode

BLOCK_BYTES = 16 * 1024 * 1024

_LINE = re.compile(
    rb'^\{"v":' + str(VERSION).encode() + rb',"seq":(\d{1,15}),"time":(\d{1,15}(?:\.\d+)?),"type":"(\w+)"[^\n]*\}\n',
    re.MULTILINE,
)
_KINDS: dict[bytes, type] = {name.encode(): kind for name, kind in TYPES.items()}
_logger = logging.getLogger(__name__)


class LogIndex(Struct):
    """What a file holds, line by line."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    """Of each event, in bytes from the beginning of the file."""
    ends: array[int] = field(default_factory=lambda: array("q"))
    kinds: list[type] = field(default_factory=list)
    """The type of each event."""
    size: int = 0
    """Bytes up to the end of the last whole line."""
    torn: bytes = b""
    """The end of the file behind the last newline; normally empty."""
    skipped: int = 0
    """Whole lines that are no event of this version."""
    last_seq: int = 0
    last_s: float = 0.0
    """When the last event was stored, in seconds since the epoch."""

    def take(self, lines: bytes) -> None:
        """Go on with whole lines."""
        position, size = 0, self.size
        add_start, add_end, add_kind, kind_of = self.starts.append, self.ends.append, self.kinds.append, _KINDS.get
        match = None
        for match in _LINE.finditer(lines):
            start, end = match.span()
            if start != position:
                self._look_at(lines, position, start)
            position = end
            kind = kind_of(match[3])
            if kind is None:
                self._skip(f"type {match[3]!r}")
                continue
            add_start(size + start)  # not through `_add`: for a hundred thousand lines that is a third of the time
            add_end(size + end)
            add_kind(kind)
        if match is not None:
            self.last_seq, self.last_s = max(self.last_seq, int(match[1])), float(match[2])
        if position != len(lines):
            self._look_at(lines, position, len(lines))
        self.size += len(lines)

    def _look_at(self, lines: bytes, position: int, end: int) -> None:
        """Lines that do not look as this version writes them: what can be decoded all the same is an event too."""
        while position < end:
            next_line = lines.index(b"\n", position) + 1
            try:
                recorded = decode(lines[position:next_line])
            except UnreadableLineError as error:
                self._skip(str(error))
            else:
                self._add(type(recorded.event), position, next_line)
                self.last_seq, self.last_s = max(self.last_seq, recorded.seq), recorded.time
            position = next_line

    def _add(self, kind: type, start: int, end: int) -> None:
        self.starts.append(self.size + start)
        self.ends.append(self.size + end)
        self.kinds.append(kind)

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        _logger.warning("a line of a session was skipped: %.200s", reason)


def index_log(path: Path) -> LogIndex:
    """Look through a log without changing it. A missing file is an empty log. Raises SessionError."""
    index = LogIndex()
    rest: list[bytes] = []
    try:
        with path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK_BYTES):
                cut = block.rfind(b"\n") + 1
                if cut:
                    index.take(b"".join([*rest, block[:cut]]))
                    rest = []
                rest.append(block[cut:])
    except FileNotFoundError:
        pass
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error
    index.torn = b"".join(rest)
    return index
