"""A session on the screen: the picture first, everything else behind it.

Nothing but the screen is imported here, and of a saved session what reads it. Layers and model come on a thread while the
person already types.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from agentclip import paths
from agentclip.cli.course import Course
from agentclip.cli.output import log_to_file, say, way_back
from agentclip.cli.terminals import exit_status, forget_the_size
from agentclip.errors import AgentclipError
from agentclip.events import CommandFinished, Notice, TurnFinished
from agentclip.model.providers import usual_model
from agentclip.model.unconfigured import UnconfiguredModel, first_screen
from agentclip.ui.agent_api import AgentApi
from agentclip.ui.app import ChatApp
from agentclip.ui.late_agent import LateAgent, Saved

if TYPE_CHECKING:
    from agentclip.store.session import Session


def begin(course: Course, prompt: str | None, resume: str | None) -> int:
    """Run the screen until the person quits; print how to come back. `resume` is the id of a saved session.

    Raises:
        AgentclipError: there can be no session.
    """
    return asyncio.run(_begin(course, prompt, None if resume is None else _open(resume)))


def _open(resume: str) -> Session:
    from agentclip.store.session import Session  # noqa: PLC0415  registered deferred import

    session = Session.open(paths.sessions_dir(), resume)
    if not os.path.isdir(session.last_cwd):
        from agentclip.cli.sessions import settle  # noqa: PLC0415  registered deferred import

        settle(session, ask=True)
    return session


def _nothing_yet(session: Session | None) -> None:
    """The person left before there was an agent."""
    if session is not None:
        say(way_back(session.id))


def _is_over(saved: Saved) -> bool:
    return not saved.events or isinstance(saved.events[-1].event, TurnFinished | CommandFinished | Notice)


async def _begin(course: Course, prompt: str | None, session: Session | None) -> int:
    log_to_file()
    forget_the_size()
    settings, environ = course.settings, course.environ
    refused: list[AgentclipError] = []
    farewells: list[Callable[[], None]] = []
    async with AsyncExitStack() as stack:
        if session is not None:
            stack.callback(session.close)

        async def build() -> AgentApi:
            # On a thread: the keyboard is answered meanwhile.
            screen = await asyncio.to_thread(importlib.import_module, "agentclip.cli.screen")
            talk = await screen.conversation(settings, environ, stack, session)
            farewells.append(lambda: screen.say_goodbye(talk))
            course.talk = talk
            gc.collect()
            gc.freeze()  # what is alive now stays: the collector never walks through it again
            made: AgentApi = talk.agent
            return made

        def failed(error: AgentclipError) -> None:
            refused.append(error)
            app.end(error.code.exit_status)

        name = settings.model or ("default" if settings.api_base else usual_model(environ))
        saved = None if session is None else Saved(session.id, session.meta.title, session.events)
        late = LateAgent(name or UnconfiguredModel.name, build, failed, saved)
        # What was interrupted must not look for a moment as if it still ran: the agent puts an end to it.
        agent: AgentApi = late if saved is None or _is_over(saved) else await build()
        app = ChatApp(agent, course.options(first_screen=() if name else first_screen(environ)))
        if prompt:
            agent.submit(prompt)
        status = await app.run_async()
    for farewell in farewells or [partial(_nothing_yet, session)]:
        farewell()
    for error in refused:
        raise error
    return exit_status(app, status)
