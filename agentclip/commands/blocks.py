"""Old/new blocks, as `edit` reads them from standard input: bytes come in, replacements go out. Pure.

The form is that of conflict markers, which models write without mistakes. A marker has seven signs or more; a block that is
opened with more ends with as many, so that text holding seven of them can be edited as well.
"""

from __future__ import annotations

import re

from msgspec import Struct

from agentclip.errors import CommandError, ErrorCode, one_line

_OPENING = re.compile(rb"(<{7,})(?: [^\r\n]*)?\r?\n?")

_SHOWN = 80
"""Characters of a stray line that its error repeats."""


class Replacement(Struct, frozen=True):
    """One old text and what it becomes."""

    old: bytes
    """Never empty."""
    new: bytes
    """Empty to delete."""
    whole_lines: bool = False
    """The old text begins where a line begins; both texts end where one ends."""


def read_blocks_of(data: bytes) -> tuple[Replacement, ...]:
    """The blocks of a text, at least one. Raises CommandError naming the line where the form is broken."""
    lines = [line + b"\n" for line in data.split(b"\n")]  # a lone CR ends no line
    blocks: list[Replacement] = []
    position = 0
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        opening = _OPENING.fullmatch(lines[position])
        if opening is None:
            raise _fault(position, f"is in no block: {_shown(lines[position])}")
        signs = len(opening[1])
        middle = _find(lines, position + 1, b"=" * signs)
        if middle is None:
            raise _fault(position, f"opens a block without a line {'=' * signs}")
        end = _find(lines, middle + 1, b">" * signs)
        if end is None:
            raise _fault(position, f"opens a block without a line {'>' * signs} NEW")
        old, new = b"".join(lines[position + 1 : middle]), b"".join(lines[middle + 1 : end])
        if not old:
            raise _fault(position, "opens a block without an old text (to make a file, use write)")
        blocks.append(Replacement(old, new, whole_lines=True))
        position = end + 1
    if not blocks:
        raise CommandError("standard input holds no block", hint="edit --help", code=ErrorCode.MISSING_ARGUMENT)
    return tuple(blocks)


def _find(lines: list[bytes], start: int, marker: bytes) -> int | None:
    """The next line that is the marker, with or without a word after it."""
    for position in range(start, len(lines)):
        line = lines[position].rstrip(b"\r\n")
        if line == marker or line.startswith(marker + b" "):
            return position
    return None


def _fault(position: int, what: str) -> CommandError:
    return CommandError(f"line {position + 1} of stdin {what}", hint="edit --help", code=ErrorCode.INVALID_VALUE)


def _shown(line: bytes) -> str:
    text = one_line(line.decode("utf-8", "replace").strip())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
