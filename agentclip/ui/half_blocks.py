"""Pictures in a terminal that knows none: two pixels to a cell, as half blocks. A file comes in, rows of segments go out."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from agentclip.ui.wrap import Row

UPPER = "▀"
MOST_PIXELS = 40_000_000
"""A picture that declares more is not decoded: `see` stores none."""


@lru_cache(maxsize=16)
def picture_rows(path: str, columns: int, most_rows: int) -> tuple[Row, ...]:
    """The picture, as large as it may be and no larger than it is; nothing when it cannot be read."""
    from PIL import Image  # noqa: PLC0415  registered deferred import

    try:
        with Image.open(path) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                return ()
            scale = min(1.0, columns / picture.width, most_rows * 2 / picture.height)
            size = (max(1, int(picture.width * scale)), max(1, int(picture.height * scale)))
            picture.draft("RGB", size)
            small = picture.convert("RGBA").resize(size)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return ()
    flat = Image.new("RGBA", small.size, (0, 0, 0, 255))
    flat.alpha_composite(small)
    return tuple(
        _row(flat.convert("RGB").crop((0, top, small.width, top + 2)).tobytes(), small.width)
        for top in range(0, small.height, 2)
    )


def _row(pixels: bytes, width: int) -> Row:
    """Two lines of RGB pixels as one row; equal neighbours share a segment."""
    row: Row = []
    last: bytes | None = None
    for at in range(0, width * 3, 3):
        pair = pixels[at : at + 3] + pixels[width * 3 + at : width * 3 + at + 3]
        if pair == last:
            row[-1] = Segment(row[-1].text + UPPER, row[-1].style)
        else:
            row.append(Segment(UPPER, Style(color=_color(pair[:3]), bgcolor=_color(pair[3:]))))
            last = pair
    return row


def _color(pixel: bytes) -> Color:
    return Color.from_rgb(*pixel)
