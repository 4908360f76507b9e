"""Opening the screen and closing it again, for `chat` and `demo`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import click

from agentclip import runtime
from agentclip.cli.execute import name_survivors
from agentclip.cli.options import light_model
from agentclip.cli.output import log_to_file
from agentclip.config import Settings
from agentclip.model.base import Model
from agentclip.store.session import Session


@dataclass(frozen=True, slots=True)
class Opening:
    """What the screen begins with."""

    prompt: str | None = None
    """Sent at once; None for nothing."""
    first_screen: tuple[str, ...] = ()
    """What to say when no model is configured."""


async def show(settings: Settings, model: Model, session: Session, opening: Opening) -> int:
    """Run the screen until the person quits; print how to come back."""
    log_to_file()
    for name in ("COLUMNS", "LINES"):  # an exported size is that of another moment; the terminal knows
        os.environ.pop(name, None)
    # The screen is imported here: nothing else pays for it.
    from agentclip.ui.app import ChatApp, ScreenOptions  # noqa: PLC0415  registered deferred import

    async with runtime.conversation(settings, model, session, light_model(settings)) as talk:
        app = ChatApp(talk.agent, ScreenOptions(settings.theme, opening.first_screen or None))
        if opening.prompt:
            talk.agent.submit(opening.prompt)
        status = await app.run_async()
    name_survivors(talk.survivors)
    if session.begun:
        click.echo(f"To come back: agentclip --resume {session.id}")
    # A screen that crashed returns nothing: its own exit status tells.
    return status if isinstance(status, int) else app.return_code or 0


def is_screen() -> bool:
    """Whether stdin and stdout are a terminal that can show the screen."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
