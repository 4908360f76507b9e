"""Starting the stages of a pipeline on kernel pipes: a process, a bash, or one of our commands on a thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from agentclip.command import unknown_command, unknown_command_line
from agentclip.events import Event, StageStarted
from agentclip.results import Chain, Pipeline, Redirect, Stage, StageKind, StageResult
from agentclip.shell.bash import StateReport, can_report
from agentclip.shell.descendants import Family
from agentclip.shell.inprocess import CommandRunner
from agentclip.shell.process import Descriptors, RedirectError, Surroundings, opened, say, start_bash, start_program
from agentclip.shell.route import Router
from agentclip.shell.stages import CommandEnd, ProcessStage, RunningStage, ThreadStage
from agentclip.shell.streams import Streams


class RunPlan(Struct, frozen=True):
    """What a run needs to know."""

    number: int
    chain: Chain
    timeout_s: float | None
    """None for no limit."""
    limit_bytes: int
    on_event: Callable[[Event], None]
    client_path: str | None
    """A folder to put in front of PATH, with our commands as programs; None when the line names none of them."""
    report: StateReport | None
    """How a whole line tells its cwd and exports; None when nobody asks (`--raw`)."""
    ulimit: str = ""
    """Shell commands that set resource limits; empty for none."""


class RunParts(Struct, frozen=True):
    """What a run works with."""

    plan: RunPlan
    router: Router
    streams: Streams
    runner: CommandRunner
    family: Family


class Launcher:
    """Starts stages. Keeps the working directory open, since a line may remove it."""

    def __init__(self, parts: RunParts, wake: Callable[[], None]) -> None:
        self.plan = parts.plan
        self.family = parts.family
        self.origin = time.monotonic()
        """When the run began."""
        self._router = parts.router
        self._state = parts.router.state
        self._streams = parts.streams
        self._runner = parts.runner
        self._wake = wake
        self._directory: int | None = None

    def change_state(self, stage: Stage, index: int) -> StageResult:
        """Do a `cd`, `export` or `unset` in the session."""
        words = stage.argv or ()
        began = time.monotonic()
        message = None
        match words[0]:
            case "cd":
                message = self._state.change_directory(words)
                self.hold_directory()
            case "export":
                self._state.export(words)
            case _:
                self._state.unset(words)
        if message is not None:
            say(self._streams.stderr(index), f"bash: line {self._line(stage)}: {message}\n")
            self._streams.stage_has_started(index)
        now = time.monotonic()
        status = 0 if message is None else 1
        return StageResult(index, stage.text, StageKind.STATE, status, started_s=began - self.origin, duration_s=now - began)

    def start(self, pipeline: Pipeline, first: int) -> list[RunningStage]:
        """Start every stage, the first of them with the index `first`."""
        running: list[RunningStage] = []
        source = self._streams.stdin
        for index, stage in enumerate(pipeline.stages, first):
            last = index == first + len(pipeline.stages) - 1
            read_end, sink = (-1, self._streams.stdout) if last else os.pipe()
            try:
                errors = self._streams.stderr(index)
                running.append(self._start_stage(index, self._as_bash_reads(stage), Descriptors(source, sink, errors)))
                running[-1].stage = stage
            finally:
                self._streams.stage_has_started(index)
                if not last:
                    os.close(sink)
                if source != self._streams.stdin:
                    os.close(source)
            source = read_end
            self.plan.on_event(StageStarted(self.plan.number, index, running[-1].pid))
        return running

    def _as_bash_reads(self, stage: Stage) -> Stage:
        """The stage on the line it has in the source, so that bash's messages name that line."""
        return with_stderr_piped(replace(stage, text="\n" * (self._line(stage) - 1) + stage.text))

    def _line(self, stage: Stage) -> int:
        return 1 + self.plan.chain.source.count("\n", 0, stage.offset)

    def _start_stage(self, index: int, stage: Stage, given: Descriptors) -> RunningStage:
        if stage.kind is StageKind.SHELL:
            return self._start_bash(index, stage, given)
        try:
            with opened(stage.redirects, given, self._state.cwd, self._line(stage)) as descriptors:
                if stage.kind is StageKind.PROGRAM:
                    return self._start_program(index, stage, descriptors) or self._start_bash(index, stage, given)
                kept = Descriptors(os.dup(descriptors.stdin), os.dup(descriptors.stdout), os.dup(descriptors.stderr))
        except RedirectError:
            return ThreadStage(index, stage, lambda: CommandEnd(1), self._wake)
        return ThreadStage(index, stage, lambda: self._command(stage, kept), self._wake)

    def _start_program(self, index: int, stage: Stage, descriptors: Descriptors) -> RunningStage | None:
        """None when the kernel refuses: bash knows what to do with it (a script without `#!`) or how to say why not."""
        argv = stage.argv or ()
        found = self._router.find_program(argv[0])
        try:
            process = start_program(found or argv[0], argv, descriptors, self._where())
        except (OSError, ValueError):
            return None
        self.family.add_leader(process.pid)
        return ProcessStage(index, stage, process)

    def _start_bash(self, index: int, stage: Stage, given: Descriptors) -> RunningStage:
        where = self._where()
        if self.plan.chain.whole and self.plan.report is not None and can_report(stage.text):
            where = replace(where, env={**where.env, **self.plan.report.variables(where.env)})
        try:
            process = start_bash(stage.text, given, where)
        except OSError as error:
            say(given.stderr, f"agentclip: cannot start bash: {os.strerror(error.errno or 0)}\n")
            return ThreadStage(index, stage, lambda: CommandEnd(126), self._wake)
        self.family.add_leader(process.pid)
        return ProcessStage(index, stage, process)

    def _command(self, stage: Stage, kept: Descriptors) -> CommandEnd:
        argv = stage.argv or ()
        try:
            table = self._router.table
            command = table.get(argv[0])
            if command is None:
                programs = self._router.programs_like(argv[0])
                say(kept.stderr, unknown_command_line(argv[0], table, programs) + "\n")
                return CommandEnd(127, unknown_command(argv[0], table, programs))
            where = self._where()
            where = replace(where, env={**where.env, **dict(stage.assignments)})
            return self._runner.run(command, argv, kept, where, threading.Event())
        finally:
            for descriptor in (kept.stdin, kept.stdout, kept.stderr):
                os.close(descriptor)

    def _where(self) -> Surroundings:
        env = self._state.environment()
        if self.plan.client_path is not None:
            env["PATH"] = f"{self.plan.client_path}{os.pathsep}{env.get('PATH', os.defpath)}"
        return Surroundings(self._state.cwd, env, self.plan.ulimit, self._directory)

    def without_clients(self, env: Mapping[str, str]) -> Mapping[str, str]:
        """What a line reported, without what it got for itself alone: the clients' folder in its PATH."""
        if self.plan.client_path is None or "PATH" not in env:
            return env
        kept = [entry for entry in env["PATH"].split(os.pathsep) if entry != self.plan.client_path]
        return {**env, "PATH": os.pathsep.join(kept)}

    def hold_directory(self) -> None:
        """Keep the directory open: a line may remove it and go on working there, as in bash."""
        if self._directory is not None:
            os.close(self._directory)
        self._directory = os.open(self._state.cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        """Let the directory go."""
        if self._directory is not None:
            os.close(self._directory)
            self._directory = None


def with_stderr_piped(stage: Stage) -> Stage:
    """What `|&` means: a `2>&1` behind the stage's own redirects."""
    if not stage.pipes_stderr:
        return stage
    return replace(stage, text=f"{stage.text} 2>&1", redirects=(*stage.redirects, Redirect(2, ">&", "1")))
