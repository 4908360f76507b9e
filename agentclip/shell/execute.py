"""Layer 1 as others use it: a line comes in, a RunHandle runs it, a ChainResult comes out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_futures
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from agentclip.command import CommandTable
from agentclip.errors import CommandError, ErrorCode
from agentclip.events import Event, OutputGrew
from agentclip.results import BackgroundJob, Chain, ChainResult, Ended, StageKind
from agentclip.shell.bash import StateReport
from agentclip.shell.clients import Call, Clients
from agentclip.shell.descendants import Family, become_subreaper
from agentclip.shell.faults import ends_agentclip, unfinished_document
from agentclip.shell.inprocess import CommandRunner
from agentclip.shell.jobs import Job, JobTable
from agentclip.shell.ladder import Stop
from agentclip.shell.launch import RunParts, RunPlan
from agentclip.shell.parse import parse_chain
from agentclip.shell.process import Descriptors, Surroundings
from agentclip.shell.route import Router
from agentclip.shell.run import Run
from agentclip.shell.spool import Spool
from agentclip.shell.state import ShellState
from agentclip.shell.streams import InheritedStreams, SpooledStreams

SPOOL_NAME = re.compile(r"cmd-(\d+)\.")


def ignore(_: Event) -> None:
    """Nobody listens."""


class RunRequest(Struct, frozen=True):
    """What comes with a line."""

    stdin: str | None = None
    """Text for the first command; None for /dev/null."""
    timeout_s: float | None = 120
    """None for no limit."""
    tool_call_id: str | None = None
    on_event: Callable[[Event], None] = ignore
    """Called from other threads: StageStarted, StageFinished, OutputGrew."""


LOOK_S = 0.2
"""How often the waiting main thread looks up."""


class Place(Struct, frozen=True):
    """Where an executor works."""

    folder: Path
    """Holds `cmd-output/` and the clients; created when first needed."""
    cwd: str
    env: Mapping[str, str]
    spool_limit_bytes: int = 256 * 1024 * 1024
    ulimit: str = ""
    """Shell commands that set the resource limits of every stage, `ulimit -v 1000000`; empty for none."""
    own_pids: Callable[[], Collection[int]] = frozenset
    """Processes of agentclip itself (the model's worker): no run may touch them."""
    last_number: int = 0
    """The highest number that a run of this session had, whether its spools are still there or not."""


class RunHandle(Struct):
    """One prepared run. The screen and the agent hold it to cancel."""

    number: int
    chain: Chain
    stdout_path: str
    tool_call_id: str | None
    _start: Callable[[RunHandle], Future[ChainResult]]
    _run: Run | None = None
    _early: list[Stop] = field(default_factory=list)
    _future: Future[ChainResult] | None = None

    def begin(self) -> None:
        """Start it, on a thread of its own."""
        self._future = self._start(self)

    def attach(self, run: Run) -> None:
        """The run exists now: hand on what was wished before."""
        self._run = run
        for wish in self._early:
            run.stop(wish)

    async def wait(self) -> ChainResult:
        """The result. Cancelling the waiting task does not stop the run."""
        assert self._future is not None, "begin() comes first"
        return await asyncio.shield(asyncio.wrap_future(self._future))

    def result(self) -> ChainResult:
        """The result, for callers without an event loop. Looks up often: a signal that another thread got is handled then."""
        assert self._future is not None, "begin() comes first"
        while not self._future.done():
            wait_for_futures([self._future], timeout=LOOK_S)
        return self._future.result()

    def cancel(self) -> None:
        """INT, a second, TERM, a second, KILL, to everything of the run; returns at once."""
        self._stop(Stop.CANCEL)

    def kill(self) -> None:
        """KILL now."""
        self._stop(Stop.KILL)

    def _stop(self, wish: Stop) -> None:
        if self._run is None:
            self._early.append(wish)
        else:
            self._run.stop(wish)


class Executor:
    """Runs lines one after the other, and keeps what lasts between them."""

    def __init__(self, table: CommandTable, place: Place, jobs: JobTable | None = None) -> None:
        self.table = table
        self.state = ShellState(place.cwd, dict(place.env))
        self.jobs = jobs if jobs is not None else JobTable()
        self._place = place
        self._output = place.folder / "cmd-output"
        self._names = re.compile("|".join(rf"\b{re.escape(command.declaration.name)}\b" for command in table) or r"(?!)")
        self._numbers = max(place.last_number, _last_number(self._output))
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="run")
        self._clients: Clients | None = None
        self._runners: dict[int, CommandRunner] = {}
        """By number, of the run that goes on and of those whose jobs may still call our commands."""
        become_subreaper()

    def plan(self, source: str, *, raw: bool = False) -> Chain:
        """The routed chain, nothing run. Raises CommandError for a line that no shell could be given."""
        if "\0" in source:
            raise CommandError("the command holds a NUL character", hint="printf '\\0' in the command", code=ErrorCode.SYNTAX)
        if not raw:
            _refuse(source)
        own = () if raw else tuple(command.declaration.name for command in self.table)
        return Router(self.table, self.state, raw).plan(parse_chain(source, own))

    def prepare(self, source: str, request: RunRequest) -> RunHandle:
        """Parse and route; nothing is started before `begin`. Raises CommandError as `plan` does."""
        chain = self.plan(source)
        self._numbers += 1
        number = self._numbers
        path = str(self._output / f"cmd-{number}.txt")
        return RunHandle(
            number, chain, path, request.tool_call_id, lambda handle: self._pool.submit(self._execute, handle, request)
        )

    def run_raw(self, source: str, on_run: Callable[[Run], None] | None = None) -> ChainResult:
        """`exec --raw`: our own stdin, stdout and stderr, bash's statuses, no limits, no spools, on this thread."""
        chain = self.plan(source, raw=True)
        plan = RunPlan(0, chain, None, self._place.spool_limit_bytes, ignore, self._client_path(chain, 0), None)
        router = Router(self.table, self.state, raw=True)
        runner = self._commands(0)
        run = Run(RunParts(plan, router, InheritedStreams(), runner, self._family(runner)))
        if on_run is not None:
            on_run(run)
        return run.execute()

    def close(self) -> tuple[Job, ...]:
        """End jobs and clients; return the jobs that were still alive."""
        self._pool.shutdown(wait=True)
        survivors = self.jobs.close()
        if self._clients is not None:
            self._clients.close()
            self._clients = None
        return survivors

    # -----------------------------------------------------------------------------------------------------------------

    def _execute(self, handle: RunHandle, request: RunRequest) -> ChainResult:
        number = handle.number
        self._output.mkdir(mode=0o700, parents=True, exist_ok=True)

        def grew(stage: int | None, path: str, size: int) -> None:
            request.on_event(OutputGrew(number, stage, path, size))

        def limit(reason: str) -> None:
            if reason:
                run.notes.append(reason)
            run.stop(Stop.OUTPUT_LIMIT)

        with _stdin(request.stdin) as stdin:
            spool = Spool(self._output / f"cmd-{number}", self._place.spool_limit_bytes, grew, limit)
            streams = SpooledStreams(spool, stdin)
            runner = self._commands(number)
            plan = RunPlan(
                number,
                handle.chain,
                request.timeout_s,
                self._place.spool_limit_bytes,
                request.on_event,
                self._client_path(handle.chain, number),
                StateReport(self._place.folder, number),
                self._place.ulimit,
            )
            run = Run(RunParts(plan, Router(self.table, self.state), streams, runner, self._family(runner)))
            handle.attach(run)
            before = self.state.changes()
            result = replace(_explained(run.execute(), runner), images=tuple(runner.images), artifacts=runner.artifacts)
        if (after := self.state.changes()) != before:
            result = replace(result, exports=after)
        if result.ended is Ended.EXITED and (job := self._survivors(handle, run, spool)) is not None:
            return replace(result, jobs=(job,))
        del self._runners[number]
        return result

    def _survivors(self, handle: RunHandle, run: Run, spool: Spool) -> BackgroundJob | None:
        if run.family.might_have_survivors() and run.family.alive():
            return self.jobs.add(handle.chain.source, run.family, spool)
        spool.close()
        return None

    def _family(self, runner: CommandRunner) -> Family:
        return Family(lambda: frozenset(self._place.own_pids()) | self.jobs.pids(), runner.stop)

    def _commands(self, number: int) -> CommandRunner:
        runner = self._runners[number] = CommandRunner(self._output / f"cmd-{number}")
        return runner

    def _client_path(self, chain: Chain, number: int) -> str | None:
        """The clients' folder as this run has it, when the line names a command of ours where we cannot run it ourselves.

        The environment stays exactly the session's for all other lines.
        """
        stages = [stage for pipeline in chain.pipelines for stage in pipeline.stages]
        if not any(stage.kind is not StageKind.COMMAND and self._names.search(stage.text) for stage in stages):
            return None
        if self._clients is None:
            self._clients = Clients(
                self._place.folder / "clients", [command.declaration.name for command in self.table], self._serve_client
            )
        return self._clients.path_for(number)

    def _serve_client(self, call: Call, descriptors: Descriptors, cancelled: threading.Event) -> int:
        command = self.table.get(call.argv[0])
        runner = self._runners.get(call.run)
        if command is None or runner is None:
            return 127
        end = runner.run(command, call.argv, descriptors, Surroundings(call.cwd, call.env), cancelled)
        runner.client_failure = end.failure or runner.client_failure
        return end.status


def _refuse(source: str) -> None:
    """Raise CommandError for what must not even begin."""
    if ends_agentclip(source, os.getpid(), os.getpgrp()):
        raise CommandError(
            "this kill would end agentclip itself", hint="jobs kill N, or kill another pid", code=ErrorCode.DENIED
        )
    if fault := unfinished_document(source):
        raise CommandError(f"{fault}; nothing was run", hint="run(command, stdin=TEXT)", code=ErrorCode.SYNTAX)


def _explained(result: ChainResult, runner: CommandRunner) -> ChainResult:
    """The result with the last failure of our commands inside bash on the last bash that ended with its status."""
    failure = runner.client_failure
    if failure is None:
        return result
    of_bash = (s for s in reversed(result.stages) if s.kind is StageKind.SHELL and s.status == failure.code.exit_status)
    stage = next(of_bash, None)
    stages = tuple(replace(each, failure=failure) if each is stage else each for each in result.stages)
    return replace(result, stages=stages)


@contextlib.contextmanager
def _stdin(text: str | None) -> Iterator[int]:
    """A descriptor to read the text from; /dev/null for None. A file, so that all pipelines of a chain share one offset."""
    if text is None:
        descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.seek(0)
            descriptor = os.dup(file.fileno())
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _last_number(folder: Path) -> int:
    """The highest N of the spools that are there: numbers never repeat within a session."""
    names = os.listdir(folder) if folder.is_dir() else []
    return max((int(match[1]) for name in names if (match := SPOOL_NAME.match(name))), default=0)
