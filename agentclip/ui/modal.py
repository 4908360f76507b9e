"""What lies over everything for a moment and gives a result. Must not know: what for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen
from typing_extensions import override

T = TypeVar("T")
LOOK_S = 0.1


class Modal(ModalScreen[T]):
    """Closes once, and itself: keys that came twice close nothing below, and what lies above is closed first."""

    DEFAULT_CSS: ClassVar[str] = Path(__file__).with_name("modal.tcss").read_text("utf-8")
    SCOPED_CSS: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.begun = not self.AUTO_FOCUS
        """Keys can come: who shall get them has the focus, or had it."""

    def on_descendant_focus(self) -> None:
        """From now on."""
        self.begun = True

    def take_focus(self) -> None:
        """A click beside the box took it away; what is typed is meant for the box all the same."""
        if self.begun and self.focused is None and self.AUTO_FOCUS:
            self.set_focus(self.query_one(self.AUTO_FOCUS))

    @override
    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close, now or as soon as nothing lies above; nothing when it is closed already."""
        if self.app.screen is self:
            return super().dismiss(result)
        if self in self.app.screen_stack:
            self.set_timer(LOOK_S, partial(self._close_later, result))
        return AwaitComplete()

    def _close_later(self, result: T | None) -> None:
        self.dismiss(result)  # Textual would await what a timer's function gives back
