"""What the terminal sends, cleaned before it is parsed as keys. Pure: bytes in, keys and pastes out.

A paste with marks is taken whole, whatever it contains. A burst without marks (a terminal that knows no bracketed paste) is a
paste too: its line ends stay line ends; only after a single line one is Enter. Bytes that are no UTF-8, torn mouse reports and
the terminal's answer about its background never become text, however torn.
"""

from __future__ import annotations

import codecs
import re

from msgspec import Struct

from agentclip.ui.background import beginning_of_answer, take_answers

START, END = "\x1b[200~", "\x1b[201~"
BURST = 128
"""Characters in one go that nobody types."""
_TORN_MOUSE = re.compile(r"(?<!\x1b)\[<\d{1,4};\d{1,5};\d{1,5}[Mm]")
_BEGUN = re.compile(r"\x1b\[(?:<|\d)[\d;]*\Z")
"""A report or a key whose end has not come: nobody types that."""
TORN_S = 2.0
"""After so long its end is lost."""
_ALT_ENTER = re.compile(r"\x1b[\r\n]")


class Pasted(Struct, frozen=True):
    """Text to be put into the prompt as it is."""

    text: str


class Background(Struct, frozen=True):
    """What the terminal says of its own background."""

    dark: bool


Piece = str | Pasted | Background
QUIET_S = 0.1
"""After so long a lone Esc was a key, even while an answer is expected."""
NEXT_ANSWER = "\x1b[?2026;"
"""The answer to what is asked next: terminals answer in order."""
PATIENCE_S = 10.0
"""A terminal that has not answered by then never will."""


class Intake:
    """Keeps what is not complete yet."""

    def __init__(self, *, expecting: bool = False) -> None:
        """`expecting`: the terminal was asked about its background."""
        self._expecting = expecting
        self._escape_gone = False
        """A lone Esc was let go while an answer is expected: it may have been the answer's first byte."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._paste: list[str] | None = None
        """Parts of an open paste; None outside of one."""
        self._held = ""

    def feed(self, data: bytes) -> list[Piece]:
        """Keys as text for the parser, and pastes."""
        text = self._held + self._decoder.decode(data)
        self._held = ""
        found: list[Piece] = []
        while text:
            if self._paste is None:
                before, mark, text = text.partition(START)
                if mark:
                    self._paste = []
                else:
                    before, self._held = self._hold_back(before)
                found += self._keys(before)
            else:
                inside, mark, text = text.partition(END)
                if not mark:
                    inside, self._held = _hold_back(inside, END, 1)
                self._paste.append(inside)
                if mark:
                    found.append(Pasted("".join(self._paste).replace("\x00", "")))
                    self._paste = None
        return found

    def nothing_came(self, for_s: float) -> list[Piece]:
        """Let go what was held for an answer that does not come."""
        if for_s >= PATIENCE_S and self._expecting:
            self._expecting = self._escape_gone = False
            held, self._held = self._held, ""
            return self._keys(held) if held in {"\x1b", "]"} else []
        if for_s >= QUIET_S and self._held == "\x1b":
            self._held = ""
            self._escape_gone = True
            return ["\x1b"]
        if for_s >= TORN_S and _BEGUN.match(self._held) and not START.startswith(self._held):
            self._held = ""
        return []

    def _hold_back(self, text: str) -> tuple[str, str]:
        length = beginning_of_answer(text, expected=self._expecting, escape_gone=self._escape_gone)
        if not length and (begun := _BEGUN.search(text)):
            length = len(begun[0])
        return (text[:-length], text[-length:]) if length else _hold_back(text, START, 4)

    def _keys(self, text: str) -> list[Piece]:
        text, dark = take_answers(text)
        if dark is not None or NEXT_ANSWER in text:
            self._expecting = self._escape_gone = False
        told: list[Piece] = [] if dark is None else [Background(dark)]
        return [*told, *_keys(text)]


def _hold_back(text: str, mark: str, shortest: int) -> tuple[str, str]:
    """Split off an end that may be the beginning of a mark."""
    for length in range(len(mark) - 1, shortest - 1, -1):
        if text.endswith(mark[:length]):
            return text[:-length], text[-length:]
    return text, ""


def _keys(text: str) -> list[str | Pasted]:
    if not text:
        return []
    if len(text) >= BURST and "\x1b" not in text:
        body = text.removesuffix("\r")
        single = body != text and "\r" not in body
        return [Pasted(body), "\r"] if single else [Pasted(text)]
    return [_ALT_ENTER.sub("\x1b[13;3u", _TORN_MOUSE.sub("", text).replace("\ufffd", ""))]
