"""What became of every raw line, for the screen: shown, changed or cut, and where it stands in the model's text.

In: an excerpt and where its parts stand. Out: a bounded number of ranges without gaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from agentclip.present.line import Line
from agentclip.results import LineFate, LineRange

MAX_RANGES = 300


def shown_ranges(lines: Iterable[Line], first: int, text_line: int) -> list[LineRange]:
    """Ranges of consecutive lines: raw ones from `first` on, in the text from `text_line` on."""
    ranges: list[LineRange] = []
    for offset, line in enumerate(lines):
        number = first + offset
        fate = LineFate.CHANGED if line.changed else LineFate.SHOWN
        if ranges and ranges[-1].fate is fate:
            ranges[-1] = LineRange(ranges[-1].first, number, fate, ranges[-1].text_line)
        else:
            ranges.append(LineRange(number, number, fate, text_line + offset))
    if len(ranges) > MAX_RANGES // 2:
        return [LineRange(first, ranges[-1].last, LineFate.CHANGED, text_line)]
    return ranges


def cut_range(first: int, last: int) -> list[LineRange]:
    """The lines from `first` to `last` that were left out; none when there are none."""
    return [LineRange(first, last, LineFate.CUT)] if first <= last else []


def fit(ranges: list[LineRange], total: int) -> tuple[LineRange, ...]:
    """Make ranges end with the last of `total` raw lines: in UTF-16 a raw line is not quite a line of the text."""
    fitting = [line_range for line_range in ranges if line_range.first < total]
    assert all(before.last + 1 == after.first for before, after in pairwise(fitting))
    if fitting:
        last = fitting[-1]
        fitting[-1] = LineRange(last.first, total - 1, last.fate, last.text_line)
    return tuple(fitting)
