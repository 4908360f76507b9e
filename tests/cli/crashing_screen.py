"""The screen of the program over a model that breaks it, for `test_screen_end.py`. Its argument is an empty folder."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import click

from agentclip import runtime
from agentclip.cli.screen import Opening, show
from agentclip.config import Settings
from agentclip.model.unconfigured import UnconfiguredModel


class BreakingModel(UnconfiguredModel):
    """Its window is asked for with every frame."""

    def __init__(self) -> None:
        self._until_s = time.monotonic() + 1.0

    @property
    def context_window(self) -> None:  # type: ignore[override]  # a bug, on purpose
        if time.monotonic() > self._until_s:
            raise RuntimeError("[broken] on purpose")


if __name__ == "__main__":
    here = Path(sys.argv[1])
    model = BreakingModel()
    with click.Context(click.Command("chat")):
        sys.exit(asyncio.run(show(Settings(), model, runtime.open_session(None, here, model.name), Opening())))
