"""Events as a real session stores them."""

from __future__ import annotations

from pathlib import Path

from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    CommandStarted,
    Event,
    Notice,
    ResultsMasked,
    SessionStarted,
    Severity,
    SnapshotSource,
    SnapshotTaken,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.messages import AssistantMessage, Image, ToolCall, ToolMessage, Usage, UserMessage
from agentclip.results import (
    BackgroundJob,
    Chain,
    ChainResult,
    Ended,
    Join,
    LineFate,
    LineRange,
    Pipeline,
    Presented,
    Redirect,
    Stage,
    StageKind,
    StageResult,
    StreamFile,
)

CHAIN = Chain(
    "ls 2>&1 | wc -l",
    (
        Pipeline(
            Join.ALWAYS,
            negated=False,
            stages=(
                Stage("ls 2>&1", 0, ("ls",), redirects=(Redirect(2, ">&", "1"),), kind=StageKind.PROGRAM, argv=("ls",)),
                Stage("wc -l", 10, ("wc", "-l"), kind=StageKind.PROGRAM, argv=("wc", "-l")),
            ),
        ),
    ),
)


def finished(folder: str, number: int = 1, call_id: str | None = "c1", text: str = "2\n[exit:0 | 3ms]") -> CommandFinished:
    image = Image(f"{folder}/see-1.png", "image/png", "a.png", 4, 3)
    result = ChainResult(
        number=number,
        chain=CHAIN,
        status=0,
        stdout=StreamFile(f"{folder}/cmd-{number}.txt", 2),
        stages=(
            StageResult(0, "ls 2>&1", StageKind.PROGRAM, 0, stderr=StreamFile(f"{folder}/cmd-{number}.0.err", 7)),
            StageResult(1, "wc -l", StageKind.PROGRAM, 0, signal="SIGPIPE", bytes_in=3),
        ),
        last_statuses=(0, 0),
        duration_s=0.003,
        ended=Ended.EXITED,
        jobs=(BackgroundJob(1, (7,), "sleep 9"),),
        cwd="/project/sub",
        images=(image,),
    )
    return CommandFinished(number, call_id, result, Presented(text, (LineRange(0, 0, LineFate.SHOWN, 0),), (image,)))


def one_of_each(folder: str = "/s/cmd-output") -> tuple[Event, ...]:
    call = ToolCall("c1", "run", '{"command": "ls 2>&1 | wc -l"}')
    return (
        SessionStarted("id", "/project", "m", "0.1"),
        TurnStarted(UserMessage("list 文件 \N{PILE OF POO}")),
        AssistantReplied(AssistantMessage("looking", (call,), "hm"), Usage(10, 2, 1, None)),
        CommandStarted(1, "c1", CHAIN.source, CHAIN, f"{folder}/cmd-1.txt"),
        finished(folder),
        CallAnswered(ToolMessage("c2", "[cancelled: not run]"), "not run"),
        Advised(UserMessage("[agentclip] go on"), "cut"),
        UserMessageFolded(UserMessage("and more")),
        ResultsMasked(4, 90_000, 50_000),
        SnapshotTaken(1, "<state_snapshot/>", 9, (2,), 90_000, 30_000, SnapshotSource.CODE, Usage(1, 2, 0, None)),
        Notice("careful", Severity.WARNING),
        TurnFinished(TurnEnd.ANSWERED),
    )


def lines_of(folder: Path) -> list[bytes]:
    return (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
