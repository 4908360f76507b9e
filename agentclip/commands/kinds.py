"""What bytes are, told by the bytes and never by a name. Pure."""

from __future__ import annotations

import codecs

HEAD_BYTES = 1 << 16
"""How much of a file its kind is told by."""

SENT_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The pictures that providers take."""

CONVERTED_TYPES = {"image/x-icon": "ICO", "image/bmp": "BMP", "image/tiff": "TIFF", "image/avif": "AVIF"}
"""The pictures that become a PNG first, with the name people call them by."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
)

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def image_type(data: bytes) -> str | None:
    """The MIME type of a picture; None for everything that can neither be sent nor converted."""
    if is_clean_text(data):
        return None
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    return next((mime for magic, mime in _MAGIC if data.startswith(magic)), None)


def is_clean_text(data: bytes) -> bool:
    """UTF-8 without NUL and nearly without controls, by its first bytes; UTF-16 with its mark. Not true of nothing."""
    head = data[:HEAD_BYTES]
    if head.startswith(_BOMS):
        return True
    return bool(head) and not is_binary(head) and _stray_bytes(head) == 0


def is_svg(data: bytes) -> bool:
    """Text that draws a picture."""
    return is_clean_text(data) and b"<svg" in data[:4096].lower()


def is_binary(head: bytes) -> bool:
    """Bytes that Layer 2 would not show: NUL, more than 10 % controls, or more than 5 % that is not UTF-8.

    So text in a legacy encoding counts as binary here, and `cat -b` never answers with what would be refused again.
    """
    return not reads_as_text(head) or _stray_bytes(head) * 20 > len(head)


def reads_as_text(head: bytes) -> bool:
    """Text in some encoding of bytes: no NUL and hardly any controls."""
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return b"\0" not in head and controls * 10 <= len(head)


def _stray_bytes(head: bytes) -> int:
    """Bytes that are not UTF-8; a character cut at the end is none."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    return sum("\udc80" <= character <= "\udcff" for character in decoder.decode(head))
