"""What texts cost the model's context: bytes, and tokens by a rule of thumb. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, to_builtins


class Size(Struct, frozen=True):
    """Of one text."""

    bytes: int
    tokens: int
    """Estimated: one for four ASCII characters, one for any other. Real tokenizers differ by a third either way."""


def size_of(data: bytes) -> Size:
    """The size of UTF-8 text; bytes that are none count as one character each."""
    text = data.decode("utf-8", "replace")
    ascii_characters = sum(map(str.isascii, text))
    return Size(len(data), -(-ascii_characters // 4) + len(text) - ascii_characters)


def table(rows: Mapping[str, Size]) -> str:
    """For people."""
    width = max(map(len, rows))
    lines = [f"{'':<{width}}  {'bytes':>10}  {'tokens (estimated)':>18}"]
    lines += [f"{name:<{width}}  {size.bytes:>10,}  {size.tokens:>18,}" for name, size in rows.items()]
    return "\n".join(lines)


def as_document(rows: Mapping[str, Size]) -> dict[str, object]:
    """For programs."""
    return {name.replace(" ", "_"): to_builtins(size) for name, size in rows.items()}
