"""Encoded pictures in, pictures that every provider takes out: the child process of picture.py, and the one user of Pillow.

What is whole, still and small enough stays byte for byte; the rest becomes a PNG or a JPEG. Declared sizes are checked
before decoding. stdin: the file. stdout: an AnswerHead as a line of JSON, then the bytes of the picture.
"""

from __future__ import annotations

import io
import re
import resource
import struct
import sys
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress

import msgspec
from PIL import Image, ImageOps, UnidentifiedImageError

from agentclip.commands.kinds import CONVERTED_TYPES, SENT_TYPES
from agentclip.commands.picture import MAX_PIXELS, MAX_SENT_BYTES, AnswerHead, Picture
from agentclip.errors import CommandError, ErrorCode

_MAX_MEMORY = 3 * 1024**3
"""Bytes of address space. A picture of MAX_PIXELS takes a third of it."""

_MAX_CPU_S = 60
"""Seconds of work."""

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", *CONVERTED_TYPES.values())

_PLAIN_MODES = ("L", "LA", "RGB", "RGBA")
"""What can be scaled smoothly and written as PNG."""

_DECODER_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
)
"""What decoders let out on broken files: each of Pillow's plug-ins its own."""


def main() -> None:
    """Do one picture."""
    _limit()
    mime, max_side = sys.argv[1:]
    try:
        picture = fit(sys.stdin.buffer.read(), mime, int(max_side))
        head, data = AnswerHead(picture.mime, picture.width, picture.height, picture.notes), picture.data
    except CommandError as error:
        head, data = AnswerHead(error=error.message), b""
    sys.stdout.buffer.write(msgspec.json.encode(head) + b"\n" + data)


def fit(data: bytes, mime: str, max_side: int) -> Picture:
    """The picture with no side longer than `max_side` pixels.

    Raises CommandError, its message to follow the picture's name, when it is broken or too large.
    """
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            return _fitted(image, data, mime, max_side)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        (pixels,) = re.findall(r"\((\d+) pixels\)", str(error))
        message = f"has {int(pixels):,} pixels, allowed: {MAX_PIXELS:,}"
        raise CommandError(message, code=ErrorCode.NOT_AN_IMAGE) from error
    except UnidentifiedImageError as error:
        raise CommandError(f"is damaged or cut off ({mime}, {len(data)} bytes)", code=ErrorCode.NOT_AN_IMAGE) from error
    except _DECODER_ERRORS as error:
        raise CommandError(f"is damaged or cut off ({mime}: {error})", code=ErrorCode.NOT_AN_IMAGE) from error


def _limit() -> None:
    """What holds for the whole process: Pillow's limit at its number and not at twice that, and the system's own limits.

    Pillow checks when it opens a file, before it decodes, and pictures within pictures too (a PNG in an ICO).
    """
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    for kind, limit in ((resource.RLIMIT_AS, _MAX_MEMORY), (resource.RLIMIT_CPU, _MAX_CPU_S), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):  # a lower limit holds already, or the system knows none
            resource.setrlimit(kind, (limit, limit))


def _fitted(image: Image.Image, data: bytes, mime: str, max_side: int) -> Picture:
    size, frames = image.size, _frames(image, mime)
    image.draft(None, (max_side * 2, max_side * 2))
    image.load()
    if mime in SENT_TYPES and frames == 1 and max(size) <= max_side and len(data) <= MAX_SENT_BYTES and _ends_well(data, mime):
        return Picture(data, mime, *size)
    scaled = _plain(_upright(image))
    scaled.thumbnail((max_side, max_side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    encoded, sent_mime, scaled = _encoded(scaled, mime)
    notes = []
    if mime in CONVERTED_TYPES:
        notes.append(f"converted from {CONVERTED_TYPES[mime]}")
    if frames > 1:
        notes.append(f"first frame of {frames}")
    if max(scaled.size) < max(size):
        notes.append(f"scaled from {size[0]}x{size[1]}")
    return Picture(encoded, sent_mime, *scaled.size, tuple(notes or ["encoded anew"]))


def _frames(image: Image.Image, mime: str) -> int:
    """How many frames or pages there are. The extra pictures of a phone's JPEG are no frames."""
    return 1 if mime == "image/jpeg" else int(getattr(image, "n_frames", 1))


def _ends_well(data: bytes, mime: str) -> bool:
    """Whether the file ends where its format says: what Pillow forgives, a provider may refuse for ever."""
    match mime:
        case "image/png":
            return data.endswith(b"\0\0\0\0IEND\xaeB`\x82")
        case "image/jpeg":
            return data.endswith(b"\xff\xd9")
        case "image/gif":
            return data.endswith(b"\x3b")
        case _:
            return int.from_bytes(data[4:8], "little") + 8 == len(data)


def _upright(image: Image.Image) -> Image.Image:
    """Turned as its EXIF says; as it is when the EXIF is broken."""
    with suppress(*_DECODER_ERRORS):
        return ImageOps.exif_transpose(image)
    return image


def _plain(image: Image.Image) -> Image.Image:
    """In 8 bits per channel, without a palette."""
    if image.mode in _PLAIN_MODES:
        return image
    if image.mode.startswith("I"):  # 16 bits per pixel; Pillow's own conversion would clip them to white
        return image.convert("I").point(lambda value: value / 256).convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _encoded(image: Image.Image, mime: str) -> tuple[bytes, str, Image.Image]:
    """The bytes, their type, and the picture they hold: halved until it is small enough to be sent."""
    while True:
        for data, encoded_mime in _encodings(image, mime):
            if len(data) <= MAX_SENT_BYTES:
                return data, encoded_mime, image
        image = image.resize((max(1, image.width // 2), max(1, image.height // 2)), Image.Resampling.LANCZOS)


def _encodings(image: Image.Image, mime: str) -> Iterator[tuple[bytes, str]]:
    """The best encoding first; what came as JPEG gains nothing by becoming a PNG."""
    if mime != "image/jpeg":
        yield _saved(image, "PNG"), "image/png"
    flat = _flattened(image)
    yield _saved(flat, "JPEG", quality=85), "image/jpeg"
    yield _saved(flat, "JPEG", quality=60), "image/jpeg"


def _flattened(image: Image.Image) -> Image.Image:
    """Without transparency, on white: JPEG has none."""
    if "A" not in image.mode:
        return image
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image.convert("RGBA"))
    return ground.convert("RGB")


def _saved(image: Image.Image, kind: str, **options: int) -> bytes:
    target = io.BytesIO()
    image.save(target, kind, **options)
    return target.getvalue()


if __name__ == "__main__":
    main()
