"""Opening the screen on a session and closing it again, for `chat` and `demo`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct

from agentclip import runtime
from agentclip.cli.course import Course
from agentclip.cli.execute import name_survivors
from agentclip.cli.options import environment_with_keys
from agentclip.cli.output import log_to_file, say, way_back
from agentclip.cli.terminals import exit_status, forget_the_size
from agentclip.config import Settings
from agentclip.model.base import Model
from agentclip.model.choose import choose_light_model, choose_model
from agentclip.model.unconfigured import UnconfiguredModel
from agentclip.runtime import Conversation
from agentclip.store.session import Session
from agentclip.ui.first_picture import first_picture
from agentclip.ui.options import ScreenOptions


class Opening(Struct, frozen=True):
    """What the screen begins with."""

    prompt: str | None = None
    """Sent at once; None for nothing."""
    first_screen: tuple[str, ...] = ()
    """What to say when no model is configured."""
    pick_session: bool = False
    """Begin with the list of sessions."""
    course: Course | None = None
    """None where one goes nowhere else from here."""


async def show(settings: Settings, model: Model, session: Session, opening: Opening) -> int:
    """Run the screen until the person quits; print how to come back."""
    log_to_file()
    forget_the_size()
    with first_picture(settings.theme, os.environ, new=not session.begun):
        return await _show(settings, model, session, opening)


async def _show(settings: Settings, model: Model, session: Session, opening: Opening) -> int:
    # The screen is imported here: nothing else pays for it.
    from agentclip.ui.app import ChatApp  # noqa: PLC0415  registered deferred import

    async with runtime.conversation(settings, model, session, choose_light_model(settings, environment_with_keys())) as talk:
        app = ChatApp(talk.agent, _options(settings, opening))
        if opening.course is not None:
            opening.course.talk = talk
        if opening.prompt:
            talk.agent.submit(opening.prompt)
        status = await app.run_async()
    say_goodbye(talk)
    return exit_status(app, status)


def _options(settings: Settings, opening: Opening) -> ScreenOptions:
    if opening.course is None:
        return ScreenOptions(
            settings.theme, opening.first_screen or None, notify=settings.notify, notify_after_s=settings.notify_after_s
        )
    return opening.course.options(first_screen=opening.first_screen, pick_session=opening.pick_session)


async def conversation(
    settings: Settings, environ: Mapping[str, str], stack: AsyncExitStack, session: Session | None
) -> Conversation:
    """A session, or a new one of this directory, with the configured model; closed with `stack`. Raises AgentclipError."""
    model = choose_model(settings, environ) or UnconfiguredModel()
    session = session or runtime.open_session(None, Path.cwd(), model.name)
    return await stack.enter_async_context(
        runtime.conversation(settings, model, session, choose_light_model(settings, environ))
    )


def say_goodbye(talk: Conversation) -> None:
    """What is left alive, and how to come back."""
    with contextlib.suppress(OSError):  # the terminal is gone
        name_survivors(talk.survivors)
    if talk.session.begun:
        say(way_back(talk.session.id))
