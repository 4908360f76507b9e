"""One raw line made into one shown line: decoded, cleaned, and cut on its own when it is too long.

In: raw bytes of a line and its encoding. Out: a Line. Knows nothing of the lines around it.
"""

from __future__ import annotations

import re
import unicodedata

from msgspec import Struct

from agentclip.present.ansi import clean_line, redraws
from agentclip.present.encoding import UTF8, Verdict, decode
from agentclip.present.scan import RawLine

_ZERO_WIDTH_JOINER = "\u200d"
_LONGEST_CLUSTER = 32
_MARK_BYTES = 32
_REPLACEMENT = "\ufffd"
_EIGHT_BIT_ESCAPE = re.compile(rb"(?<![\x80-\xff])\x9b[0-?]{0,64}[ -/]{0,8}[@-~]")
_STRING_ENDS = (b"\x07", b"\x1b\\", b"\xc2\x9c")


class Line(Struct, frozen=True):
    """One line as it is shown, without line end."""

    text: str
    changed: bool = False
    """Differs from the raw line, its line end aside."""
    shortened: bool = False
    redrawn: bool = False
    """A part of it was hidden by carriage returns."""
    stray: int = 0
    """Places that could not be decoded, shown as U+FFFD."""

    @property
    def size(self) -> int:
        """Bytes that the line takes of a budget, its line end included."""
        return len(self.text.encode()) + 1


class Width(Struct, frozen=True):
    """How long a shown line may be."""

    chars: int
    bytes: int
    """In UTF-8."""


def shown_line(raw: RawLine, verdict: Verdict, width: Width) -> Line:
    """Show a line from its beginning. Of a redrawn line longer than what was kept of it, the end decides."""
    codec = verdict.codec if verdict.codec and not verdict.wide else UTF8
    data = whole = raw.head
    if raw.chars is not None and b"\r" in raw.tail.rstrip(b"\r"):
        data, raw = raw.tail.partition(b"\r")[2], RawLine(raw.tail)
    if raw.chars is None:
        text = _decoded(data, codec)
        clean = clean_line(text)
        length = len(clean)
    else:
        text = decode(data, codec, whole=False, errors="replace") or ""
        clean = clean_line(text, open_string=any(end in raw.tail for end in _STRING_ENDS))
        length = raw.chars - len(text) + len(clean)
    kept = _shorten(clean, length, width)
    return Line(
        kept,
        changed=verdict.wide or kept.encode() != whole.rstrip(b"\r"),
        shortened=kept != clean,
        redrawn=redraws(text),
        stray=text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode()) if codec == UTF8 else text.count(_REPLACEMENT),
    )


def end_of_line(data: bytes, verdict: Verdict, width: Width) -> Line:
    """Show the end of a line whose beginning is out of reach."""
    codec = verdict.codec if verdict.codec and not verdict.wide else UTF8
    text = clean_line(decode(data[-4 * width.chars :], codec, whole=True, errors="ignore") or "")
    kept = text[-width.chars :].encode()[-(width.bytes - _MARK_BYTES) :].decode(errors="ignore")
    return Line(f"... {kept}", changed=True, shortened=True)


def _decoded(data: bytes, codec: str) -> str:
    """Decode a whole line. A stray 0x9b is the eight-bit start of an escape sequence and goes with it."""
    text = data.decode(codec, "replace")
    if codec != UTF8 or _REPLACEMENT not in text or b"\x9b" not in data:
        return text
    return _EIGHT_BIT_ESCAPE.sub(b"", data).decode(codec, "replace")


def _shorten(text: str, length: int, width: Width) -> str:
    """Cut a line whose whole length is `length` characters, between characters as a person sees them."""
    if length <= width.chars and length == len(text) and len(text.encode()) <= width.bytes:
        return text
    fitting = text[: width.chars].encode()[: max(0, width.bytes - _MARK_BYTES)].decode(errors="ignore")
    end = len(fitting)
    for _ in range(_LONGEST_CLUSTER):
        if not 0 < end < len(text) or not _are_joined(text, end):
            break
        end -= 1
    return f"{text[:end]}... [+{length - end:,} chars]"


def _are_joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of a place make one sign together."""
    before, after = text[at - 1], text[at]
    if _ZERO_WIDTH_JOINER in {before, after} or unicodedata.category(after) in {"Mn", "Me", "Mc"}:
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    flags = 0
    while flags < at and _is_flag_half(text[at - 1 - flags]):
        flags += 1
    return _is_flag_half(after) and flags % 2 == 1


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
