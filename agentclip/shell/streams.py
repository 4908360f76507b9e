"""Where a run's output goes: into spool files, or straight to our own stdout and stderr."""

from __future__ import annotations

from typing import Protocol

from typing_extensions import override

from agentclip.results import StreamFile
from agentclip.shell.spool import Spool, Stream


class Streams(Protocol):
    """The outer ends of a run's pipelines."""

    stdin: int
    stdout: int

    def stderr(self, stage: int) -> int:
        """The descriptor for a stage's stderr."""

    def stage_has_started(self, stage: int) -> None:
        """Its processes hold their descriptors now."""

    def no_more_stages(self) -> None:
        """All pipelines have run: everything printed by them is to be kept now."""

    def stdout_file(self) -> StreamFile:
        """What was kept of stdout."""

    def stderr_file(self, stage: int) -> StreamFile | None:
        """What was kept of a stage's stderr; None when it wrote nothing."""


class SpooledStreams(Streams):
    """Everything into `cmd-N.txt` and `cmd-N.S.err`."""

    def __init__(self, spool: Spool, stdin: int) -> None:
        self.stdin = stdin
        self.stdout = spool.stdout.write_end
        self._spool = spool
        self._errors: dict[int, Stream] = {}

    @override
    def stderr(self, stage: int) -> int:
        if stage not in self._errors:
            self._errors[stage] = self._spool.add(stage)
        return self._errors[stage].write_end

    @override
    def stage_has_started(self, stage: int) -> None:
        self._errors[stage].close_write_end()

    @override
    def no_more_stages(self) -> None:
        self._spool.stdout.close_write_end()
        self.stdout = -1
        self._spool.drain()
        self._spool.finish_when_idle()

    @override
    def stdout_file(self) -> StreamFile:
        return StreamFile(str(self._spool.stdout.path), self._spool.stdout.size)

    @override
    def stderr_file(self, stage: int) -> StreamFile | None:
        stream = self._errors.get(stage)
        return StreamFile(str(stream.path), stream.size) if stream is not None and stream.size else None


class InheritedStreams(Streams):
    """Our own descriptors, as `bash -c` has them."""

    stdin = 0
    stdout = 1

    @override
    def stderr(self, stage: int) -> int:
        return 2 if stage >= 0 else -1

    @override
    def stage_has_started(self, stage: int) -> None:
        pass

    @override
    def no_more_stages(self) -> None:
        pass

    @override
    def stdout_file(self) -> StreamFile:
        return StreamFile("/dev/stdout", 0)

    @override
    def stderr_file(self, stage: int) -> StreamFile | None:
        return None if stage >= 0 else StreamFile("/dev/stderr", 0)
