"""The rows of the raw pane: stdout and the stderr of every stage in the order in which they grew.

In: paths, sizes as they grow (events while it runs, `cmd-N.idx` afterwards). Out: rows by number. The order is known a few
times per second; inside one such step stdout comes first. Must not know: widgets, colours.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from pathlib import Path

from msgspec import Struct, field

from agentclip.ui.spool_index import CLIP, RawLine, SpoolIndex


class Growth(Struct, frozen=True):
    """Sizes at one moment."""

    stdout: int
    stderr: tuple[tuple[int, int], ...]
    """(stage, bytes) of every stage that has written to stderr."""


class Row(Struct, frozen=True):
    """One row of the pane."""

    stage: int | None
    """None for stdout, else the stage whose stderr it is."""
    line: int
    """0-based line within its file."""
    raw: RawLine


class _Piece(Struct):
    stage: int | None
    first: int
    count: int


class SpoolRows(Struct):
    """All streams of one run as one list of rows. Grows only."""

    stdout: SpoolIndex
    stderr: dict[int, SpoolIndex] = field(default_factory=dict)
    _sizes: dict[int | None, int] = field(default_factory=dict)
    """Known sizes; the index follows."""
    _growth: list[Growth] = field(default_factory=list)
    """Moments not yet turned into pieces."""
    _pieces: list[_Piece] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    """First row of each piece."""
    _placed: dict[int | None, int] = field(default_factory=dict)
    """Lines of each stream that are in pieces."""
    _lost: set[int | None] = field(default_factory=set)

    @property
    def lost(self) -> str | None:
        """The file of a stream that is gone or shorter than it was; None when all is there."""
        return next((self._index(stage).path for stage in self._streams() if stage in self._lost), None)

    @property
    def total(self) -> int:
        """Rows that can be shown now."""
        return self._placed_rows() + sum(self._waiting(stage) for stage in self._streams())

    @property
    def complete(self) -> bool:
        """Whether everything known is indexed, as far as it is there."""
        return all(stage in self._lost or self._index(stage).size >= size for stage, size in self._sizes.items())

    def grew(self, stage: int | None, path: str, size: int) -> None:
        """A stream has this size now."""
        if stage is not None and stage not in self.stderr:
            self.stderr[stage] = SpoolIndex(path)
        if size <= self._sizes.get(stage, 0):
            return
        self._sizes[stage] = size
        if self.stderr:
            self._growth.append(self._moment())

    def replay(self, index_file: Path) -> None:
        """Take the order of growth from `cmd-N.idx`; lines that make no sense are left out."""
        try:
            lines = index_file.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return
        self._growth = [moment for line in lines if (moment := _moment(line)) is not None and moment.stderr] + self._growth

    def advance(self, budget: int) -> bool:
        """Index some more bytes; False when all that is known and there is indexed and placed."""
        more = False
        self._lost.clear()
        for stage, size in self._sizes.items():
            index = self._index(stage)
            if index.size < size and (more := index.extend(size, budget)):
                break
            if index.size < size:
                self._lost.add(stage)
        while self._growth and self._covers(self._growth[0]):
            self._place(self._growth.pop(0))
        return more

    def read(self, first: int, count: int, clip: int = CLIP) -> list[Row]:
        """Rows `first` to `first + count - 1`, as many as there are, `clip` bytes of each and its end."""
        rows: list[Row] = []
        while len(rows) < count and (piece := self._piece_at(first + len(rows))) is not None:
            stage, line, left = piece
            found = self._index(stage).read(line, min(left, count - len(rows)), clip)
            if not found:
                break
            rows += [Row(stage, line + offset, raw) for offset, raw in enumerate(found)]
        return rows

    def row_of(self, line: int, stage: int | None = None) -> int:
        """The row on which a line of stdout, or of a stage's stderr, stands."""
        for start, piece in zip(self._starts, self._pieces, strict=True):
            if piece.stage == stage and piece.first <= line < piece.first + piece.count:
                return start + line - piece.first
        streams = self._streams()
        before = sum(self._waiting(other) for other in streams[: streams.index(stage)])
        return self._placed_rows() + before + max(0, line - self._placed.get(stage, 0))

    def lines_before(self, row: int, stage: int | None) -> int:
        """How many lines of a stream stand above a row."""
        inside = row - self._placed_rows()
        if inside <= 0:
            for at in range(bisect_left(self._starts, row) - 1, -1, -1):
                piece = self._pieces[at]
                if piece.stage == stage:
                    return piece.first + min(piece.count, row - self._starts[at])
            return 0
        for other in self._streams():
            waiting = self._waiting(other)
            if other == stage:
                return self._placed.get(stage, 0) + min(max(0, inside), waiting)
            inside -= waiting
        return 0

    def covers(self, line: int, stage: int | None) -> bool:
        """Whether a line is indexed."""
        return line < self._index(stage).lines

    def sizes(self) -> list[tuple[int | None, str, int]]:
        """Stage, path and bytes of every stream."""
        return [(stage, self._index(stage).path, self._sizes.get(stage, 0)) for stage in self._streams()]

    def _streams(self) -> list[int | None]:
        return [None, *sorted(self.stderr)]

    def _index(self, stage: int | None) -> SpoolIndex:
        return self.stdout if stage is None else self.stderr[stage]

    def _waiting(self, stage: int | None) -> int:
        return max(0, self._index(stage).lines - self._placed.get(stage, 0))

    def _placed_rows(self) -> int:
        return self._starts[-1] + self._pieces[-1].count if self._pieces else 0

    def _moment(self) -> Growth:
        stderr = tuple((stage, size) for stage, size in self._sizes.items() if stage is not None)
        return Growth(self._sizes.get(None, 0), stderr)

    def _covers(self, moment: Growth) -> bool:
        known = [(None, moment.stdout), *moment.stderr]
        return all(self._index(stage).size >= size for stage, size in known if stage is None or stage in self.stderr)

    def _place(self, moment: Growth) -> None:
        known: list[tuple[int | None, int]] = [(None, moment.stdout), *moment.stderr]
        for stage, size in known:
            if stage is None or stage in self.stderr:
                self._append(stage, self._index(stage).line_of(size))

    def _append(self, stage: int | None, line: int) -> None:
        first = self._placed.get(stage, 0)
        if line <= first:
            return
        self._placed[stage] = line
        if self._pieces and self._pieces[-1].stage == stage:
            self._pieces[-1].count += line - first
            return
        self._starts.append(self._placed_rows())
        self._pieces.append(_Piece(stage, first, line - first))

    def _piece_at(self, row: int) -> tuple[int | None, int, int] | None:
        """Stream and line of a row, and how many lines of the same stream follow from there; None behind the end."""
        at = bisect_right(self._starts, row) - 1
        if at >= 0 and (inside := row - self._starts[at]) < self._pieces[at].count:
            piece = self._pieces[at]
            return piece.stage, piece.first + inside, piece.count - inside
        row -= self._placed_rows()
        for stage in self._streams():
            waiting = self._waiting(stage)
            if row < waiting:
                return stage, self._placed.get(stage, 0) + row, waiting - row
            row -= waiting
        return None


def _moment(line: str) -> Growth | None:
    """`SECONDS STDOUT STAGE:SIZE...`; None when it is not that."""
    words = line.split()
    try:
        pairs = [word.split(":") for word in words[2:]]
        return Growth(int(words[1]), tuple((int(stage), int(size)) for stage, size in pairs))
    except (ValueError, IndexError):
        return None
