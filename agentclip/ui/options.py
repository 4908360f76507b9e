"""Settings of the screen. Values only."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agentclip.results import Limits


@dataclass(frozen=True, slots=True)
class ScreenOptions:
    """What the command line decides for the screen."""

    theme: str = "dark"
    first_screen: tuple[str, ...] | None = None
    """What to say when no model is configured; None when one is."""
    sandbox_label: str = "no sandbox"
    limits: Limits = field(default_factory=Limits)
    """Budget shown beside what the model reads."""
    clock: Callable[[], float] = time.monotonic
    """Seconds; fixed for pictures."""
