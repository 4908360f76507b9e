"""Foreign text (commands, files, models, the network, names) without characters that act on a terminal.

In: any string or raw bytes. Out: text in which whatever could act is a visible mark.

Must not know: colours, widgets, terminals.
"""

from __future__ import annotations

import re

_ACTING = (
    "\x00-\x08\x0a-\x1f\x7f-\x9f"  # C0 but tab, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the order of text around
    "\u2028\u2029\ufff9-\ufffb\U000e0001"
    "\ud800-\udfff"  # lone surrogates, among them undecodable bytes kept by surrogateescape
)
FOREIGN = re.compile(f"[{_ACTING}]")
FOREIGN_RUN = re.compile(f"([{_ACTING}]+)")
FOREIGN_OR_TAB = re.compile(f"[\t{_ACTING}]")


def mark(character: str) -> str:
    """How a character that may not reach the terminal is shown."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if code < 0x100:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text with marks for whatever would act on a terminal; tabs are kept."""
    if FOREIGN.search(text) is None:
        return text
    return FOREIGN.sub(lambda match: mark(match.group()), text)


def one_line(text: str, limit: int = 4096) -> str:
    """The text on a single line without tabs: for titles, names, commands in a row."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return visible(cut.replace("\r\n", "\n").replace("\n", " ⏎ ").replace("\t", " "))


def decode(data: bytes) -> str:
    """Raw bytes as text; bytes that are no UTF-8 stay lone surrogates, which `mark` shows by their value."""
    return data.decode("utf-8", "surrogateescape")
