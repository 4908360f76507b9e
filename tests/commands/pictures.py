"""Picture files made without any library (recipe P1 of the cases), and real ones made by Pillow."""

from __future__ import annotations

import io
import struct
import zlib
from functools import cache

from PIL import Image


@cache
def png(width: int, height: int, depth: int = 8, colour: int = 2, fill: int = 0) -> bytes:
    bits = {0: 1, 2: 3, 6: 4}[colour] * depth
    row = b"\0" + bytes([fill]) * ((width * bits + 7) // 8)
    packer = zlib.compressobj(1)
    data = b"".join([packer.compress(row) for _ in range(height)]) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def ico(picture: bytes, width: int = 4, height: int = 3) -> bytes:
    entry = struct.pack("<BBBBHHII", width, height, 0, 0, 1, 32, len(picture), 22)
    return struct.pack("<HHH", 0, 1, 1) + entry + picture


_GIF = b"GIF89a" + struct.pack("<HH", 2, 2) + b"\x80\0\0" + b"\0\0\0\xff\xff\xff"
_GIF_FRAME = b"\x21\xf9\x04\x00\x0a\x00\x00\x00" + b"\x2c" + struct.pack("<HHHH", 0, 0, 2, 2) + b"\0\x02\x03\x44\x02\x05\x00"

STILL_GIF = _GIF + _GIF_FRAME + b"\x3b"
ANIMATED_GIF = _GIF + _GIF_FRAME + _GIF_FRAME + b"\x3b"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="red"/></svg>\n'


def encoded(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: object) -> bytes:
    """A real file of any format Pillow writes."""
    target = io.BytesIO()
    Image.new(mode, size).save(target, kind, **options)
    return target.getvalue()


@cache
def noise(width: int, height: int, kind: str = "PNG") -> bytes:
    """A picture that does not compress."""
    channels = [Image.effect_noise((width, height), 120) for _ in range(3)]
    target = io.BytesIO()
    Image.merge("RGB", channels).save(target, kind, quality=95)
    return target.getvalue()
