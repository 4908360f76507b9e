"""F7: the models. In: a shelf. Out: the name of the model to go on with. The provider is asked behind the picture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from agentclip.errors import AgentclipError
from agentclip.ui.picker import Look, Picker, Row
from agentclip.ui.shelves import ModelShelf, OfferedModel


def as_typed(text: str) -> Row[str]:
    """Any name can be asked for, whoever lists it."""
    return Row(f"use {text}", text, detail="as typed")


class ModelPicker(Picker[str]):
    """The list; a name that nobody lists can be typed."""

    def __init__(self, make_shelf: Callable[[], ModelShelf], current: str) -> None:
        super().__init__((), Look("Models", empty="type the name of a model", typed=as_typed, hint="or type a name"))
        self._make_shelf = make_shelf
        self._current = current

    def on_mount(self) -> None:
        """Ask behind the picture."""
        super().on_mount()
        self.run_worker(self._load(), group="models")

    async def _load(self) -> None:
        shelf = await asyncio.to_thread(self._make_shelf)
        configured = shelf.configured()
        self._show(configured)
        self.say("asking the provider what it offers…")
        try:
            offered = await shelf.offered()
        except AgentclipError as error:
            self.say(str(error))
            return
        names = {each.name for each in configured}
        self._show((*configured, *(each for each in offered if each.name not in names)))
        self.say("")

    def _show(self, models: Sequence[OfferedModel]) -> None:
        names = [each.name for each in models]
        first = [] if self._current in names else [OfferedModel(self._current, "in use")]
        self.fill([Row(each.name, each.name, each.detail, current=each.name == self._current) for each in (*first, *models)])
