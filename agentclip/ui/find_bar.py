"""The line in which words to look for are typed, and which says how it stands. Must not know: panes, searches."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input

from agentclip.ui.bars import TextLine
from agentclip.ui.themes import Ink


class FindBar(Horizontal):
    """A box and what became of its words."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(id="find")
        self.box = Input(id="find-words", compact=True, max_length=200)
        self.box.cursor_blink = False
        self.said = TextLine(ink, "find-said")
        self.opened = False
        """Wanted, if there is room."""

    def compose(self) -> ComposeResult:
        """Box and words, side by side."""
        yield self.box
        yield self.said

    def name_pane(self, label: str) -> None:
        """Which pane is looked through."""
        self.box.placeholder = f"find in {label}"

    def tell(self, text: str) -> None:
        """How it stands."""
        self.said.tell(text)
