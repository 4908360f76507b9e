"""The line in which words to look for are typed, and which says how it stands. Must not know: panes, searches."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal

from agentclip.ui.bars import TextLine
from agentclip.ui.themes import Ink

if TYPE_CHECKING:
    from textual.widgets import Input

BOX = "find-words"


class FindBar(Horizontal):
    """A box and what became of its words."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(id="find")
        self.said = TextLine(ink, "find-said")
        self.opened = False
        """Wanted, if there is room."""

    @cached_property
    def box(self) -> Input:
        """Where the words are typed: there from the first search on."""
        from textual.widgets import Input  # noqa: PLC0415  registered deferred import

        box = Input(id=BOX, compact=True, max_length=200)
        box.cursor_blink = False
        self.mount(box, before=0)
        return box

    def compose(self) -> ComposeResult:
        """What is said."""
        yield self.said

    def name_pane(self, label: str) -> None:
        """Which pane is looked through."""
        self.box.placeholder = f"find in {label}"

    def tell(self, text: str) -> None:
        """How it stands."""
        self.said.tell(text)
