"""The only place that builds everything, and closes it: settings come in, a ready executor or agent goes out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agentclip import __version__, paths
from agentclip.agent.loop import Agent
from agentclip.agent.options import AgentOptions
from agentclip.agent.prompt import instructions
from agentclip.command import CommandTable
from agentclip.commands.catalog import built_in_commands
from agentclip.commands.usage import tool_description_lines
from agentclip.config import Settings
from agentclip.model.base import Model
from agentclip.model.catalog import ModelChoice, make_model
from agentclip.model.providers import find_providers
from agentclip.model.remote import WorkerModel
from agentclip.present.presenter import present
from agentclip.results import ChainResult, Limits, Presented
from agentclip.shell.execute import Executor, Place, RunRequest
from agentclip.shell.jobs import Job, JobTable
from agentclip.shell.state import command_environment
from agentclip.sources import SessionJobs, SessionTopics
from agentclip.store.session import Session, new_id


class Stoppable(Protocol):
    """A run, as far as a signal handler may touch it."""

    def cancel(self) -> None:
        """Start the ladder."""

    def kill(self) -> None:
        """KILL now."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Both layers without a model."""

    executor: Executor
    limits: Limits
    timeout_s: int

    def run(self, source: str, on_run: Callable[[Stoppable], None]) -> tuple[ChainResult, Presented]:
        """Run one line to its end. Raises CommandError when it cannot be given to any shell."""
        handle = self.executor.prepare(source, RunRequest(timeout_s=self.timeout_s))
        on_run(handle)
        handle.begin()
        result = handle.result()
        return result, present(result, self.limits)


@contextlib.contextmanager
def lines(settings: Settings, environment: Mapping[str, str], on_end: Callable[[tuple[Job, ...]], None]) -> Iterator[Lines]:
    """Both layers in a new folder of `exec`; `on_end` is told which jobs were still alive and have been ended."""
    executor = _executor(settings, paths.exec_dir() / new_id(), Path.cwd(), environment)
    try:
        yield Lines(executor, limits(settings), settings.timeout_s)
    finally:
        on_end(executor.close())


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session at work: what the screen and `run` get."""

    agent: Agent
    session: Session
    executor: Executor
    survivors: list[Job] = field(default_factory=list)
    """Filled at the end: jobs that were still alive."""


@contextlib.asynccontextmanager
async def conversation(settings: Settings, model: Model, session: Session) -> AsyncIterator[Conversation]:
    """An agent for the session, with everything it needs; all of it is closed at the end."""
    environment = command_environment(os.environ, settings.pass_env)
    executor = _executor(settings, session.folder, Path(session.last_cwd), environment, _pids(model))
    told = instructions(tool_description_lines(executor.table), session.meta.cwd)
    session.use_model(model.name)
    agent = Agent(model=model, executor=executor, session=session, instructions=told, options=_options(settings))
    talk = Conversation(agent, session, executor)
    try:
        yield talk
    finally:
        await agent.close()
        await model.aclose()
        # Not awaited: nothing may live when we are gone, whoever cancels whom.
        talk.survivors.extend(executor.close())
        session.close()


def _options(settings: Settings) -> AgentOptions:
    return AgentOptions(
        limits=limits(settings),
        timeout_s=settings.timeout_s,
        max_timeout_s=settings.max_timeout_s,
        max_steps=settings.max_steps or None,
    )


def _pids(model: Model) -> Callable[[], Collection[int]]:
    """The model's own processes, which no run may touch."""

    def pids() -> Collection[int]:
        pid = model.worker_pid if isinstance(model, WorkerModel) else None
        return () if pid is None else (pid,)

    return pids


def open_session(resume: str | None, cwd: Path, model_name: str) -> Session:
    """A saved session by id, or a new one of `cwd` when `resume` is None. Raises SessionError."""
    if resume is not None:
        return Session.open(paths.sessions_dir(), resume)
    return Session.create(paths.sessions_dir(), str(cwd), model_name, __version__)


def choose_model(settings: Settings, environ: Mapping[str, str]) -> Model | None:
    """The configured model, or the usual one of the first provider with a key; None when there is neither.

    A provider's process starts at once, so that its imports overlap with ours.

    Raises:
        ConfigError: nobody serves that name, or its key is missing.
    """
    name = settings.model or ("default" if settings.api_base else _usual_model(environ))
    if name is None:
        return None
    choice = ModelChoice(
        name,
        settings.api_base,
        key=None if settings.api_key_env is None else environ.get(settings.api_key_env, ""),
        stall_timeout_s=settings.stall_s,
        stream=settings.stream,
    )
    model = make_model(choice, environ, paths.state_dir() / "model.log")
    if isinstance(model, WorkerModel):
        model.start()
    return model


def _usual_model(environ: Mapping[str, str]) -> str | None:
    found = (looked.provider.example for looked in find_providers(environ) if looked.found and looked.provider.example)
    return next(found, None)


def first_screen(environ: Mapping[str, str]) -> tuple[str, ...]:
    """What to say when no model is configured: what was looked for, and what can be done all the same."""
    keys = [looked.provider.key_variable for looked in find_providers(environ) if not looked.provider.is_local]
    servers = [looked.provider for looked in find_providers(environ) if looked.provider.is_local]
    return (
        "No model is configured.",
        f"Looked for a key in: {', '.join(keys)} (none is set), and for `model.name` in {paths.config_file()}.",
        "A local server works without a key: " + ", ".join(f"{each.name} --api-base {each.api_base}" for each in servers),
        "What works now: lines that begin with ! run through both layers, for example  !ls -la | head 5",
        "See a recorded session whose commands really run:  agentclip demo",
    )


def _executor(
    settings: Settings,
    folder: Path,
    cwd: Path,
    environment: Mapping[str, str],
    own_pids: Callable[[], Collection[int]] = frozenset,
) -> Executor:
    jobs = JobTable()
    ulimits = (("-v", settings.max_memory_mb * 1024), ("-u", settings.max_processes))
    ulimit = "; ".join(f"ulimit {flag} {value}" for flag, value in ulimits if value)
    place = Place(folder, str(cwd), environment, settings.spool_limit_mb * 1024 * 1024, ulimit, own_pids)
    return Executor(command_table(jobs), place, jobs)


def command_table(jobs: JobTable) -> CommandTable:
    """All commands of ours."""
    return built_in_commands(SessionTopics(paths.sessions_dir()), SessionJobs(jobs))


def limits(settings: Settings) -> Limits:
    """Budgets of what the model reads of one result."""
    return Limits(lines=settings.result_lines, bytes=settings.result_kb * 1024, encoding=settings.encoding)


def tool_description() -> str:
    """What the model is told about `run`."""
    return instructions(tool_description_lines(command_table(JobTable())), os.getcwd()).tool.description
