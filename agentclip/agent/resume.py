"""What a log lacks when agentclip died in the middle: the stored events come in, the missing last ones go out.

A command that was running is answered with what it had printed, and never started again. Nothing is stored here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from agentclip.agent.context import NOT_RUN
from agentclip.events import (
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    CommandStarted,
    Event,
    Recorded,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from agentclip.messages import ToolMessage
from agentclip.present.shown import show
from agentclip.results import ChainResult, Ended, Limits, StageKind, StageResult, StreamFile

_STATUS = 130
_NOTE = "interrupted: agentclip ended while this ran; it was not started again and may have been half done"

INTERRUPTED = TurnFinished(TurnEnd.INTERRUPTED, "agentclip ended in the middle of this turn")


class _Open(Struct):
    """What is begun and not ended at the end of a log."""

    turn: bool = False
    calls: dict[str, None] = field(default_factory=dict)
    """Ids that wait for an answer, in order."""
    run: Recorded | None = None

    def take(self, recorded: Recorded) -> None:
        match recorded.event:
            case TurnStarted():
                self.turn = True
                self.calls = {}
            case TurnFinished():
                self.turn = False
            case AssistantReplied(message):
                self.calls = dict.fromkeys(call.id for call in message.tool_calls)
            case CommandStarted():
                self.run = recorded
            case CommandFinished(tool_call_id=call_id):
                self.run = None
                self.calls.pop(call_id or "", None)
            case CallAnswered(message):
                self.calls.pop(message.tool_call_id, None)
            case _:
                pass


def missing_events(history: Sequence[Recorded], limits: Limits, end: TurnFinished = INTERRUPTED) -> Iterator[Event]:
    """The events that make the log whole, in the order they must be stored; none for a log that is whole.

    `end` says why an unfinished turn ended.
    """
    left = _Open()
    for recorded in _last_turn(history):
        left.take(recorded)
    if left.run is not None and isinstance(started := left.run.event, CommandStarted):
        note = _NOTE if end.reason is TurnEnd.INTERRUPTED else f"interrupted: {end.text}"
        result = lost_result(started, note, left.run.time)
        yield CommandFinished(started.number, started.tool_call_id, result, show(result, limits))
        left.calls.pop(started.tool_call_id or "", None)
    for call_id in left.calls:
        yield CallAnswered(ToolMessage(call_id, NOT_RUN), f"not run: {end.reason.value}")
    if left.turn:
        yield end


def lost_result(started: CommandStarted, note: str, started_s: float | None = None) -> ChainResult:
    """The result of a run that nobody saw the end of: its plan, and what its spools hold."""
    stdout, changed_s = _spool(started.stdout_path)
    stages = []
    index = 0
    for pipeline in started.chain.pipelines:
        for stage in pipeline.stages:
            stderr, written_s = _spool(f"{os.path.splitext(started.stdout_path)[0]}.{index}.err")
            changed_s = max(changed_s, written_s)
            kind = stage.kind or StageKind.SHELL
            stages.append(StageResult(index, stage.text, kind, _STATUS, stderr=stderr if stderr.size else None))
            index += 1
    return ChainResult(
        number=started.number,
        chain=started.chain,
        status=_STATUS,
        stdout=stdout,
        stages=tuple(stages),
        last_statuses=(_STATUS,),
        duration_s=max(0.0, changed_s - started_s) if started_s is not None else 0.0,
        ended=Ended.INTERRUPTED,
        notes=(note,),
    )


def _spool(path: str) -> tuple[StreamFile, float]:
    """A spool as it is on disk, and when it was last written."""
    try:
        status = os.stat(path)
    except OSError:
        return StreamFile(path, 0), 0.0
    return StreamFile(path, status.st_size), status.st_mtime


def _last_turn(history: Sequence[Recorded]) -> Sequence[Recorded]:
    """From the last event after which nothing can be open."""
    for position in range(len(history) - 1, -1, -1):
        if isinstance(history[position].event, TurnFinished):
            return history[position + 1 :]
    return history
