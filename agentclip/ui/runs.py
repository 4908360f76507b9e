"""One run as the screen knows it: plan, stages, spools, result. Fed by events, read by rows and panes."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct, field

from agentclip.events import CommandFinished, CommandStarted, OutputGrew, StageFinished, StageProgress, StageStarted
from agentclip.results import Ended, Join, Presented
from agentclip.ui.foreign import decode
from agentclip.ui.spool_index import SpoolIndex
from agentclip.ui.spool_rows import SpoolRows

TAIL_BYTES = 4096
_JOINS = {Join.ALWAYS: ";", Join.SUCCESS: "&&", Join.FAILURE: "||"}


class StageView(Struct):
    """One stage of the plan."""

    text: str
    sign: str = ""
    """What joins it to the stage before: `|`, `&&`, `||`, `;`; empty for the first."""
    running: bool = False
    status: int | None = None
    """None until it has ended, or when it never ran."""
    duration_s: float | None = None
    bytes_in: int | None = None
    """Read so far; None when nobody told."""
    bytes_out: int | None = None


class Run(Struct):
    """One run, alive or finished."""

    number: int
    command: str
    by_person: bool
    """A `!` line."""
    stdout_path: str
    started_s: float
    """On the screen's clock."""
    stages: list[StageView] = field(default_factory=list)
    finished: CommandFinished | None = None
    sizes: dict[int | None, tuple[str, int]] = field(default_factory=dict)
    """Path and bytes of each stream; None is stdout."""
    _rows: SpoolRows | None = None

    @classmethod
    def begin(cls, event: CommandStarted, now_s: float) -> Run:
        """The run of a CommandStarted."""
        stages = [
            StageView(stage.text, "|" if inside else _JOINS[pipeline.join] if before else "")
            for before, pipeline in enumerate(event.chain.pipelines)
            for inside, stage in enumerate(pipeline.stages)
        ]
        return cls(event.number, event.command, event.tool_call_id is None, event.stdout_path, now_s, stages)

    @property
    def shown(self) -> Presented | None:
        """What the model reads; None while it runs."""
        return self.finished.shown if self.finished else None

    @property
    def rows(self) -> SpoolRows:
        """The raw rows, made when somebody looks."""
        if self._rows is None:
            self._rows = SpoolRows(SpoolIndex(self.stdout_path))
            self._rows.replay(Path(self.stdout_path).with_suffix(".idx"))
            for stage, (path, size) in self.sizes.items():
                self._rows.grew(stage, path, size)
        return self._rows

    @property
    def stdout_size(self) -> int:
        """Bytes of stdout so far."""
        return self.sizes.get(None, ("", 0))[1]

    def stage(self, event: StageStarted | StageProgress | StageFinished) -> None:
        """A stage started, moved data or ended."""
        if not 0 <= event.stage < len(self.stages):
            return
        view = self.stages[event.stage]
        if isinstance(event, StageStarted):
            view.running = True
        elif isinstance(event, StageProgress):
            view.bytes_in, view.bytes_out = event.bytes_in, event.bytes_out
        else:
            view.running, view.status, view.duration_s = False, event.status, event.duration_s

    def grew(self, event: OutputGrew) -> None:
        """A spool grew."""
        self._size(event.stage, event.path, event.size)

    def finish(self, event: CommandFinished) -> None:
        """The result has the last word on everything."""
        self.finished = event
        result = event.result
        self.stdout_path = result.stdout.path
        self._size(None, result.stdout.path, result.stdout.size)
        for view in self.stages:
            view.running = False
        for stage in result.stages:
            if 0 <= stage.index < len(self.stages):
                view = self.stages[stage.index]
                view.status, view.duration_s, view.bytes_out = stage.status, stage.duration_s, stage.bytes_out
            if stage.stderr is not None:
                self._size(stage.index, stage.stderr.path, stage.stderr.size)

    def last_lines(self, count: int) -> list[str]:
        """The last lines of stdout, or of stderr while stdout is empty, read from the end of the file."""
        streams = [stream for stream in (self.sizes.get(None), *self.sizes.values()) if stream and stream[1]]
        if not streams:
            return []
        path, size = streams[0]
        try:
            with open(path, "rb", buffering=0) as file:
                data = os.pread(file.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
        except OSError:
            return []
        return [decode(line) for line in data.removesuffix(b"\n").split(b"\n")[-count:]]

    def outcome(self) -> tuple[str, str]:
        """Words and ink for how it went: a sign as well as a colour."""
        if self.finished is None:
            return "running", "running"
        result = self.finished.result
        if result.ended is not Ended.EXITED:
            return f"{result.ended.value} {result.status}", "exit-fail"
        return (f"ok {result.status}", "exit-ok") if result.status == 0 else (f"exit {result.status}", "exit-fail")

    def _size(self, stage: int | None, path: str, size: int) -> None:
        self.sizes[stage] = (path, size)
        if self._rows is not None:
            self._rows.grew(stage, path, size)
