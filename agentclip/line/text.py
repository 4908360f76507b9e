"""Lines as the line mode shows them: pieces of text with the name of their colour. Values and pure functions."""

from __future__ import annotations

import unicodedata

from agentclip.foreign import visible

Piece = tuple[str, str]
"""The name of a colour, empty for none, and text without control characters."""
Line = tuple[Piece, ...]
TAB = 8


def line(text: str, ink: str = "") -> Line:
    """Foreign text as one line."""
    return ((ink, safe(text)),)


def lines(text: str, ink: str = "") -> list[Line]:
    """Foreign text of several lines."""
    return [line(each, ink) for each in text.split("\n")]


def safe(text: str) -> str:
    """The text without anything that acts on a terminal; tabs become blanks."""
    return visible(text.expandtabs(TAB))


def plain(shown: Line) -> str:
    """Without colours."""
    return "".join(text for _, text in shown)


def cells(text: str) -> int:
    """The width on a terminal; never too small, so that nothing is longer than expected."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in {"W", "F"} else 1


def wrapped(text: str, width: int) -> list[str]:
    """The text in pieces of at most `width` cells, cut at blanks where there are any; joined, they are the text again."""
    pieces = []
    while cells(text) > width:
        cut = _cut(text, width)
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text]


def _cut(text: str, width: int) -> int:
    used = 0
    for index, sign in enumerate(text):
        used += _cells(sign)
        if used > width:
            if sign == " ":
                return index + 1
            return text.rfind(" ", 0, index) + 1 or max(1, index)
    return len(text)


def fitted(text: str, width: int) -> str:
    """The text, cut to the width with an ellipsis."""
    if cells(text) <= width:
        return text
    kept = ""
    for sign in text:
        if cells(kept) + _cells(sign) > width - 1:
            break
        kept += sign
    return kept + "…"
