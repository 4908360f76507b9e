"""What the terminal sends, cleaned before it is parsed as keys. Pure: bytes in, keys and pastes out.

A paste with marks is taken whole, whatever it contains. A burst without marks (a terminal that knows no bracketed paste) is a
paste too: its line ends stay line ends; only after a single line one is Enter. Bytes that are no UTF-8 and torn mouse reports
never become text.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

START, END = "\x1b[200~", "\x1b[201~"
BURST = 128
"""Characters in one go that nobody types."""
_TORN_MOUSE = re.compile(r"(?<!\x1b)\[<\d{1,4};\d{1,5};\d{1,5}[Mm]")
_ALT_ENTER = re.compile(r"\x1b[\r\n]")


@dataclass(frozen=True, slots=True)
class Pasted:
    """Text to be put into the prompt as it is."""

    text: str


class Intake:
    """Keeps what is not complete yet."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._paste: list[str] | None = None
        """Parts of an open paste; None outside of one."""
        self._held = ""

    def feed(self, data: bytes) -> list[str | Pasted]:
        """Keys as text for the parser, and pastes."""
        text = self._held + self._decoder.decode(data)
        self._held = ""
        found: list[str | Pasted] = []
        while text:
            if self._paste is None:
                before, mark, text = text.partition(START)
                if mark:
                    self._paste = []
                else:
                    before, self._held = _hold_back(before, START, 4)
                found += _keys(before)
            else:
                inside, mark, text = text.partition(END)
                if not mark:
                    inside, self._held = _hold_back(inside, END, 1)
                self._paste.append(inside)
                if mark:
                    found.append(Pasted("".join(self._paste).replace("\x00", "")))
                    self._paste = None
        return found


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
