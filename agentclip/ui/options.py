"""Settings of the screen. Values only."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agentclip.results import Limits

if TYPE_CHECKING:  # what the first picture does not wait for
    from agentclip.preferences import Preferences
    from agentclip.ui.setup_api import Setup
    from agentclip.ui.shelves import ModelShelf, SessionShelf


class ScreenOptions(Struct, frozen=True):
    """What the command line decides for the screen."""

    theme: str = "dark"
    first_screen: tuple[str, ...] | None = None
    """What to say when no model is configured; None when one is."""
    notify: str = "auto"
    """`off`, `bell`, `osc` or `auto`: what to do when a turn ends and nobody looks."""
    notify_after_s: float = 10.0
    """Only turns that took longer are worth it."""
    sandbox_label: str = "no sandbox"
    limits: Limits = field(default_factory=Limits)
    """Budget shown beside what the model reads."""
    sessions: Callable[[], SessionShelf] | None = None
    """The other saved sessions; called on a thread when they are first asked for. None where there are none to go to."""
    models: Callable[[], ModelShelf] | None = None
    """The models to choose from; called on a thread when they are first asked for."""
    setup: Callable[[], Setup] | None = None
    """Choosing a model when none is configured, or another place to have one; called on a thread."""
    preferences: Preferences | None = None
    """The settings, to be seen and changed."""
    go_to: Callable[[str | None], None] | None = None
    """Where to go when this screen has ended: to a session by its id, or to a new one for None."""
    pick_session: bool = False
    """Begin with the list of sessions."""
    clock: Callable[[], float] = time.monotonic
    """Seconds; fixed for pictures."""
