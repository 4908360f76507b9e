r"""Terminal text: what a line of output comes to once a terminal has obeyed its controls.

In: one decoded line. Out: the characters left standing: no escape sequence, no C0 but tab, no C1, no DEL, no lone surrogate.
Redraws by `\r` and backspaces write over what stands there, as on a terminal; a cell is one character for `\r` (redraws are
built of the same words) and one column for backspaces. Knows nothing of files, encodings or budgets.
"""

from __future__ import annotations

import re
import unicodedata

# ECMA-48: CSI, then strings up to BEL or ST, then two-character escapes. An unterminated CSI takes at most its parameters
# with it, an unterminated string only its introducer: the text behind it may be data. Possessive quantifiers never go back.
_C1 = "\x80-\x9f"
_PAYLOAD = rf"(?:[^\x07\x1b\n{_C1}]|\x1b\x1b)*+"
_STRING_OPEN = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<parameters>[0-?]{0,64}+)[ -/]{0,8}+(?P<final>[@-~]?)"
    rf"|{_STRING_OPEN}{_PAYLOAD}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{0,8}+[0-~]?"
)
_OPEN_STRING_AT_END = re.compile(rf"{_STRING_OPEN}{_PAYLOAD}\Z")
_SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Shift in and out, bell, form feed and vertical tab belong to terminals; the rest has no place in a text.
_BINARY_CONTROL = re.compile(rf"[\x00-\x06\x10-\x1a\x1c-\x1f\x7f{_C1}]")
_DROPPED_FIRST = re.compile(r"[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f]")
_DROPPED_LAST = re.compile(rf"[\x07\x1b\x7f{_C1}]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

# Stand-ins inside this module for the escapes that erase; the characters themselves are gone from the text by then.
_ERASE_TO_END = "\x00"
_ERASE_LINE = "\x01"
_MOVES = re.compile(r"[\b\r\x00\x01]")
_CELL_MOVES = re.compile(r"([\b\x00\x01])")


def clean_line(line: str, *, open_string: bool = False) -> str:
    """Return what stands on a line after a terminal printed it.

    With `open_string` a string (a title, a picture) that is open at the end goes too: its end lies behind what is given.
    """
    if _SPECIAL.search(line) is None:
        return line
    text = _DROPPED_FIRST.sub("", line.rstrip("\r"))
    if open_string:
        text = _OPEN_STRING_AT_END.sub("", text)
    text = _DROPPED_LAST.sub("", _ESCAPE.sub(_meaning, text))
    text = _SURROGATE.sub("\ufffd", text)
    return _last_state(text) if _MOVES.search(text) else text


def redraws(line: str) -> bool:
    """Whether carriage returns inside the line hide a part of it."""
    return "\r" in line.strip("\r")


def control_share(text: str) -> float:
    """Share of characters that no text has, 0 to 1, once escape sequences are away."""
    if _SPECIAL.search(text) is None:
        return 0.0
    bare = _ESCAPE.sub("", text)
    return len(_BINARY_CONTROL.findall(bare)) / len(bare) if bare else 0.0


def _meaning(escape: re.Match[str]) -> str:
    """Keep of an escape sequence only what decides about the line's last state."""
    final, parameters = escape["final"], escape["parameters"]
    if final == "K" and parameters in {"", "0"}:
        return _ERASE_TO_END
    if final == "K" and parameters == "2":
        return _ERASE_LINE
    if final == "G" and parameters in {"", "0", "1"}:
        return "\r"
    return ""


def _last_state(text: str) -> str:
    """Write the redraws over each other, last one first: what a later one covers need not be looked at."""
    shown = ""
    for redraw in reversed(text.split("\r")):
        moves = _CELL_MOVES.search(redraw) is not None
        if not moves and len(redraw) <= len(shown):
            continue
        line, erased = _written(redraw) if moves else (redraw, False)
        shown += line[len(shown) :]
        if erased:
            break
    return shown


def _written(redraw: str) -> tuple[str, bool]:
    """One redraw with its backspaces and erasures obeyed, and whether it erased what stood on the line before."""
    cells: list[str] = []
    column = 0
    erased = False
    for piece in _CELL_MOVES.split(redraw):
        if piece == "\b":
            column = max(0, column - 1)
        elif piece == _ERASE_TO_END:
            del cells[column:]
            erased = True
        elif piece == _ERASE_LINE:
            cells = [" "] * column
            erased = True
        else:
            column = _write(cells, column, piece)
    line = "".join(cells)
    return (line.rstrip(" "), True) if erased else (line, False)


def _write(cells: list[str], column: int, piece: str) -> int:
    """Put characters into cells from a column on; return the column behind them. A wide character fills two cells."""
    for character in piece:
        if unicodedata.combining(character) and column:
            cells[column - 1] += character
            continue
        wide = unicodedata.east_asian_width(character) in {"W", "F"}
        if column < len(cells) and not cells[column]:
            cells[column - 1] = " "
        cells[column : column + 1 + wide] = [character, ""] if wide else [character]
        column += 1 + wide
        if column < len(cells) and not cells[column]:
            cells[column] = " "
    return column
