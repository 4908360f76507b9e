"""The only place that builds everything, and closes it: settings come in, a ready executor or agent goes out."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from agentclip import __version__, paths
from agentclip.agent.loop import Agent
from agentclip.agent.options import AgentOptions
from agentclip.agent.prompt import instructions
from agentclip.command import CommandTable
from agentclip.commands.catalog import built_in_commands
from agentclip.commands.plugins import add_plugins
from agentclip.commands.usage import tool_description_lines
from agentclip.config import Settings
from agentclip.model.base import Model
from agentclip.model.remote import WorkerModel
from agentclip.model.replay import ReplayModel
from agentclip.present.encoding import declared_by
from agentclip.present.machine import Machine
from agentclip.present.shown import show
from agentclip.results import ChainResult, Limits, Presented
from agentclip.shell.execute import Executor, Place, RunRequest
from agentclip.shell.jobs import Job, JobTable
from agentclip.shell.state import command_environment
from agentclip.sources import SessionJobs, SessionTopics, command_uses
from agentclip.store.retention import Keep, held, sweep_if_due
from agentclip.store.session import Session, new_id

SWEEP_AFTER_S = 5.0
"""The screen is painted and the first model call is out by then."""
SWEEP_WAIT_S = 1.0
"""How long the end may wait for a sweep; its own limit is shorter."""


class Stoppable(Protocol):
    """A run, as far as a signal handler may touch it."""

    def cancel(self) -> None:
        """Start the ladder."""

    def kill(self) -> None:
        """KILL now."""


class Lines(Struct, frozen=True):
    """Both layers without a model."""

    executor: Executor
    limits: Limits
    timeout_s: int
    folder: Path
    """Where the spools go; not removed by others before `open` is closed."""
    open: contextlib.ExitStack

    def run(self, source: str, on_run: Callable[[Stoppable], None]) -> tuple[ChainResult, Presented]:
        """Run one line to its end. Raises CommandError when it cannot be given to any shell."""
        handle = self.executor.prepare(source, RunRequest(timeout_s=self.timeout_s))
        self.open.enter_context(held(self.folder))
        on_run(handle)
        handle.begin()
        result = handle.result()
        state = self.executor.state
        machine = Machine(self.executor.table.names(), state.env.get("PATH", os.defpath), state.cwd)
        return result, show(result, self.limits, machine)


@contextlib.contextmanager
def lines(settings: Settings, environment: Mapping[str, str], on_end: Callable[[tuple[Job, ...]], None]) -> Iterator[Lines]:
    """Both layers in a new folder of `exec`; `on_end` is told which jobs were still alive and have been ended."""
    folder = paths.exec_dir() / new_id()
    executor = _executor(_place(settings, folder, Path.cwd(), environment))
    with contextlib.ExitStack() as stack, _old_output_removed(settings):
        try:
            yield Lines(executor, limits(settings, os.environ), settings.timeout_s, folder, stack)
        finally:
            on_end(executor.close())


class Conversation(Struct, frozen=True):
    """A session at work: what the screen and `run` get."""

    agent: Agent
    session: Session
    executor: Executor
    survivors: list[Job] = field(default_factory=list)
    """Filled at the end: jobs that were still alive."""
    models: list[Model] = field(default_factory=list)
    """The one that answers, then others that may have a process; closed at the end."""

    async def use_model(self, model: Model) -> None:
        """Let another model answer as soon as nothing runs; returns once the one before it is closed."""
        self.models.append(model)
        freed = await self.agent.use_model(model)
        if freed is not model:
            self.models.remove(model)
            self.models.insert(0, model)
        await freed.aclose()
        self.models.remove(freed)


@contextlib.asynccontextmanager
async def conversation(
    settings: Settings, model: Model, session: Session, light: Model | None = None
) -> AsyncIterator[Conversation]:
    """An agent for the session, with everything it needs; all of it is closed at the end.

    `light` judges progress; without one the model itself does.
    """
    environment = command_environment(os.environ, settings.pass_env)
    models = [each for each in (model, light) if each is not None]
    place = _place(settings, session.folder, Path(session.last_cwd or os.getcwd()), environment, _pids(models))
    executor = _executor(replace(place, last_number=session.last_number), session)
    executor.state.restore(session.exports)
    told = instructions(tool_description_lines(executor.table, command_uses(session)), session.meta.cwd)
    session.use_model(model.name)
    session.notices += tuple(executor.table.warnings)
    # A recording answers what it was recorded for, nothing else.
    options = replace(_options(settings), judge_progress=light is not None or not isinstance(model, ReplayModel))
    agent = Agent(model=model, executor=executor, session=session, instructions=told, options=options)
    if light is not None:
        agent.use_light_model(light)
    talk = Conversation(agent, session, executor, models=models)
    with _old_output_removed(settings):
        try:
            yield talk
        finally:
            await agent.close()
            for each in tuple(models):
                await each.aclose()
            # Not awaited: nothing may live when we are gone, whoever cancels whom.
            talk.survivors.extend(executor.close())
            session.close()


@contextlib.contextmanager
def _old_output_removed(settings: Settings) -> Iterator[None]:
    """Remove what commands of old left, on a thread: well after the start, or at the end when that comes first."""
    ended = threading.Event()
    keep = Keep(settings.keep_days, settings.keep_total_mb)

    def sweep() -> None:
        ended.wait(SWEEP_AFTER_S)
        sweep_if_due(paths.state_dir(), keep)

    thread = threading.Thread(target=sweep, name="retention", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(SWEEP_WAIT_S)


def _options(settings: Settings) -> AgentOptions:
    return AgentOptions(
        limits=limits(settings, os.environ),
        timeout_s=settings.timeout_s,
        max_timeout_s=settings.max_timeout_s,
        max_steps=settings.max_steps or None,
        max_tokens=settings.max_tokens or None,
        max_cost_usd=settings.max_cost_usd or None,
        max_time_s=settings.max_time_s or None,
        snapshot_max_tokens=settings.snapshot_max_tokens,
        loop_detection=settings.loop_detection,
    )


def _pids(models: Sequence[Model]) -> Callable[[], Collection[int]]:
    """The models' own processes, which no run may touch."""

    def pids() -> Collection[int]:
        found = (model.worker_pid for model in models if isinstance(model, WorkerModel))
        return [pid for pid in found if pid is not None]

    return pids


def open_session(resume: str | None, cwd: Path, model_name: str) -> Session:
    """A saved session by id, or a new one of `cwd` when `resume` is None. Raises SessionError."""
    if resume is not None:
        return Session.open(paths.sessions_dir(), resume)
    return Session.create(paths.sessions_dir(), str(cwd), model_name, __version__)


def _place(
    settings: Settings,
    folder: Path,
    cwd: Path,
    environment: Mapping[str, str],
    own_pids: Callable[[], Collection[int]] = frozenset,
) -> Place:
    ulimits = (("-v", settings.max_memory_mb * 1024), ("-u", settings.max_processes))
    ulimit = "; ".join(f"ulimit {flag} {value}" for flag, value in ulimits if value)
    return Place(folder, str(cwd), environment, settings.spool_limit_mb * 1024 * 1024, ulimit, own_pids)


def _executor(place: Place, session: Session | None = None) -> Executor:
    jobs = JobTable()
    return Executor(command_table(jobs, session), place, jobs)


def command_table(jobs: JobTable, session: Session | None = None) -> CommandTable:
    """All commands: ours, then those of plug-ins. `session` is the one that uses them."""
    table = built_in_commands(SessionTopics(paths.sessions_dir(), session), SessionJobs(jobs))
    add_plugins(table)
    return table


def limits(settings: Settings, environ: Mapping[str, str]) -> Limits:
    """Budgets of what the model reads of one result. The person's locale declares the encoding that no setting declares."""
    encoding = settings.encoding or declared_by(environ)
    return Limits(lines=settings.result_lines, bytes=settings.result_kb * 1024, encoding=encoding)


def tool_description() -> str:
    """What the model is told about `run`."""
    return instructions(tool_description_lines(command_table(JobTable())), os.getcwd()).tool.description
