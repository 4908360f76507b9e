"""Finished runs for tests: spool files with given bytes, and the ChainResult around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentclip.present.machine import Machine
from agentclip.results import (
    BackgroundJob,
    Chain,
    ChainResult,
    Ended,
    Join,
    Limits,
    Pipeline,
    Redirect,
    Stage,
    StageKind,
    StageResult,
    StreamFile,
)


@dataclass(frozen=True)
class Ran:
    """One stage as a test states it."""

    words: str | None = "prog"
    """Words parted by blanks; None for a line that bash took whole."""
    status: int = 0
    stderr: bytes | None = None
    signal: str | None = None
    refused: bool = False
    kind: StageKind = StageKind.PROGRAM
    reads: str | None = None
    """Target of `<`."""
    writes: str | None = None
    """Target of `>`."""


@dataclass(frozen=True)
class Run:
    """One finished run as a test states it."""

    stdout: bytes = b""
    pipelines: Sequence[Sequence[Ran]] = ((Ran(),),)
    status: int | None = None
    """None for the last stage's."""
    duration_s: float = 0.012
    ended: Ended = Ended.EXITED
    limit: int | None = None
    jobs: Sequence[int] = ()
    cwd: str | None = None
    notes: Sequence[str] = ()
    number: int = 3
    limits: Limits = field(default_factory=Limits)
    source: str = "a test's line"
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What the working directory holds; a name that ends with a slash is a folder."""
    programs: Sequence[str] = ()
    """All that PATH has."""

    def result(self, folder: Path) -> ChainResult:
        """Write the spools and return the result."""
        stages = [stage for pipeline in self.pipelines for stage in pipeline]
        chain = Chain(
            self.source,
            tuple(Pipeline(Join.ALWAYS, negated=False, stages=tuple(map(_planned, stages))) for stages in self.pipelines),
        )
        stdout = _spool(folder / f"cmd-{self.number}.txt", self.stdout)
        return ChainResult(
            number=self.number,
            chain=chain,
            status=stages[-1].status if self.status is None else self.status,
            stdout=stdout,
            stages=tuple(self._stage(folder, index, stage) for index, stage in enumerate(stages)),
            last_statuses=tuple(stage.status for stage in self.pipelines[-1]),
            duration_s=self.duration_s,
            ended=self.ended,
            limit=self.limit,
            jobs=tuple(BackgroundJob(number, (1,), "sleep 9") for number in self.jobs),
            cwd=self.cwd or "/home/dev",
            cwd_changed=self.cwd is not None,
            notes=tuple(self.notes),
        )

    def machine(self, folder: Path) -> Machine:
        """Make the files and programs, and a way to look at them."""
        for name, data in self.files.items():
            path = folder / "work" / name
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_bytes(data)
        (folder / "bin").mkdir(exist_ok=True)
        for program in self.programs:
            (folder / "bin" / program).write_text("#!/bin/sh\n")
            (folder / "bin" / program).chmod(0o755)
        return Machine(("cat", "see", "write", "topic"), str(folder / "bin"), str(folder / "work"))

    def _stage(self, folder: Path, index: int, ran: Ran) -> StageResult:
        stderr = None if ran.stderr is None else _spool(folder / f"cmd-{self.number}.{index}.err", ran.stderr)
        text = "for i in *; do :; done" if ran.words is None else ran.words
        return StageResult(index, text, ran.kind, ran.status, ran.signal, ran.refused, stderr=stderr)


def _planned(ran: Ran) -> Stage:
    redirects = [Redirect(None, "<", ran.reads)] if ran.reads else []
    redirects += [Redirect(None, ">", ran.writes)] if ran.writes else []
    words = None if ran.words is None else tuple(ran.words.split())
    return Stage(ran.words or "for i in *; do :; done", 0, words, redirects=tuple(redirects), kind=ran.kind)


def _spool(path: Path, data: bytes) -> StreamFile:
    path.write_bytes(data)
    return StreamFile(str(path), len(data))
