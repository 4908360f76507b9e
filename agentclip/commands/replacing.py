"""Where old texts stand in a file, and the file with new ones in their places: bytes come in, bytes go out. Pure.

Nothing is decoded, so bytes that are no text stay as they are. Line ends are those of the file.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from agentclip.commands.blocks import Replacement
from agentclip.commands.nearest import nearest_place
from agentclip.errors import CommandError, ErrorCode, ErrorContext

_BOM = codecs.BOM_UTF8

_NAMED = 10
"""Places that an error names when an old text is there more than once."""


class Span(Struct, frozen=True):
    """One place of the file and what comes there."""

    start: int
    end: int
    """Byte offsets."""
    new: bytes


def locate(
    data: bytes, replacements: Sequence[Replacement], *, everywhere: bool, stop: Callable[[], None] = lambda: None
) -> tuple[Span, ...]:
    """The places of all old texts, in the file's order.

    Raises:
        CommandError: one is not there, is there more than once (unless `everywhere`), changes nothing, or touches another.
    """
    spans: list[tuple[Span, int]] = []
    for number, replacement in enumerate(replacements, 1):
        stop()
        name = f"block {number}: the old text" if len(replacements) > 1 else "the old text"
        if replacement.old == replacement.new:
            raise CommandError(f"{name} and the new one are the same", hint="edit --help", code=ErrorCode.INVALID_VALUE)
        found = _places(data, replacement)
        if not found:
            raise _no_match(data, replacement, name)
        if len(found) > 1 and not everywhere:
            raise _several(data, found, name)
        spans.extend((span, number) for span in found)
    spans.sort(key=lambda item: item[0].start)
    for (before, first), (after, second) in pairwise(spans):
        if after.start < before.end:
            what = f"blocks {first} and {second} change the same place, line {_line(data, after.start)}: make them one"
            raise CommandError(what, hint="edit --help", code=ErrorCode.INVALID_VALUE)
    return tuple(span for span, _ in spans)


def replaced(data: bytes, spans: Sequence[Span]) -> bytes:
    """The file with the new texts in their places."""
    parts: list[bytes] = []
    position = 0
    for span in spans:
        parts += (data[position : span.start], span.new)
        position = span.end
    return b"".join((*parts, data[position:]))


def _places(data: bytes, replacement: Replacement) -> list[Span]:
    """All places, found as written or else with other line ends; a last line without an end counts as ended."""
    for old, new in _spellings(data, replacement):
        if not replacement.whole_lines:
            found = [Span(start, start + len(old), new) for start in _finds(data, old)]
        else:
            missing = b"" if data.endswith(b"\n") else b"\r\n" if old.endswith(b"\r\n") else b"\n"
            spans = (Span(start, start + len(old), new) for start in _finds_lines(data + missing, old))
            found = [_without_end(span, missing) if span.end > len(data) else span for span in spans]
        if found:
            return found
    return []


def _without_end(span: Span, missing: bytes) -> Span:
    """The place at the end of a file whose last line has no end."""
    return Span(span.start, span.end - len(missing), span.new.removesuffix(missing))


def _spellings(data: bytes, replacement: Replacement) -> list[tuple[bytes, bytes]]:
    """The pair as written, with CRLF and with LF, in the order to try: the new text gets the line ends of the old one."""
    old, new = replacement.old.replace(b"\r\n", b"\n"), replacement.new.replace(b"\r\n", b"\n")
    crlf = (old.replace(b"\n", b"\r\n"), new.replace(b"\n", b"\r\n"))
    given = (replacement.old, replacement.new)
    ends = data.count(b"\n")
    is_crlf = ends > 0 and data.count(b"\r\n") == ends
    return list(dict.fromkeys((crlf, given, (old, new)) if is_crlf else (given, crlf, (old, new))))


def _finds(data: bytes, old: bytes) -> Iterator[int]:
    """Offsets of all places that do not overlap."""
    position = data.find(old)
    while position >= 0:
        yield position
        position = data.find(old, position + len(old))


def _finds_lines(data: bytes, old: bytes) -> Iterator[int]:
    """The same for a text that begins where a line begins and ends where one ends."""
    first = len(_BOM) if data.startswith(_BOM) else 0
    if data.startswith(old, first):
        yield first
    position = data.find(b"\n" + old, first + len(old) - 1 if data.startswith(old, first) else first)
    while position >= 0:
        yield position + 1
        position = data.find(b"\n" + old, position + len(old))


def _several(data: bytes, found: Sequence[Span], name: str) -> CommandError:
    lines = ", ".join(str(_line(data, span.start)) for span in found[:_NAMED]) + (", ..." if len(found) > _NAMED else "")
    return CommandError(
        f"{name} is there {len(found)} times, at lines {lines}: add lines around it, or use --all for all of them",
        hint="edit --help",
        code=ErrorCode.SEVERAL_MATCHES,
        about=ErrorContext(details={"count": len(found), "lines": lines}),
    )


def _no_match(data: bytes, replacement: Replacement, name: str) -> CommandError:
    place = nearest_place(data.decode("utf-8", "replace"), replacement.old.decode("utf-8", "replace"))
    if place is None:
        return CommandError(f"{name} is not in the file, nor anything like it", hint="edit --help", code=ErrorCode.NO_MATCH)
    why = "differs only in white space" if place.only_blanks else "is the most like it"
    return CommandError(
        f"{name} is not in the file; line {place.line} {why}",
        hint="edit --help",
        code=ErrorCode.NO_MATCH,
        about=ErrorContext(details={"line": place.line, "text": "\n".join(place.there)}, excerpt=place.compared()),
    )


def _line(data: bytes, offset: int) -> int:
    """1-based number of the line that holds the byte."""
    return data.count(b"\n", 0, offset) + 1
