"""What the stages of a run said on stderr: one block for each, one prefix on each block, one budget for all.

In: a finished run and its limits. Out: lines of text and notes. stderr is never dropped because stdout was not empty; when
everything went well its last lines are enough.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import Struct

from agentclip.errors import one_line
from agentclip.present.binary import notice
from agentclip.present.excerpt import Budget, Excerpt, excerpt
from agentclip.present.footer import any_failed, stage_failed
from agentclip.present.line import Width
from agentclip.present.notes import stream_notes, unreadable_note
from agentclip.present.overflow import stderr_mark
from agentclip.results import ChainResult, Limits, StageKind, StageResult, StreamFile

MAX_BLOCKS = 12
_MAX_NAME_CHARS = 40


class _Block(Struct, frozen=True):
    """One stage that wrote to stderr, and what is shown of it."""

    stage: StageResult
    stream: StreamFile
    part: Excerpt


def stderr_parts(result: ChainResult, limits: Limits) -> tuple[list[str], list[str]]:
    """The lines of all blocks, and notes about how they were read."""
    writers = [(stage, stage.stderr) for stage in result.stages if stage.stderr is not None and stage.stderr.size > 0]
    chosen = _most_telling(writers)
    blocks = [block for block in _excerpts(chosen, limits, failed=any_failed(result)) if _says_something(block.part)]
    lines: list[str] = []
    notes: list[str] = []
    for block in blocks:
        word = f" {_name(result, block.stage)}" if len(blocks) > 1 else ""
        first, *others = _body(block)
        prefix = "" if len(writers) == 1 and _is_our_error(block, first) else f"[stderr{word}] "
        lines += [prefix + first, *others]
        notes += stream_notes(block.part, block.stream.path, stream="stderr")
    if len(writers) > len(chosen):
        left_out = next(stream.path for stage, stream in writers if (stage, stream) not in chosen)
        lines.append(f"--- stderr of {len(writers) - len(chosen)} more stages, the first: {shlex.quote(left_out)} ---")
    return lines, notes


def _most_telling(writers: Sequence[tuple[StageResult, StreamFile]]) -> list[tuple[StageResult, StreamFile]]:
    """At most MAX_BLOCKS of the stages, those that failed first, then the latest; in the order in which they ran."""
    ranked = sorted(writers, key=lambda writer: (stage_failed(writer[0].status), writer[0].index), reverse=True)
    return sorted(ranked[:MAX_BLOCKS], key=lambda writer: writer[0].index)


def _excerpts(chosen: Sequence[tuple[StageResult, StreamFile]], limits: Limits, *, failed: bool) -> list[_Block]:
    """Share the budget out: the small ones first, so that what they do not need goes to the large ones."""
    lines = limits.stderr_lines if failed else min(limits.stderr_lines, limits.stderr_lines_on_success)
    size = limits.stderr_bytes
    blocks = []
    for left, (stage, stream) in zip(range(len(chosen), 0, -1), sorted(chosen, key=lambda writer: writer[1].size), strict=True):
        budget = _budget(max(1, lines // left), size // left, limits, failed=failed)
        part = excerpt(stream, budget, limits.encoding)
        shown = (*part.head, *part.tail)
        lines -= len(shown)
        size -= sum(line.size for line in shown)
        blocks.append(_Block(stage, stream, part))
    return sorted(blocks, key=lambda block: block.stage.index)


def _budget(lines: int, size: int, limits: Limits, *, failed: bool) -> Budget:
    """Head and tail of a failure, the last lines of a success."""
    head_lines = lines // 2 if failed else 0
    head_bytes = size // 2 if failed else 0
    width = Width(limits.line_chars, max(64, size // 4))
    return Budget(lines, size, head_lines, head_bytes, lines - head_lines, size - head_bytes, width)


def _is_our_error(block: _Block, first: str) -> bool:
    """Whether a block is the error line of one of our own commands, which says by itself what it is."""
    return block.stage.kind in {StageKind.COMMAND, StageKind.UNKNOWN} and first.startswith("[error] ") and not block.part.kind


def _says_something(part: Excerpt) -> bool:
    """False for what only moved the cursor or was blank."""
    return bool(part.kind or part.missing or part.cut or any(line.text.strip() for line in part.head))


def _body(block: _Block) -> list[str]:
    """The lines of a block; at least one."""
    part, path = block.part, block.stream.path
    if lost := unreadable_note(part, block.stream, "stderr"):
        return [lost, *(line.text for line in (*part.head, *part.tail))]
    if part.kind is not None:
        return [notice(block.stream, part.kind, shlex.quote(path))]
    head = [line.text for line in part.head]
    tail = [line.text for line in part.tail]
    lines = [*head, stderr_mark(part, path), *tail] if part.cut else head
    return lines[:-1] if len(lines) > 1 and not part.ended and not lines[-1] else lines


def _name(result: ChainResult, stage: StageResult) -> str:
    """The stage's first word as it was typed."""
    planned = [planned for pipeline in result.chain.pipelines for planned in pipeline.stages]
    words = planned[stage.index].words if stage.index < len(planned) else None
    word = words[0] if words else next(iter(stage.text.split()), "?")
    return one_line(word)[:_MAX_NAME_CHARS]
