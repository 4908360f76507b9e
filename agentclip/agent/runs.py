"""Runs of Layer 1, seen from the loop: a line comes in; CommandStarted, what happens, and CommandFinished go out.

The run is stored before its first process starts, and its result before anyone else may go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from msgspec import Struct

from agentclip.agent.resume import lost_result
from agentclip.agent.tool import WantedRun
from agentclip.errors import one_line
from agentclip.events import CommandFinished, CommandStarted, Event, OutputGrew, StageFinished, StageProgress, StageStarted
from agentclip.present.machine import Machine
from agentclip.present.shown import show
from agentclip.results import ChainResult, Limits
from agentclip.shell.execute import Executor, RunHandle, RunRequest


class Runs(Struct):
    """Does one run at a time and knows which."""

    executor: Executor
    limits: Limits
    record: Callable[[Event], None]
    """Stores an event and tells it."""
    tell: Callable[[Event], None]
    active: RunHandle | None = None

    async def run(self, wanted: WantedRun, timeout_s: int | None, tool_call_id: str | None) -> None:
        """Run to the end, through both layers.

        Raises:
            CommandError: no shell could be given this line; nothing was stored.
        """
        loop = asyncio.get_running_loop()

        def on_event(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens to a job's output any more
                loop.call_soon_threadsafe(self._forward, event)

        request = RunRequest(wanted.stdin, timeout_s, tool_call_id, on_event)
        handle = self.executor.prepare(wanted.command, request)
        started = CommandStarted(handle.number, tool_call_id, wanted.command, handle.chain, handle.stdout_path)
        self.record(started)
        self.active = handle
        done = False
        try:
            result = await _result(handle, started)
            shown = await asyncio.to_thread(show, result, self.limits, self._machine())
            self.record(CommandFinished(handle.number, tool_call_id, result, shown))
            done = True
        finally:
            if not done:
                handle.kill()  # not awaited: a second cancel cannot skip it
            self.active = None

    def open_jobs(self) -> list[str]:
        """What still runs in the background, one line each."""
        alive = (job for job in self.executor.jobs.all() if job.look())
        return [f"- job {job.number}: {one_line(job.command)} (pids {', '.join(map(str, job.pids))})" for job in alive]

    def _machine(self) -> Machine:
        """What hints may name: the session's words and programs."""
        state = self.executor.state
        return Machine(self.executor.table.names(), state.env.get("PATH", os.defpath), state.cwd)

    def _forward(self, event: Event) -> None:
        """Tell what a run says of itself; a background job that goes on printing is no part of it any more."""
        match event:
            case StageStarted() | StageProgress() | StageFinished() | OutputGrew():
                if self.active is not None and event.number == self.active.number:
                    self.tell(event)
            case _:
                self.tell(event)


async def _result(handle: RunHandle, started: CommandStarted) -> ChainResult:
    """The result of the run; when the machine could not do it (no space, no process), what there is and why."""
    try:
        handle.begin()
        return await handle.wait()
    except OSError as error:
        return lost_result(started, f"the run failed: {error}")
