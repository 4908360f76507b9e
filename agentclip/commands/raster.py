"""Encoded pictures in, pictures that every provider takes out. The one module of the commands that loads Pillow.

What is whole, still and small enough stays byte for byte; the rest becomes a PNG or a JPEG. Declared sizes are checked
before decoding, since neither a thread nor a decoder can be interrupted.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from PIL import Image, ImageOps, UnidentifiedImageError

from agentclip.commands.kinds import CONVERTED_TYPES, SENT_TYPES
from agentclip.errors import CommandError, ErrorCode

MAX_PIXELS = 100_000_000
"""Declared width x height beyond this is refused before decoding: decoded it would take up to 400 MB."""

MAX_SENT_BYTES = 5 * 1024**2 * 3 // 4
"""Providers count 5 MB after base64, which makes four characters of three bytes."""

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
    AttributeError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
)
"""What decoders let out on broken files: each of Pillow's plug-ins its own."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture ready to be sent."""

    data: bytes
    mime: str
    """One of SENT_TYPES, true of the bytes."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    notes: tuple[str, ...] = ()
    """What was changed, in words."""


def fit(data: bytes, mime: str, max_side: int, stop: Callable[[], None]) -> Picture:
    """The picture with no side longer than `max_side` pixels. `stop` is asked between steps and may raise.

    Raises CommandError, its message to follow the picture's name, when it is broken or too large.
    """
    try:
        image = _opened(data)
        stop()
        return _fitted(image, data, mime, max_side, stop)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise CommandError(f"has more than {MAX_PIXELS:,} pixels", code=ErrorCode.NOT_AN_IMAGE) from error
    except UnidentifiedImageError as error:
        raise CommandError(f"is damaged or cut off ({mime}, {len(data)} bytes)", code=ErrorCode.NOT_AN_IMAGE) from error
    except _DECODER_ERRORS as error:
        raise CommandError(f"is damaged or cut off ({mime}: {error})", code=ErrorCode.NOT_AN_IMAGE) from error


def _opened(data: bytes) -> Image.Image:
    """The picture with its header read and nothing decoded."""
    # Both are of the process, since Pillow offers nothing else. Pillow's own check also covers pictures within pictures
    # (a PNG in an ICO); its warnings would otherwise be printed over the screen.
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    warnings.filterwarnings("ignore", module=r"PIL\.")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    image: Image.Image = Image.open(io.BytesIO(data), formats=_FORMATS)
    if image.width * image.height > MAX_PIXELS:
        raise CommandError(f"is {image.width}x{image.height}, more than {MAX_PIXELS:,} pixels", code=ErrorCode.NOT_AN_IMAGE)
    return image


def _fitted(image: Image.Image, data: bytes, mime: str, max_side: int, stop: Callable[[], None]) -> Picture:
    size, frames = image.size, _frames(image, mime)
    image.draft(None, (max_side * 2, max_side * 2))
    image.load()
    stop()
    if mime in SENT_TYPES and frames == 1 and max(size) <= max_side and len(data) <= MAX_SENT_BYTES and _ends_well(data, mime):
        return Picture(data, mime, *size)
    image = _plain(_upright(image))
    stop()
    image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    stop()
    encoded, sent_mime, image = _encoded(image, mime, stop)
    notes = []
    if mime in CONVERTED_TYPES:
        notes.append(f"converted from {CONVERTED_TYPES[mime]}")
    if frames > 1:
        notes.append(f"first frame of {frames}")
    if max(image.size) < max(size):
        notes.append(f"scaled from {size[0]}x{size[1]}")
    elif not notes:
        notes.append("encoded anew")
    return Picture(encoded, sent_mime, *image.size, tuple(notes))


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


def _encoded(image: Image.Image, mime: str, stop: Callable[[], None]) -> tuple[bytes, str, Image.Image]:
    """The bytes, their type, and the picture they hold: halved until it is small enough to be sent."""
    while True:
        for data, encoded_mime in _encodings(image, mime):
            stop()
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
