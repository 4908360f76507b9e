"""One run: a planned chain on real processes, synchronously, on the thread that calls `execute`.

Others talk to it through `stop` alone, from any thread. Nothing in here is awaited, so no cancelled task can skip a clean-up.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time

from msgspec.structs import replace

from agentclip.events import StageFinished, StageProgress
from agentclip.results import ChainResult, Ended, Join, Pipeline, StageKind, StageResult, StreamFile
from agentclip.shell.faults import syntax_fault
from agentclip.shell.ladder import STATUS, Ladder, Stop
from agentclip.shell.launch import Launcher, RunParts
from agentclip.shell.stages import RunningStage, ThreadStage, bytes_moved

ABANDON_AFTER_S = 0.5
"""How long a command on a thread has after the last rung before the run goes on without it."""
PROGRESS_EVERY_S = 0.25
"""How often the bytes of running stages are told."""
LOOK_EVERY_S = 0.05
"""How often the living are counted while a ladder runs."""


class Run:
    """See the module."""

    def __init__(self, parts: RunParts) -> None:
        self.plan = parts.plan
        self.family = parts.family
        self.notes: list[str] = []
        self._router = parts.router
        self._state = parts.router.state
        self._streams = parts.streams
        self._launcher = Launcher(parts, self._wake)
        self._wishes: list[Stop] = []
        self._ladder: Ladder | None = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        # A signal handler may interrupt `stop` and call it again.
        self._lock = threading.RLock()
        self._results: list[StageResult] = []
        self._last_statuses: tuple[int, ...] = ()
        self._status = 0
        self._origin = self._told = time.monotonic()
        self._moved: dict[int, tuple[int, int]] = {}
        """Bytes of each stage as they were told last."""

    # --- from any thread -------------------------------------------------------------------------------------------

    def stop(self, why: Stop) -> None:
        """Ask for the end; returns at once."""
        with self._lock:
            self._wishes.append(why)
        self._wake()

    def cancel(self) -> None:
        """Start the ladder; returns at once."""
        self.stop(Stop.CANCEL)

    def kill(self) -> None:
        """KILL now; returns at once."""
        self.stop(Stop.KILL)

    def _wake(self) -> None:
        with self._lock:
            if self._wake_write >= 0:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_write, b"w")

    # --- on the run's own thread -------------------------------------------------------------------------------------

    def execute(self) -> ChainResult:
        """Run everything and return when nothing but background jobs lives."""
        self._origin = self._launcher.origin = time.monotonic()
        cwd_before = self._state.cwd
        if note := self._state.recover_cwd():
            self.notes.append(note)
        self._launcher.hold_directory()
        try:
            for pipeline in self.plan.chain.pipelines:
                self._take_wishes()
                if self._ladder is not None:
                    break
                if self._is_due(pipeline):
                    self._pipeline(pipeline)
            self._end_descendants()
            self._streams.no_more_stages()
        finally:
            self._close()
        return self._result(cwd_before)

    def _is_due(self, pipeline: Pipeline) -> bool:
        match pipeline.join:
            case Join.ALWAYS:
                return True
            case Join.SUCCESS:
                return self._status == 0
            case Join.FAILURE:
                return self._status != 0

    def _pipeline(self, pipeline: Pipeline) -> None:
        routed = self._router.plan_pipeline(pipeline, whole=self.plan.chain.whole)
        if len(routed.stages) == 1 and routed.stages[0].kind is StageKind.STATE:
            results: tuple[StageResult, ...] = (self._launcher.change_state(routed.stages[0], len(self._results)),)
        else:
            results = self._wait(self._launcher.start(routed, len(self._results)))
        self._results.extend(results)
        self._last_statuses = tuple(result.status for result in results)
        status = self._last_statuses[-1]
        if not self._router.raw and (refusal := next((r for r in results if r.refused), None)) is not None:
            status = status or refusal.status
        self._status = int(status == 0) if routed.negated else status

    # --- waiting -----------------------------------------------------------------------------------------------------

    def _wait(self, stages: list[RunningStage]) -> tuple[StageResult, ...]:
        pending = list(stages)
        while pending:
            self._take_wishes()
            self._climb(pending)
            for stage in [stage for stage in pending if stage.ended()]:
                pending.remove(stage)
                if stage.pid is not None:
                    self.family.leader_is_reaped(stage.pid)
                result = stage.result(self._origin)
                self.plan.on_event(StageFinished(self.plan.number, stage.index, result.status, result.duration_s))
            if pending:
                self._sleep(pending)
                self._tell_progress(pending)
        return tuple(stage.result(self._origin) for stage in stages)

    def _sleep(self, pending: list[RunningStage]) -> None:
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        only_polled = False
        for stage in pending:
            descriptor = stage.descriptor()
            if descriptor is not None:
                poller.register(descriptor, select.POLLIN)
            only_polled |= descriptor is None and stage.pid is not None
        ready = poller.poll(self._timeout_ms(only_polled=only_polled))
        if any(descriptor == self._wake_read for descriptor, _ in ready):
            os.read(self._wake_read, 4096)

    def _tell_progress(self, pending: list[RunningStage]) -> None:
        now = time.monotonic()
        if now - self._told < PROGRESS_EVERY_S:
            return
        self._told = now
        for stage in pending:
            if stage.pid is not None:
                read, written = bytes_moved(stage.pid)
                if read is not None and written is not None and self._moved.get(stage.index) != (read, written):
                    self._moved[stage.index] = (read, written)
                    self.plan.on_event(StageProgress(self.plan.number, stage.index, read, written))

    def _timeout_ms(self, *, only_polled: bool) -> float:
        now = time.monotonic()
        waits = [0.005 if only_polled else PROGRESS_EVERY_S]
        if self._ladder is not None:
            waits.append(LOOK_EVERY_S)
        elif self.plan.timeout_s is not None:
            waits.append(max(0.0, self._origin + self.plan.timeout_s - now))
        return min(waits) * 1000 + 1

    def _take_wishes(self) -> None:
        with self._lock:
            wishes, self._wishes = self._wishes, []
        now = time.monotonic()
        if self.plan.timeout_s is not None and now - self._origin >= self.plan.timeout_s:
            wishes.append(Stop.TIMEOUT)
        for wish in wishes:
            if self._ladder is None or self._ladder.overrides(wish):
                self._ladder = Ladder(wish, now)

    def _climb(self, pending: list[RunningStage]) -> None:
        if self._ladder is None:
            return
        now = time.monotonic()
        while (number := self._ladder.due(now)) is not None:
            if number is signal.SIGKILL:
                self.family.kill_all()
            else:
                self.family.signal(number)
        if self._ladder.next_at() is None and now - self._ladder.since > ABANDON_AFTER_S:
            for stage in pending:
                if isinstance(stage, ThreadStage):
                    stage.abandon(STATUS[self._ladder.stop.ended])

    def _end_descendants(self) -> None:
        """After a stop, nothing of the run may live, its background jobs included."""
        self._take_wishes()
        while self._ladder is not None and self.family.alive():
            if self._ladder.next_at() is None:
                self.family.kill_all()
                return
            self._climb([])
            self._sleep([])
            self._take_wishes()

    # --- the end -----------------------------------------------------------------------------------------------------

    def _close(self) -> None:
        with self._lock:
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._wake_write = -1
        self._launcher.close()

    def _result(self, cwd_before: str) -> ChainResult:
        self._adopt_report()
        self._explain()
        ended = self._ladder.stop.ended if self._ladder is not None else Ended.EXITED
        limits = {Ended.TIMEOUT: int(self.plan.timeout_s or 0), Ended.OUTPUT_LIMIT: self.plan.limit_bytes}
        stages = tuple(replace(result, stderr=self._streams.stderr_file(result.index)) for result in self._results)
        return ChainResult(
            number=self.plan.number,
            chain=self.plan.chain,
            status=STATUS.get(ended, self._status),
            stdout=self._streams.stdout_file(),
            stages=stages,
            last_statuses=self._last_statuses,
            duration_s=time.monotonic() - self._origin,
            ended=ended,
            limit=limits.get(ended),
            cwd=self._state.cwd,
            cwd_changed=self._state.cwd != cwd_before,
            notes=tuple(self.notes),
        )

    def _explain(self) -> None:
        """Say more than bash, which names the token it stumbled over: the column, and what is missing."""
        if self._status != 2 or not self.plan.chain.whole or self._router.raw:
            return
        errors = self._streams.stderr_file(0)
        if errors is not None and _tells_syntax_error(errors) and (fault := syntax_fault(self.plan.chain.source)):
            self.notes.append(f"syntax error at {fault}")

    def _adopt_report(self) -> None:
        if not self.plan.chain.whole or self.plan.report is None or not self._results:
            return
        report = self.plan.report.read()
        if report is not None:
            cwd, env = report
            self._state.adopt(cwd, self._launcher.without_clients(env))
        elif self._ladder is None:
            self.notes.append(
                "the line told nothing of its working directory and exports (trap, exec or a kill): they stay as before"
            )


def _tells_syntax_error(errors: StreamFile) -> bool:
    with open(errors.path, "rb") as file:
        said = file.read(4096)
    return b"syntax error" in said or b"unexpected EOF" in said
