"""Whether the terminal's own background is dark: asked with OSC 11, told in an answer that is never text, else by COLORFGBG.

Pure: text in, yes or no or nothing out.
"""

from __future__ import annotations

import re

QUESTION = "\x1b]11;?\x07"
_HEX = "[0-9a-fA-F]"
_ANSWER = re.compile(rf"\x1b?\]11;rgba?:({_HEX}{{1,4}})/({_HEX}{{1,4}})/({_HEX}{{1,4}})(?:/{_HEX}{{1,4}})?(?:\x07|\x1b\\)")
_TORN = re.compile(rf"(?:\x1b\]11;?r?g?b?a?:?|\]11;rgba?:)(?:{_HEX}|/)*(?:\x07|\x1b\\)?")
_BEGINNING = re.compile(rf"\x1b?(?:\](?:1(?:1(?:;(?:r(?:g(?:b(?:a?(?::(?:{_HEX}|/){{0,24}}\x1b?)?)?)?)?)?)?)?)?)?\Z")
_LONGEST = 48
_SURE = 3
"""Characters of an answer that nobody types."""
_SURE_WITHOUT_ESCAPE = 5
DARK_BELOW = 0.18
"""Relative luminance at which black and white text are read equally well."""


def dark_by_environment(colorfgbg: str) -> bool | None:
    """By `COLORFGBG`, such as `15;0` or `0;default;15`; None when it does not tell."""
    ground = colorfgbg.rpartition(";")[2]
    return int(ground) in {0, 1, 2, 3, 4, 5, 6, 8} if ground.isdecimal() and int(ground) < 16 else None


def take_answers(text: str) -> tuple[str, bool | None]:
    """The text without answers, whole or broken ones, and what the last whole one says of darkness."""
    if "]11" not in text:
        return text, None
    told = None
    for found in _ANSWER.finditer(text):
        red, green, blue = (int(part, 16) * 255 // (16 ** len(part) - 1) for part in found.groups())
        told = luminance(red, green, blue) < DARK_BELOW
    return _TORN.sub("", text), told


def beginning_of_answer(text: str, *, expected: bool, escape_gone: bool = False) -> int:
    """How many characters at the end may be the beginning of an answer; fewer are enough where one is expected."""
    found = _BEGINNING.search(text[-_LONGEST:])
    length = len(found.group()) if found else 0
    if text[len(text) - length : len(text) - length + 1] == "\x1b":
        least = 1 if expected else _SURE
    else:
        least = 1 if expected and escape_gone else _SURE_WITHOUT_ESCAPE
    return length if length >= least else 0


def luminance(red: int, green: int, blue: int) -> float:
    """WCAG's relative luminance of a colour of bytes, 0 for black to 1 for white."""

    def channel(value: int) -> float:
        share = value / 255
        return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)

    return 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue)
