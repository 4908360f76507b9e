"""A model that writes the same again and again: its text comes in as it streams; what repeats goes out. Pure.

Lines are judged by their content: list marks and numbers in front do not count, nor does how much white space there is. So a
list of different items is none, the same item under new numbers is one, and a fence around it changes nothing.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

REPEATS = 10
MAX_UNIT_CHARS = 2000
MIN_UNIT_WORD_CHARS = 12
"""Letters, digits and ideographs in a unit that counts at once."""
MIN_RUN_CHARS = 400
"""A shorter unit with letters must fill so much; `NULL, NULL, NULL` in code does not."""
MIN_EMPTY_RUN_CHARS = 4000
"""A unit without letters, zeros or a ruler, must fill so much."""
_LOOK_EVERY_CHARS = 400
_TAIL_CHARS = REPEATS * MAX_UNIT_CHARS + MAX_UNIT_CHARS
_SHORT_LINE = 60
_PROBE_CHARS = 8

_MARK = re.compile(r"^\s*(?:[-*+•·‣>]|#{1,6}|\(?\d{1,4}[.):\u3001\uff0e]|\(?[a-zA-Z][.)]|\[[ xX]?\])\s*")
_SPACE = re.compile(r"\s+")
_LETTER = re.compile(r"[^\W\d_]")
_WORD_CHAR = re.compile(r"\w")


class Repetition(Struct):
    """Watches one text while it grows."""

    _lines: list[str] = field(default_factory=list)
    """Whole lines, normalised, as many as the tail needs."""
    _size: int = 0
    _open: str = ""
    """The line that is not finished."""
    _unseen: int = 0

    def feed(self, text: str) -> str | None:
        """Take more text; the unit that repeats at the end, or None."""
        *whole, rest = (self._open + text).split("\n")
        for line in whole:
            self._add(line)
        self._open = rest
        self._unseen += len(text)
        if self._unseen < _LOOK_EVERY_CHARS:
            return None
        return self.look()

    def look(self) -> str | None:
        """The unit that repeats at the end now."""
        self._unseen = 0
        last = self._open if len(self._open) > _SHORT_LINE else ""
        return repeating_unit("".join(self._lines) + normal_line(last).rstrip("\n"))

    def _add(self, line: str) -> None:
        normal = normal_line(line)
        self._lines.append(normal)
        self._size += len(normal)
        while self._size - len(self._lines[0]) > _TAIL_CHARS:
            self._size -= len(self._lines.pop(0))


def normal_line(line: str) -> str:
    """A line by its content; empty for a blank one."""
    text = _SPACE.sub(" ", _MARK.sub("", line)).strip()
    return text + "\n" if text else ""


def repeating_unit(text: str) -> str | None:
    """The shortest unit that fills the end of the text often enough, or None."""
    tail = text[-_TAIL_CHARS:][::-1]
    if len(tail) < REPEATS or tail.count(tail[:_PROBE_CHARS]) < REPEATS - 1:
        return None  # the cheap look: what stands at the end stands there often
    # The border of each prefix of the reversed tail (Knuth, Morris, Pratt) gives the period of each suffix of the tail.
    borders = [0] * (len(tail) + 1)
    border = 0
    for end in range(1, len(tail)):
        while border and tail[end] != tail[border]:
            border = borders[border]
        border += tail[end] == tail[border]
        borders[end + 1] = border
        period = end + 1 - border
        # One more: the white space at the very end was taken away.
        if end + 2 >= REPEATS * period and period <= MAX_UNIT_CHARS and _counts(tail[:period], end + 1):
            return tail[:period][::-1].strip()
    return None


def _counts(unit: str, run: int) -> bool:
    if run >= MIN_EMPTY_RUN_CHARS:
        return True
    if len(set(_LETTER.findall(unit))) < 3:
        return False
    wide = sum(ord(char) > 0x2E80 for char in unit)
    return len(_WORD_CHAR.findall(unit)) + 2 * wide >= MIN_UNIT_WORD_CHARS or run >= MIN_RUN_CHARS


def first_of(text: str, unit: str) -> str:
    """A text that ends in repetitions, up to and with the first of them."""
    first_line = unit.split("\n", maxsplit=1)[0].strip()
    start = text.find(first_line)
    if start < 0:
        return text[:MAX_UNIT_CHARS]
    return text[: start + max(len(first_line), len(unit) + unit.count("\n") * 4)]
