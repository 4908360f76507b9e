"""Layer 2: one finished run made into the text that the model reads.

In: a ChainResult, whose spool files are read in constant memory, and Limits, which are always capped. Out: a Presented.
Deterministic: nothing but the result, the limits and the spool folder is looked at. The parts stand in this order:

    head of stdout, truncation block, last lines, notes, stderr, hints, footer

Hints (near names, what to run instead) come in ready: `navigation` finds them, since they take looks at the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from agentclip.present.binary import stdout_notice
from agentclip.present.excerpt import Budget, Excerpt, count_raw_lines, excerpt
from agentclip.present.footer import chain_failed, footer
from agentclip.present.line import Line, Width
from agentclip.present.notes import result_notes, stream_notes, unreadable_note
from agentclip.present.overflow import last_lines_mark, truncation_block
from agentclip.present.ranges import cut_range, fit, shown_ranges
from agentclip.present.stderr import stderr_parts
from agentclip.results import ChainResult, Limits, LineRange, Presented

CAPS = Limits(
    lines=2000,
    bytes=256 * 1024,
    line_chars=20_000,
    stderr_lines=1000,
    stderr_bytes=64 * 1024,
    stderr_lines_on_success=1000,
    tail_lines=200,
)
"""No call site gets more than this."""
FLOORS = Limits(lines=1, bytes=1024, line_chars=40, stderr_lines=2, stderr_bytes=512, stderr_lines_on_success=1, tail_lines=0)
"""Nor less than this."""


class _Body(Struct, frozen=True):
    """stdout's part of the text."""

    lines: list[str]
    ranges: tuple[LineRange, ...]
    notes: list[str]


def present(result: ChainResult, limits: Limits, hints: Sequence[str] = ()) -> Presented:
    """Make the text of a finished run; it always ends with the footer and never depends on what the run printed for that."""
    limits = capped(limits)
    body = _body(result, limits)
    stderr, stderr_notes = stderr_parts(result, limits)
    lines = [*body.lines, *body.notes, *stderr_notes, *result_notes(result), *stderr, *hints, footer(result)]
    return Presented("\n".join(lines), body.ranges, result.images)


def capped(limits: Limits) -> Limits:
    """The limits within CAPS and FLOORS."""
    names = ("lines", "bytes", "line_chars", "stderr_lines", "stderr_bytes", "stderr_lines_on_success", "tail_lines")
    return replace(
        limits, **{name: max(getattr(FLOORS, name), min(getattr(limits, name), getattr(CAPS, name))) for name in names}
    )


def _body(result: ChainResult, limits: Limits) -> _Body:
    """What stands of stdout, and what became of its lines."""
    part = excerpt(result.stdout, _budget(limits, failed=chain_failed(result)), limits.encoding)
    lost = unreadable_note(part, result.stdout, "output")
    notes = [*([lost] if lost else []), *stream_notes(part, result.stdout.path)]
    if part.kind is not None:
        return _Body([stdout_notice(result, part.kind)], tuple(cut_range(0, part.total_lines - 1)), [lost] if lost else [])
    head = _without_blank_end(part.head, ended=part.ended or not part.complete)
    tail = _without_blank_end(part.tail, ended=part.ended)
    lines = [line.text for line in head]
    if part.cut:
        lines += truncation_block(part, result.stdout.path)
    if tail:
        lines.append(last_lines_mark(len(tail)))
    ranges = [
        *shown_ranges(head, 0, 0),
        *cut_range(len(head), part.total_lines - len(part.tail) - 1),
        *shown_ranges(tail, part.total_lines - len(part.tail), len(lines)),
        *cut_range(part.total_lines - len(part.tail) + len(tail), part.total_lines - 1 if part.tail else -1),
    ]
    return _Body([*lines, *(line.text for line in tail)], _for_raw_lines(ranges, part, result), notes)


def _budget(limits: Limits, *, failed: bool) -> Budget:
    """A failure keeps a fifth for the last lines, because the error is at the end. No line takes more than a sixth."""
    tail_lines = limits.tail_lines if failed else 0
    tail_bytes = limits.bytes // 5 if tail_lines else 0
    width = Width(limits.line_chars, limits.bytes // 6)
    return Budget(limits.lines, limits.bytes, limits.lines, limits.bytes - tail_bytes, tail_lines, tail_bytes, width)


def _without_blank_end(lines: tuple[Line, ...], *, ended: bool) -> tuple[Line, ...]:
    """Leave off a last line that has no line end and, once cleaned, no text: it would show as a blank line."""
    return lines[:-1] if lines and not ended and not lines[-1].text else lines


def _for_raw_lines(ranges: list[LineRange], part: Excerpt, result: ChainResult) -> tuple[LineRange, ...]:
    """The ranges as they are, unless the stream's own lines are not lines of bytes."""
    if not any(verdict.wide for verdict in part.verdicts):
        return fit(ranges, part.total_lines)
    try:
        return fit(ranges, count_raw_lines(result.stdout))
    except OSError:
        return fit(ranges, part.total_lines)
