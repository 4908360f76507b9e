"""Output of one run, line by line, while it grows and once it has ended: events in, lines out.

Reads only as much of the spools as it shows, however large they are. Must not know: terminals.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from agentclip.events import CommandFinished, OutputGrew
from agentclip.foreign import decode
from agentclip.line.text import Line, line, lines
from agentclip.results import LineFate, Presented, StreamFile

SHOWN_LINES = 200
"""Of one run; the rest is in the spool."""
CHUNK = 64 * 1024
CHUNKS_AT_ONCE = 16
LINE_BYTES = 2000
OUT, ERR = "│ ", "! "
_SGR = re.compile(r"\x1b\[[0-9;:]*m")


@dataclass(slots=True)
class Spool:
    """One stream, read from its beginning."""

    path: str
    offset: int = 0
    lines: int = 0
    """How many were given out."""
    binary: bool = False
    _rest: bytes = b""
    _skipping: bool = False
    """The rest of a line that was too long."""
    _cut: bool = False
    """Lines were read that were not given out."""

    def complete(self, size: int) -> bool:
        """Whether all of it was given out."""
        return self.binary or (self.offset >= size and not self._cut)

    def more(self, size: int, room: int, *, last: bool) -> list[str]:
        """The next lines, at most `room`, of a spool that has `size` bytes; with `last` also one without an end."""
        found: list[str] = []
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return found
        try:
            for _ in range(CHUNKS_AT_ONCE):
                if len(found) >= room or self.offset >= size or self.binary:
                    break
                data = os.pread(descriptor, min(CHUNK, size - self.offset), self.offset)
                if not data:
                    break
                self.binary = self.offset == 0 and b"\0" in data
                self.offset += len(data)
                found += [] if self.binary else self._split(data)
        finally:
            os.close(descriptor)
        if last and self._rest and not self._skipping:
            found.append(_readable(self._rest))
            self._rest = b""
        self._cut = self._cut or len(found) > room
        del found[max(0, room) :]
        self.lines += len(found)
        return found

    def _split(self, data: bytes) -> list[str]:
        *ended, self._rest = (self._rest + data).split(b"\n")
        found = []
        for each in ended:
            if not self._skipping:
                found.append(_readable(each))
            self._skipping = False
        if self._skipping:
            self._rest = b""
        elif len(self._rest) > LINE_BYTES:
            found.append(_readable(self._rest))
            self._rest, self._skipping = b"", True
        return found


def _readable(data: bytes) -> str:
    """What a terminal would show in the end of a line that was drawn over itself, without its colours."""
    shown = data.rstrip(b"\r").rpartition(b"\r")[2]
    text = _SGR.sub("", decode(shown[:LINE_BYTES]))
    return text + "…" if len(shown) > LINE_BYTES else text


@dataclass(slots=True)
class LiveRun:
    """One run and how much of it was shown."""

    number: int
    stdout_path: str
    limit: int = SHOWN_LINES
    """Lines of stdout; of stderr a quarter of it."""
    size: int = 0
    """Bytes of stdout so far."""
    _out: Spool = field(init=False)
    _errors: dict[int, Spool] = field(default_factory=dict)
    _told: bool = False

    def __post_init__(self) -> None:
        self._out = Spool(self.stdout_path)

    def grew(self, event: OutputGrew) -> list[Line]:
        """New lines."""
        if event.stage is not None:
            return self._read_error(event.stage, event.path, event.size, last=False)
        self.size = event.size
        shown = self._read_out(event.size, last=False)
        if self._out.lines >= self.limit and not self._told:
            self._told = True
            shown.append(line(f"{OUT}… not shown from here on while it runs", "muted"))
        return shown

    def finish(self, event: CommandFinished) -> list[Line]:
        """What was not shown yet, how much more there is, and the end of what the model reads."""
        stdout = event.result.stdout
        self._out.path = stdout.path
        shown = self._read_out(stdout.size, last=True)
        errors = [(stage.index, stage.stderr) for stage in event.result.stages if stage.stderr is not None]
        for index, file in errors:
            shown += self._read_error(index, file.path, file.size, last=True)
        if self._out.binary:
            return [*shown, *lines(event.shown.text.rstrip("\n"))]
        left = [self._more_out(event), *(self._more_error(index, file) for index, file in errors)]
        return [*shown, *(line(text, "muted") for text in left if text), *_end(event)]

    def _read_out(self, size: int, *, last: bool) -> list[Line]:
        found = self._out.more(size, self.limit - self._out.lines, last=last)
        return [(("muted", OUT), *line(text)) for text in found]

    def _read_error(self, stage: int, path: str, size: int, *, last: bool) -> list[Line]:
        spool = self._errors.setdefault(stage, Spool(path))
        room = self.limit // 4 - sum(each.lines for each in self._errors.values())
        return [(("raw-stderr", ERR), *line(text, "raw-stderr")) for text in spool.more(size, room, last=last)]

    def _more_out(self, event: CommandFinished) -> str:
        stdout, ranges = event.result.stdout, event.shown.ranges
        name = os.path.basename(stdout.path)
        missing = ranges[-1].last + 1 - self._out.lines if ranges else 0
        if missing > 0:
            return f"{OUT}… {missing:,} more lines ({name})"
        missing = 0 if ranges else stdout.size - self._out.offset
        return f"{OUT}… {missing:,} more bytes ({name})" if missing > 0 else ""

    def _more_error(self, index: int, file: StreamFile) -> str:
        complete = self._errors[index].complete(file.size)
        return "" if complete else f"{ERR}… more ({os.path.basename(file.path)})"


def _end(event: CommandFinished) -> list[Line]:
    """Hints and the footer."""
    *before, footer = event.shown.text.rstrip("\n").split("\n")
    hints = [line(text, "notice") for text in before[-3:] if text.startswith("[hint] ")]
    cut = _cut(event.shown)
    told = [line(cut, "not-sent")] if cut else []
    return [*told, *hints, line(footer, "exit-ok" if event.result.status == 0 else "exit-fail")]


def _cut(shown: Presented) -> str:
    missing = sum(part.last - part.first + 1 for part in shown.ranges if part.fate is LineFate.CUT)
    if not missing:
        return ""
    total = shown.ranges[-1].last + 1
    return f"[the model reads {total - missing:,} of {total:,} lines]"
