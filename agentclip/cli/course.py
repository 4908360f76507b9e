"""From screen to screen: which session comes next, with which model, and what a screen can choose from.

Imports next to nothing: the first picture waits for it. What the choices need is imported when they are first asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentclip.config import Settings
from agentclip.preferences import Preferences
from agentclip.ui.options import ScreenOptions

if TYPE_CHECKING:  # what the first picture does not wait for
    from agentclip.runtime import Conversation
    from agentclip.ui.setup_api import Setup
    from agentclip.ui.shelves import ModelShelf, SessionShelf

DEMO = "demo:"
"""In place of a session's id: the recorded one."""


@dataclass(slots=True)
class Course:
    """Of one program."""

    settings: Settings
    """With the model that the person chose last."""
    environ: Mapping[str, str] = field(repr=False)
    """Ours with the keys, for choosing a model and nothing else."""
    talk: Conversation | None = None
    """What the screen shows; None while it is made."""
    ahead: list[str | None] = field(default_factory=list)
    """Where the person wants to go when the screen has ended: an id, None for a new session; empty to end."""

    def options(self, *, first_screen: tuple[str, ...] = (), pick_session: bool = False) -> ScreenOptions:
        """For a screen on this course."""
        return ScreenOptions(
            self.settings.theme,
            first_screen or None,
            notify=self.settings.notify,
            notify_after_s=self.settings.notify_after_s,
            sessions=self._sessions,
            models=self._models,
            setup=self._setup,
            preferences=Preferences.of(self.settings, os.environ, Path.cwd()),
            go_to=self._go_to,
            pick_session=pick_session,
        )

    def use_model(self, name: str) -> None:
        """The sessions that come next have it too."""
        self.settings = replace(self.settings, model=name)

    def _go_to(self, identifier: str | None) -> None:
        self.ahead[:] = [identifier]

    def _sessions(self) -> SessionShelf:
        from agentclip.cli.shelves import SavedSessions  # noqa: PLC0415  registered deferred import

        return SavedSessions(self)

    def _setup(self) -> Setup:
        from agentclip.cli.setup import ModelSetup  # noqa: PLC0415  registered deferred import

        return ModelSetup(self)

    def _models(self) -> ModelShelf:
        from agentclip.cli.shelves import KnownModels  # noqa: PLC0415  registered deferred import

        return KnownModels(self)
