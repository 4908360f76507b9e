"""The place of a text that is most like a text which is not in it: for an error that shows what to correct. Pure, bounded."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

_LOOKED_AT = 20_000
"""Lines that are compared one by one when no line is found as it stands."""

_SHOWN_LINES = 16
_SHOWN_CHARACTERS = 160

_LIKE = 0.6
"""How alike a line must be to count: difflib's ratio, or the share of the words that it holds."""

_WORD = re.compile(r"\w+")


class Place(Struct, frozen=True):
    """Some lines of the file, beside the lines that were looked for."""

    line: int
    """1-based."""
    there: tuple[str, ...]
    """The lines of the file, cut where long."""
    wanted: tuple[str, ...]
    only_blanks: bool
    """The two differ in nothing but white space."""

    def compared(self) -> tuple[str, ...]:
        """Both as a small diff: `-` was looked for, `+` is in the file."""
        rows = [row for row in difflib.ndiff(self.wanted, self.there) if not row.startswith("?")]
        left = len(rows) - _SHOWN_LINES
        more = (f"... {left} more lines",) if left > 0 else ()
        rows = [_visible(row) if self.only_blanks and row[0] in "+-" else row for row in rows[:_SHOWN_LINES]]
        return (f"from line {self.line} (- looked for, + in the file):", *rows, *more)


def nearest_place(text: str, wanted: str) -> Place | None:
    """Where `wanted` was probably meant to be; None when nothing is like it."""
    lines, looked_for = text.splitlines(), wanted.splitlines()
    start = _by_equal_lines(lines, looked_for)
    if start is None:
        start = _by_like_line(lines, looked_for)
    if start is None:
        return None
    there = lines[max(0, start) : start + len(looked_for)]
    only_blanks = "".join("".join(there).split()) == "".join(wanted.split())
    return Place(max(0, start) + 1, _cut(there), _cut(looked_for), only_blanks)


def _by_equal_lines(lines: Sequence[str], looked_for: Sequence[str]) -> int | None:
    """The start by which most lines agree but for white space around them."""
    wanted: dict[str, list[int]] = {}
    for index, line in enumerate(looked_for):
        if any(map(str.isalnum, line)):
            wanted.setdefault(_bare(line), []).append(index)
    starts = Counter(
        number - index for number, line in enumerate(lines) for index in wanted.get(_bare(line), ()) if number >= index
    )
    return max(starts, key=lambda start: (starts[start], -start)) if starts else None


def _by_like_line(lines: Sequence[str], looked_for: Sequence[str]) -> int | None:
    """The start by the one line that is most like the longest of those looked for, as a whole or by the words it holds."""
    anchor = max(range(len(looked_for)), key=lambda index: len(looked_for[index].strip()), default=None)
    if anchor is None:
        return None
    wanted = looked_for[anchor].strip()[:_SHOWN_CHARACTERS]
    words = set(_WORD.findall(wanted))
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    best, found = _LIKE, None
    for number, line in enumerate(lines[:_LOOKED_AT]):
        part = line.strip()[:_SHOWN_CHARACTERS]
        shared = len(words.intersection(_WORD.findall(part))) / len(words) if len(words) > 1 else 0.0
        matcher.set_seq1(part)
        alike = matcher.real_quick_ratio() > best and matcher.quick_ratio() > best
        likeness = max(shared, matcher.ratio() if alike else 0.0)
        if likeness > best:
            best, found = likeness, number - anchor
    return found


def _bare(line: str) -> str:
    return " ".join(line.split())


def _visible(row: str) -> str:
    """White space that differs can be seen."""
    return row[:2] + row[2:].replace("\t", "\\t").replace(" ", "\N{MIDDLE DOT}")


def _cut(lines: Sequence[str]) -> tuple[str, ...]:
    kept = (line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}..." for line in lines[: 4 * _SHOWN_LINES])
    return tuple(kept)
