"""A list over the screen, directly above the prompt: rows come in, they are drawn, one of them may be chosen.

It never has the focus: the prompt keeps the keys. Must not know: what the rows mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agentclip.ui.foreign import fit, one_line

MOST_ROWS = 8
WIDEST = 100
"""Cells."""
LEAST_WIDTH = 30


class PopupRow(Struct, frozen=True):
    """One line. Texts may be foreign."""

    text: str
    detail: str = ""


class Popup(Widget):
    """The rows in view, and a last line that says what the keys do."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "popup--row",
        "popup--detail",
        "popup--chosen",
        "popup--chosen-detail",
        "popup--said",
    }

    class Clicked(Message):
        """A row was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self) -> None:
        super().__init__(id="popup")
        self.display = False
        self._rows: Sequence[PopupRow] = ()
        self._chosen: int | None = None
        self._said = ""
        self._top = 0
        self._column = 0
        """Cells from the beginning of a text to its detail."""
        self._above = Region()

    def show(self, rows: Sequence[PopupRow], chosen: int | None, said: str) -> None:
        """Other rows; `chosen` is the index of one of them, `said` the last line."""
        self._rows, self._chosen, self._said = rows, chosen, said
        self._top = max((chosen or 0) - MOST_ROWS + 1, min(self._top, chosen or 0))
        self._top = max(0, min(self._top, len(rows) - MOST_ROWS))
        self._place()
        self.refresh()

    def hide(self) -> None:
        """Nothing to show."""
        self._rows, self._top = (), 0
        self.display = False

    def stand_on(self, above: Region) -> None:
        """Where the prompt is now."""
        self._above = above
        if self._rows or self.display:
            self._place()

    def _place(self) -> None:
        """As many rows as there is room for above the prompt; without any it is not shown."""
        above = self._above
        height = min(len(self._rows), MOST_ROWS, above.y - 1) + 1
        self._column = 2 + max((cell_len(row.text[:WIDEST]) for row in self._rows if row.detail), default=0)
        widest = 4 + max(
            (max(self._column, cell_len(row.text[:WIDEST])) + cell_len(row.detail) for row in self._rows), default=0
        )
        width = min(above.width, max(LEAST_WIDTH, min(WIDEST, max(widest, cell_len(self._said) + 2))))
        self.styles.width, self.styles.height = width, height
        self.styles.offset = (above.x, above.y - height)
        self.display = height > 1 or (not self._rows and above.y > 0)

    def on_click(self, event: events.Click) -> None:
        """The mouse."""
        event.stop()
        at = self._top + event.y
        if event.y < self.size.height - 1 and at < len(self._rows):
            self.post_message(self.Clicked(at))

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.size.width
        at = self._top + y
        if y == self.size.height - 1 or at >= len(self._rows):
            said = self.get_component_rich_style("popup--said")
            text = fit(f" {self._said}", width) if y == self.size.height - 1 else ""
            return Strip([Segment(text, said)]).crop_extend(0, width, said)
        chosen = at == self._chosen
        look = self.get_component_rich_style("popup--chosen" if chosen else "popup--row")
        quiet = self.get_component_rich_style("popup--chosen-detail" if chosen else "popup--detail")
        row = self._rows[at]
        text = fit(one_line(row.text, 400), max(1, width - 4))
        gap = " " * max(2, self._column - cell_len(text))
        detail = fit(one_line(row.detail, 400), max(0, width - 3 - cell_len(text + gap)))
        row_of = [Segment("> " if chosen else "  ", look), Segment(text + gap, look), Segment(detail, quiet)]
        return Strip(row_of).crop_extend(0, width, look)
