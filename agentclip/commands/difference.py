"""A unified diff of a file whose changed places are known: bytes come in, bounded lines of bytes go out. Pure.

Only the lines around the places are compared, so that a file of any size costs nothing.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct

from agentclip.commands.replacing import Span, replaced

CONTEXT = 3
"""Unchanged lines around a change."""

MAX_LINES = 150
"""Lines of a diff; what is beyond is not shown."""

_COMPARED_LINES = 1000
"""A larger part is shown as removed and added, since comparing costs its square."""

_NO_END = b"\\ No newline at end of file\n"


class Diff(Struct, frozen=True):
    """A diff as it is printed."""

    lines: tuple[bytes, ...]
    """With their line ends."""
    is_cut: bool
    """There are more lines than are shown."""


def unified_diff(data: bytes, spans: Sequence[Span], name: str) -> Diff:
    """What `spans` change in `data`, with `name` in the head."""
    label = name.encode("utf-8", "backslashreplace")
    lines = [b"--- " + label + b"\n", b"+++ " + label + b"\n"]
    starts = _line_starts(data)
    shown = _first(starts, spans)
    shift = 0
    for group in _groups(starts, shown):
        goes_on = group[-1] is not spans[-1] and group[-1] is shown[-1]
        first, last = _reach(starts, group, 0 if goes_on else CONTEXT)
        old = data[starts[first] : starts[last] if last < len(starts) else len(data)]
        moved = [Span(span.start - starts[first], span.end - starts[first], span.new) for span in group]
        before, after = _lines(old), _lines(replaced(old, moved))
        lines += _hunks(before, after, first, first + shift)
        shift += len(after) - len(before)
    return Diff(tuple(lines[:MAX_LINES]), len(lines) > MAX_LINES or len(shown) < len(spans))


def _first(starts: Sequence[int], spans: Sequence[Span]) -> Sequence[Span]:
    """As many as can be shown: so many changed lines fill a diff, so the place where it stops is cut off."""
    lines: set[int] = set()
    for count, span in enumerate(spans):
        lines.add(_line(starts, span.start))
        if len(lines) > MAX_LINES:
            return spans[:count]
    return spans


def _groups(starts: Sequence[int], spans: Sequence[Span]) -> Iterator[list[Span]]:
    """Spans whose surroundings touch belong together."""
    group: list[Span] = []
    for span in spans:
        if group and _line(starts, span.start) - _line(starts, group[-1].end) > 2 * CONTEXT:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _reach(starts: Sequence[int], group: Sequence[Span], after: int) -> tuple[int, int]:
    """0-based first line and the one after the last, with the lines before and so many after.

    None after a group that is not all there: what follows has changed as well.
    """
    last = max(group[-1].start, group[-1].end - 1)
    return max(0, _line(starts, group[0].start) - CONTEXT), _line(starts, last) + after + 1


def _hunks(before: list[bytes], after: list[bytes], old_start: int, new_start: int) -> Iterator[bytes]:
    if len(before) > _COMPARED_LINES or len(after) > _COMPARED_LINES:
        groups = [[("replace", 0, len(before), 0, len(after))]]
    else:
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        groups = [list(group) for group in matcher.get_grouped_opcodes(CONTEXT)]
    for group in groups:
        old = _range(old_start + group[0][1], group[-1][2] - group[0][1])
        new = _range(new_start + group[0][3], group[-1][4] - group[0][3])
        yield f"@@ -{old} +{new} @@\n".encode()
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from _signed(b" ", before[i1:i2])
                continue
            yield from _signed(b"-", before[i1:i2])
            yield from _signed(b"+", after[j1:j2])


def _signed(sign: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield sign + line if line.endswith(b"\n") else sign + line + b"\n" + _NO_END


def _range(start: int, length: int) -> str:
    """As `diff -u` writes it: an empty range names the line before."""
    first = start + 1 if length else start
    return str(first) if length == 1 else f"{first},{length}"


def _line_starts(data: bytes) -> list[int]:
    starts, position = [0], data.find(b"\n")
    while position >= 0:
        starts.append(position + 1)
        position = data.find(b"\n", position + 1)
    return starts


def _line(starts: Sequence[int], offset: int) -> int:
    """0-based number of the line that holds the byte."""
    return bisect_right(starts, offset) - 1


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only LF ends one, as for `diff`."""
    starts = _line_starts(data)
    return [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True) if start < end]
