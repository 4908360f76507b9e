"""An agent that publishes what a test tells it, with real spool files: for tests that are about the screen alone."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from agentclip.events import (
    AssistantReplied,
    CommandFinished,
    CommandStarted,
    Event,
    OutputGrew,
    Recorded,
    StageFinished,
    StageStarted,
    TextDelta,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from agentclip.messages import AssistantMessage, Usage, UserMessage
from agentclip.results import (
    Chain,
    ChainResult,
    Ended,
    Join,
    LineFate,
    LineRange,
    Pipeline,
    Presented,
    Stage,
    StageKind,
    StageResult,
    StreamFile,
)


class ScriptedAgent:
    """Meets AgentApi. Nothing happens by itself."""

    model_name = "scripted"
    session_id = "s-1"

    def __init__(self, folder: Path, history: Sequence[Event] = (), title: str = "a title") -> None:
        self.folder = folder
        self.title = title
        self.running = False
        self.stopping = False
        self.queue: tuple[str, ...] = ()
        self.calls: list[str] = []
        """What the screen asked for, in order."""
        self.closed = False
        self.loop_detection = True
        self.snapshot = ""
        self.usage = Usage(0, 0)
        self.context_window: int | None = None
        self._listeners: list[Callable[[Event], None]] = []
        self._history = [Recorded(seq, 0.0, event) for seq, event in enumerate(history, 1)]
        self._numbers = itertools.count(1 + sum(isinstance(event, CommandStarted) for event in history))
        self._over = asyncio.Event()

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        self._listeners.append(listener)

    def history(self) -> Sequence[Recorded]:
        return self._history

    async def count_usage(self) -> None:
        """It is there."""

    def submit(self, text: str) -> None:
        self.calls.append(f"submit {text}")

    def shell(self, line: str) -> None:
        self.calls.append(f"shell {line}")

    def compress(self) -> None:
        self.calls.append("compress")

    def snapshot_text(self) -> str:
        return self.snapshot

    def unqueue(self) -> str | None:
        if not self.queue:
            return None
        *rest, last = self.queue
        self.queue = tuple(rest)
        return last

    def cancel(self) -> None:
        self.calls.append("cancel")
        self.stopping = self.running

    async def serve(self) -> None:
        await self._over.wait()

    async def close(self) -> None:
        self.closed = True
        self._over.set()

    # What a test makes happen

    def publish(self, *events: Event) -> None:
        for event in events:
            for listener in self._listeners:
                listener(event)

    def begin(self, text: str) -> None:
        self.running = True
        self.publish(TurnStarted(UserMessage(text)))

    def say(self, text: str) -> None:
        self.publish(TextDelta(text), AssistantReplied(AssistantMessage(text)))

    def end(self, reason: TurnEnd = TurnEnd.ANSWERED, text: str = "") -> None:
        self.running = self.stopping = False
        self.publish(TurnFinished(reason, text))

    def start(self, command: str) -> LiveRun:
        run = LiveRun(self, next(self._numbers), command)
        self.publish(run.started)
        return run

    def run(
        self, command: str, output: bytes, *, status: int = 0, stderr: bytes = b"", presented: Presented | None = None
    ) -> LiveRun:
        """A whole run at once."""
        live = self.start(command)
        live.write(output)
        if stderr:
            live.write_stderr(stderr)
        live.finish(status=status, presented=presented)
        return live


class LiveRun:
    """A run whose output a test writes."""

    def __init__(self, agent: ScriptedAgent, number: int, command: str) -> None:
        self._agent = agent
        self.number = number
        self.command = command
        self.path = agent.folder / f"cmd-{number}.txt"
        self.path.write_bytes(b"")
        self.chain = chain(command)
        self.started = CommandStarted(number, f"call-{number}", command, self.chain, str(self.path))

    @property
    def stderr_path(self) -> Path:
        return self.path.with_name(f"cmd-{self.number}.0.err")

    def stage(self, index: int, status: int | None = None) -> None:
        event = StageStarted(self.number, index, 1) if status is None else StageFinished(self.number, index, status, 1.0)
        self._agent.publish(event)

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)
        self._agent.publish(OutputGrew(self.number, None, str(self.path), self.path.stat().st_size))

    def write_stderr(self, data: bytes) -> None:
        with self.stderr_path.open("ab") as file:
            file.write(data)
        self._agent.publish(OutputGrew(self.number, 0, str(self.stderr_path), self.stderr_path.stat().st_size))

    def finish(self, *, status: int = 0, ended: Ended = Ended.EXITED, presented: Presented | None = None) -> None:
        self._agent.publish(self.finished(status=status, ended=ended, presented=presented))

    def finished(self, *, status: int = 0, ended: Ended = Ended.EXITED, presented: Presented | None = None) -> CommandFinished:
        stderr = StreamFile(str(self.stderr_path), self.stderr_path.stat().st_size) if self.stderr_path.exists() else None
        stages = [stage for pipeline in self.chain.pipelines for stage in pipeline.stages]
        results = tuple(
            StageResult(
                index,
                stage.text,
                StageKind.PROGRAM,
                status if index == len(stages) - 1 else 0,
                duration_s=1.2,
                stderr=stderr if index == 0 else None,
            )
            for index, stage in enumerate(stages)
        )
        result = ChainResult(
            self.number,
            self.chain,
            status,
            StreamFile(str(self.path), self.path.stat().st_size),
            results,
            tuple(stage.status for stage in results),
            1.2,
            ended,
        )
        return CommandFinished(self.number, f"call-{self.number}", result, presented or self.whole(status))

    def whole(self, status: int) -> Presented:
        text = self.path.read_bytes().decode("utf-8", "replace")
        lines = text.count("\n")
        ranges = (LineRange(0, lines - 1, LineFate.SHOWN, 0),) if lines else ()
        return Presented(f"{text}[exit:{status} | 1.2s]", ranges)


def chain(command: str) -> Chain:
    """Split at ` | `: enough for tests of the screen."""
    stages: list[Stage] = []
    offset = 0
    for text in command.split(" | "):
        stages.append(Stage(text, offset, tuple(text.split())))
        offset += len(text) + 3
    return Chain(command, (Pipeline(Join.ALWAYS, negated=False, stages=tuple(stages)),))
