"""A new session on the screen: the picture first, everything else behind it.

Nothing but the screen is imported here. Layers, store and model come on a thread while the person already types.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
from collections.abc import Callable
from contextlib import AsyncExitStack

from agentclip.cli.course import Course
from agentclip.cli.output import log_to_file
from agentclip.cli.terminals import exit_status, forget_the_size
from agentclip.errors import AgentclipError
from agentclip.model.providers import usual_model
from agentclip.model.unconfigured import UnconfiguredModel, first_screen
from agentclip.ui.agent_api import AgentApi
from agentclip.ui.app import ChatApp
from agentclip.ui.late_agent import LateAgent


def begin(course: Course, prompt: str | None) -> int:
    """Run the screen until the person quits; print how to come back. Raises AgentclipError: there can be no session."""
    return asyncio.run(_begin(course, prompt))


async def _begin(course: Course, prompt: str | None) -> int:
    log_to_file()
    forget_the_size()
    settings, environ = course.settings, course.environ
    refused: list[AgentclipError] = []
    farewells: list[Callable[[], None]] = []
    async with AsyncExitStack() as stack:

        async def build() -> AgentApi:
            # On a thread: the keyboard is answered meanwhile.
            screen = await asyncio.to_thread(importlib.import_module, "agentclip.cli.screen")
            talk = await screen.new_conversation(settings, environ, stack)
            farewells.append(lambda: screen.say_goodbye(talk))
            course.talk = talk
            gc.collect()
            gc.freeze()  # what is alive now stays: the collector never walks through it again
            agent: AgentApi = talk.agent
            return agent

        def failed(error: AgentclipError) -> None:
            refused.append(error)
            app.end(error.code.exit_status)

        name = settings.model or ("default" if settings.api_base else usual_model(environ))
        agent = LateAgent(name or UnconfiguredModel.name, build, failed)
        app = ChatApp(agent, course.options(first_screen=() if name else first_screen(environ)))
        if prompt:
            agent.submit(prompt)
        status = await app.run_async()
    for farewell in farewells:
        farewell()
    for error in refused:
        raise error
    return exit_status(app, status)
