"""Opening the line mode and closing it again."""

from __future__ import annotations

import contextlib
import os

from agentclip import runtime
from agentclip.cli.execute import name_survivors
from agentclip.cli.options import environment_with_keys
from agentclip.cli.output import log_to_file, way_back
from agentclip.cli.screen import Opening
from agentclip.cli.terminals import is_interactive
from agentclip.config import Settings
from agentclip.line.output import Tty
from agentclip.line.terminals import is_plain
from agentclip.model.base import Model
from agentclip.model.choose import choose_light_model
from agentclip.store.session import Session


async def converse(settings: Settings, model: Model, session: Session, opening: Opening) -> int:
    """Talk line by line until the person quits; print how to come back."""
    log_to_file()
    # Imported here: nothing else pays for the line editor, and this mode never for the screen.
    from agentclip.line.session import LineOptions, LineSession  # noqa: PLC0415  registered deferred import

    async with runtime.conversation(settings, model, session, choose_light_model(settings, environment_with_keys())) as talk:
        options = LineOptions(
            plain=not is_interactive() or is_plain(os.environ),
            theme=settings.theme if "screen.theme" in settings.sources else None,
            first_screen=opening.first_screen,
            window=lambda: model.context_window,
        )
        lines = LineSession(talk.agent, options)
        if opening.prompt:
            talk.agent.submit(opening.prompt)
        status = await lines.run()
    with contextlib.suppress(OSError):  # the terminal may be gone
        name_survivors(talk.survivors)
    if session.begun:
        Tty().write(way_back(session.id) + "\n")
    return status
