"""The part of one stream that is shown: its first lines, its last lines, and exact totals.

In: a spool file and a budget. Out: an Excerpt of clean lines. Knows nothing of chains, footers and where the text will stand.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from agentclip.present import encoding
from agentclip.present.binary import Kind, kind_of
from agentclip.present.encoding import Verdict
from agentclip.present.line import Line, Width, end_of_line, shown_line
from agentclip.present.scan import Lines, RawLine, Spool, WideSpool
from agentclip.results import StreamFile

SAMPLE_BYTES = 1 << 16
WINDOW_BYTES = 1 << 18
"""How far from the end last lines are looked for."""
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))


class Budget(Struct, frozen=True):
    """What may be shown of a stream: all of it within `lines` and `bytes`, otherwise its head and its tail."""

    lines: int
    bytes: int
    """Of the shown text in UTF-8, line ends included; so are the others."""
    head_lines: int
    head_bytes: int
    tail_lines: int
    tail_bytes: int
    width: Width


class Excerpt(Struct, frozen=True):
    """What is shown of a stream, and what it was taken from."""

    head: tuple[Line, ...] = ()
    tail: tuple[Line, ...] = ()
    """The last lines; empty when `head` is all, or when none were asked for."""
    total_lines: int = 0
    r"""Line ends by b"\n", plus one for a last line without; characters' line ends in UTF-16 and UTF-32."""
    size: int = 0
    """Bytes of the stream, as far as they are there."""
    ended: bool = True
    """False when the last line has no line end."""
    verdicts: tuple[Verdict, ...] = ()
    """How the head was read, and the tail where it was read otherwise."""
    kind: Kind | None = None
    """What a binary stream is; None for text."""
    hint: str = ""
    """The encoding to try by hand on what could not be read; empty when there is nothing to try."""
    missing: str = ""
    """Why the file could not be read; empty when it could."""

    @property
    def complete(self) -> bool:
        """Whether every line is shown."""
        return len(self.head) + len(self.tail) == self.total_lines

    @property
    def cut(self) -> bool:
        """Whether any text is left out, of lines or of a line."""
        return self.kind is None and (not self.complete or any(line.shortened for line in (*self.head, *self.tail)))

    @property
    def stray(self) -> int:
        """Places shown as U+FFFD."""
        return sum(line.stray for line in (*self.head, *self.tail))


def excerpt(stream: StreamFile, budget: Budget, declared: str | None = None) -> Excerpt:
    """Take from a stream what its budget allows. A file that cannot be read gives an excerpt that says so."""
    if stream.size <= 0:
        return Excerpt()
    try:
        verdict, sample = _judge_head(stream, budget.lines, declared)
        with _open(stream, verdict) as spool:
            if verdict.codec is None:
                return Excerpt(total_lines=_count(spool), size=spool.size, verdicts=(verdict,), kind=kind_of(sample))
            return _take(spool, budget, verdict, declared)
    except OSError as error:
        return Excerpt(missing=error.strerror or "not readable")


def kind_of_stream(stream: StreamFile, lines: int, declared: str | None = None) -> Kind | None:
    """What a stream holds if it will be shown as binary; None when it is text. Raises OSError."""
    verdict, sample = _judge_head(stream, lines, declared)
    return kind_of(sample) if verdict.codec is None else None


def count_raw_lines(stream: StreamFile) -> int:
    r"""Lines by b"\n", whatever the encoding. Raises OSError."""
    with Spool(stream.path, stream.size) as spool:
        return _count(spool)


def _count(spool: Spool) -> int:
    return Lines(spool, encoding.UTF8).count_rest()


def _open(stream: StreamFile, verdict: Verdict) -> Spool:
    if verdict.wide and verdict.codec:
        return WideSpool(stream.path, stream.size, verdict.codec)
    return Spool(stream.path, stream.size)


def _judge_head(stream: StreamFile, lines: int, declared: str | None) -> tuple[Verdict, bytes]:
    """The verdict on the first lines, and the first bytes."""
    with Spool(stream.path, stream.size) as spool:
        sample = spool.window(0, SAMPLE_BYTES)
        whole = len(sample) == spool.size
    end = -1
    for _ in range(lines):
        if (end := sample.find(b"\n", end + 1)) < 0:
            return encoding.judge(sample, whole=whole, declared=declared), sample
    return encoding.judge(sample[: end + 1], whole=True, declared=declared), sample


def _take(spool: Spool, budget: Budget, verdict: Verdict, declared: str | None) -> Excerpt:
    """Head, tail and totals of a text."""
    # A stream of wide characters comes out of its spool as UTF-8.
    codec = encoding.UTF8 if verdict.wide else verdict.codec or encoding.UTF8
    lines = Lines(spool, codec)
    head: list[Line] = []
    size, ended = 0, True
    for raw in lines:
        line = shown_line(raw if head else _without_mark(raw), verdict, budget.width)
        size += line.size
        if len(head) == budget.lines or size > budget.bytes:
            break
        head.append(line)
        ended = raw.ended
    else:
        whole = Excerpt(tuple(head), (), lines.taken, spool.size, ended, (verdict,))
        return replace(whole, hint=_hint(whole, spool))
    total = lines.taken + lines.count_rest()
    shown = _fitting(head, budget.head_lines, budget.head_bytes)
    tail, own = _tail(spool, budget, verdict, declared, min(budget.tail_lines, total - len(shown)))
    verdicts = (verdict,) if own.label in {"", verdict.label} else (verdict, own)
    ended = spool.end(4)[0].endswith(b"\n")
    part = Excerpt(tuple(shown), tuple(tail), total, spool.size, ended, verdicts)
    return replace(part, hint=_hint(part, spool))


def _tail(spool: Spool, budget: Budget, verdict: Verdict, declared: str | None, wanted: int) -> tuple[list[Line], Verdict]:
    """The last lines and how they were read: a log may change its encoding on the way. None of them when they are binary."""
    if wanted <= 0:
        return [], verdict
    data, from_start = spool.end(WINDOW_BYTES)
    pieces = data.removesuffix(b"\n").split(b"\n")
    whole_lines = pieces if from_start else pieces[1:]
    kept = whole_lines[-wanted:] or pieces
    own = verdict
    if not verdict.wide:
        sample = b"\n".join(kept).lstrip(_CONTINUATION_BYTES)
        own = encoding.judge(sample, whole=True, declared=verdict.codec if verdict.label else declared)
    if own.codec is None:
        return [], own
    if not whole_lines:
        return [end_of_line(pieces[0], own, budget.width)], own
    last_first = (shown_line(RawLine(piece), own, budget.width) for piece in reversed(kept))
    return _fitting(last_first, wanted, budget.tail_bytes)[::-1], own


def _fitting(lines: Iterable[Line], max_lines: int, max_bytes: int) -> list[Line]:
    """The first lines that fit."""
    taken: list[Line] = []
    for line in lines:
        max_bytes -= line.size
        if len(taken) == max_lines or max_bytes < 0:
            break
        taken.append(line)
    return taken


def _without_mark(raw: RawLine) -> RawLine:
    """The first line without the byte order mark of UTF-8."""
    if not raw.head.startswith(codecs.BOM_UTF8):
        return raw
    return replace(raw, head=raw.head[len(codecs.BOM_UTF8) :], chars=None if raw.chars is None else raw.chars - 1)


def _hint(part: Excerpt, spool: Spool) -> str:
    """The encoding to name to iconv when some bytes could not be read."""
    if any(line.stray for line in part.head):
        return encoding.iconv_name(spool.window(0, SAMPLE_BYTES))
    return encoding.iconv_name(spool.end(SAMPLE_BYTES)[0]) if part.stray else ""
