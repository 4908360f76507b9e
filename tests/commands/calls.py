"""Commands run as Layer 1 runs them: in a thread, on real descriptors, pictures put into files."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentclip.command import Command
from agentclip.messages import Image
from agentclip.results import Artifact, CommandFailure
from agentclip.shell.inprocess import CommandRunner
from agentclip.shell.process import Descriptors, Surroundings
from tests.commands.hints import check_hint


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int
    out: bytes
    err: bytes
    images: tuple[Image, ...]
    failure: CommandFailure | None
    artifacts: tuple[Artifact, ...]

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def error(self) -> str:
        """The one line that a failed command says."""
        lines = self.err.decode().splitlines()
        assert len(lines) == 1, lines
        return lines[0]


@dataclass(slots=True)
class Desk:
    """A directory, an environment and files for the streams, for calls one after the other."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})
    calls: int = 0

    @property
    def cwd(self) -> Path:
        cwd = self.folder / "cwd"
        cwd.mkdir(exist_ok=True)
        return cwd

    def call(self, command: Command, *argv: str, stdin: bytes | None = None) -> Outcome:
        """Run to the end. `stdin` comes through a pipe; None is /dev/null."""
        if stdin is None:
            with open(os.devnull, "rb") as null:
                return self.on_descriptor(command, argv, null.fileno())
        read_end, write_end = os.pipe()
        feeder = threading.Thread(target=_feed, args=(write_end, stdin))
        feeder.start()
        try:
            return self.on_descriptor(command, argv, read_end)
        finally:
            os.close(read_end)
            feeder.join()

    def on_descriptor(
        self, command: Command, argv: Sequence[str], stdin: int, cancelled: threading.Event | None = None
    ) -> Outcome:
        """Run on a descriptor that stays the caller's."""
        self.calls += 1
        streams = self.folder / "streams"
        streams.mkdir(exist_ok=True)
        runner = CommandRunner(streams / f"cmd-{self.calls}")
        out, err = streams / f"{self.calls}.out", streams / f"{self.calls}.err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            descriptors = Descriptors(stdin, stdout.fileno(), stderr.fileno())
            where = Surroundings(str(self.cwd), self.env)
            end = runner.run(command, argv, descriptors, where, cancelled or threading.Event())
        if end.failure is not None:
            assert end.status == end.failure.code.exit_status
            check_hint(end.failure.hint)
        return Outcome(end.status, out.read_bytes(), err.read_bytes(), tuple(runner.images), end.failure, runner.artifacts)


def _feed(descriptor: int, data: bytes) -> None:
    try:
        with os.fdopen(descriptor, "wb") as pipe:
            pipe.write(data)
    except BrokenPipeError:
        return
