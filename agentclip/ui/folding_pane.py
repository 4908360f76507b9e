"""A pane whose long rows can be folded at the width: one scrolls by lines then, through rows of any height.

The scrollbar counts whole rows, for nobody knows how high those are that were never in view; which part of the row at the top
is there is kept beside it.
"""

from __future__ import annotations

from textual import events

from agentclip.ui.pane import Pane
from agentclip.ui.raw_folding import Folding, Place
from agentclip.ui.themes import Ink


class FoldingPane(Pane):
    """Folded or not, as the person wants."""

    def __init__(self, ink: Ink, pane_id: str) -> None:
        super().__init__(ink, pane_id)
        self.wrapped = False
        """Long rows are folded at the width."""
        self.folding = Folding(self.whole_at, self.GUTTER)
        self._top: Place = (0, 0)
        """What was put at the top, as long as its row is there."""

    def forget_rows(self) -> None:
        """Rows may be other ones."""
        raise NotImplementedError

    def toggle_wrap(self) -> bool:
        """Fold long rows, or cut them; whether they are folded now."""
        self.wrapped = not self.wrapped
        self._top = (self.first_row, 0)
        self.rows_changed()
        return self.wrapped

    @property
    def top(self) -> Place:
        """The row at the top, and the part of it that is there."""
        row = self.first_row
        return self._top if self.wrapped and self._top[0] == row else (row, 0)

    @property
    def at_end(self) -> bool:
        """Folded, the last part of the last row is in view."""
        return super().at_end and (not self.wrapped or self.top >= self.folding.end(self.total_rows()))

    def place_at(self, y: int) -> Place:
        """Folded rows take several lines."""
        if not self.wrapped:
            return super().place_at(y)
        places = self.folding.places(self.top, self.total_rows())
        return places[y] if y < len(places) else (self.total_rows(), 0)

    def shift(self, row: int, part: int) -> int:
        """Cells in the parts above."""
        return self.folding.shift(row, part) if self.wrapped else 0

    def scroll_rows(self) -> int:
        """Behind the last row there is room for its parts."""
        total = self.total_rows()
        return self.folding.end(total)[0] + self.view_height if self.wrapped and total else total

    def rows_changed(self) -> None:
        """What is at the top stays there, whatever the width, unless the end would be above the bottom."""
        row = self.top[0]
        character = self.folding.character(self.top) if self.wrapped else 0
        self.forget_rows()
        self.folding.forget(self.columns, self.view_height)
        if self.wrapped:
            self._top = min((row, self.folding.part_of(row, character)), self.folding.end(self.total_rows()))
        super().rows_changed()

    def go_to(self, row: int, *, middle: bool = False) -> None:
        """Bring a row into view."""
        if self.wrapped:
            self._stand((max(0, min(row, self.total_rows() - 1)), 0), -(self.view_height // 2) if middle else 0)
        else:
            super().go_to(row, middle=middle)

    def go_to_end(self) -> None:
        """Bring the last part of the last row into view."""
        if self.wrapped:
            self._top = self.folding.end(self.total_rows())
        super().go_to_end()

    def bring_part(self, row: int, character: int) -> None:
        """Scroll to a character of a whole row, unless it is well in view."""
        place = (row, self.folding.part_of(row, character))
        if place not in self.folding.places(self.top, self.total_rows())[:-1]:
            self._stand(place, -(self.view_height // 2))

    def page(self, pages: int) -> None:
        """Whole pages."""
        if self.wrapped:
            self._stand(self.top, pages * self.view_height)
        else:
            super().page(pages)

    def action_scroll_up(self) -> None:
        """Up."""
        if self.wrapped:
            self._stand(self.top, -1)
        else:
            super().action_scroll_up()

    def action_scroll_down(self) -> None:
        """Down."""
        if self.wrapped:
            self._stand(self.top, 1)
        else:
            super().action_scroll_down()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        self._roll(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        self._roll(event, 1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The end of the scrollbar is the end of the last row."""
        if self.wrapped and self._top[0] != round(new_value) and super().at_end:
            self._top = self.folding.end(self.total_rows())
        super().watch_scroll_y(old_value, new_value)

    def _roll(self, event: events.MouseEvent, direction: int) -> None:
        if self.wrapped:
            event.prevent_default().stop()
            self._stand(self.top, direction * max(1, round(self.app.scroll_sensitivity_y)))

    def _stand(self, place: Place, lines: int) -> None:
        """Put what is some lines below a part, or above, at the top; the end stays at the bottom."""
        total = self.total_rows()
        if not total:
            return
        before = self.top
        self._top = min(self.folding.moved(place, lines, total), self.folding.end(total))
        super().go_to(self._top[0])
        if self._top[0] == before[0]:
            self.scrolled(up=self._top < before)
