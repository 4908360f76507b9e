"""What the three panes share: rows drawn on demand, follow, marks for new lines, selection, the background.

A pane tells how many rows it has and draws one of them; everything that depends on the size of the content is done by its
subclass.
"""

from __future__ import annotations

from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from agentclip.ui.format import plural
from agentclip.ui.themes import Ink

MAX_COPIED_ROWS = 20_000


class Pane(ScrollView, can_focus=True):
    """A view over rows. Follows its end until somebody scrolls up."""

    ALLOW_SELECT = True
    GUTTER: ClassVar[int] = 0
    """Cells of signs before each row, which are not copied."""
    ALIVE: ClassVar[bool] = True
    """Grows while one looks: starts at its end and follows it."""

    def __init__(self, ink: Ink, pane_id: str) -> None:
        super().__init__(id=pane_id)
        self.ink = ink
        self.following = self.ALIVE
        self._seen: int | None = None
        """Rows there were when the person scrolled up; None when that is not why we do not follow."""
        self._steering = False
        """We scroll, not the person."""
        self._base = Style()
        """The pane's own colours, looked up once for all lines."""
        self._pointed: int | None = None
        """The row last clicked or jumped to."""

    def total_rows(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def strip_at(self, row: int) -> Strip:
        """One row, without background."""
        raise NotImplementedError

    def restyle(self, ink: Ink) -> None:
        """Another theme."""
        self.ink = ink
        self.refresh()

    @property
    def columns(self) -> int:
        """Cells in a row."""
        return max(1, self.scrollable_content_region.width)

    @property
    def view_height(self) -> int:
        """Rows in view."""
        return max(1, self.scrollable_content_region.height)

    @property
    def first_row(self) -> int:
        """The first row in view."""
        return int(self.scroll_offset.y)

    @property
    def new_rows(self) -> int:
        """Rows that came since the person scrolled up."""
        return 0 if self.following or self._seen is None or not self.ALIVE else max(0, self.total_rows() - self._seen)

    def rows_changed(self) -> None:
        """Call after the content changed: takes the new size, follows, draws."""
        self._steering = True
        self._resize_content(self.total_rows())
        if self.following and self.ALIVE:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
        self._steering = False
        self.refresh()

    def _resize_content(self, rows: int) -> None:
        # Setting `virtual_size` lays out and repaints the whole screen. Our scrollbar is always there: nothing moves.
        size = Size(self.columns, rows)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)

    def go_to(self, row: int, *, middle: bool = False) -> None:
        """Bring a row into view."""
        top = row - self.view_height // 2 if middle else row
        self.scroll_to(y=min(max(0, top), self.max_scroll_y), animate=False, force=True)
        self.refresh()

    @property
    def pointed_row(self) -> int:
        """The row last clicked while it is in view, else the first one in view."""
        row = self._pointed
        return row if row is not None and self.first_row <= row < self.first_row + self.view_height else self.first_row

    def follow(self) -> None:
        """To the end, and stay there."""
        self.following = self.ALIVE
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
        self.rows_changed()

    def page(self, pages: int) -> None:
        """Whole pages up (negative) or down."""
        self.go_to(self.first_row + pages * self.view_height)

    def action_scroll_end(self) -> None:
        """End."""
        self.follow()

    def action_scroll_home(self) -> None:
        """Home."""
        self.go_to(0)

    def _scroll_to(self, x: float | None = None, y: float | None = None, *, animate: bool = True, **more: Any) -> bool:  # noqa: ARG002
        """Never animated: heights change while one scrolls, and Textual's animator fails when a scroll sets off another."""
        return super()._scroll_to(x, y, animate=False, **more)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up ends following, reaching the end begins it again."""
        super().watch_scroll_y(old_value, new_value)
        if self._steering:
            return
        if round(new_value) >= self.max_scroll_y:
            self.following = True
        elif new_value < old_value and self.following:
            self.following = False
            self._seen = self.total_rows()

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002  the size is asked where it is needed
        """Another width or height."""
        self.rows_changed()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines of the screen."""
        self._base = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        row = self.first_row + y
        width = self.columns
        base = self._base
        if row >= self.total_rows():
            return Strip.blank(width, base)
        strip = self.strip_at(row)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row)) is not None:
            strip = _highlight(strip, span, self.screen.get_component_rich_style("screen--selection"))
        strip = strip.crop_extend(0, width, None).apply_style(base).apply_offsets(0, row)
        if y == self.view_height - 1 and self.new_rows:
            return self._with_mark(strip, width, base)
        return strip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the signs before each row."""
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self.total_rows() - 1
        lines: list[str] = []
        for row in range(max(0, first), min(last, first + MAX_COPIED_ROWS, self.total_rows() - 1) + 1):
            start, end = selection.get_span(row) or (0, 0)
            text = self.strip_at(row).text
            lines.append(text[max(start, self.GUTTER) : len(text) if end < 0 else end].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002  every row looks for itself
        """The selection moved."""
        self.refresh()

    def _with_mark(self, strip: Strip, width: int, base: Style) -> Strip:
        text = f" {plural(self.new_rows, 'new line')}, End "[:width]
        style = base + self.ink["running"] + Style(reverse=True)
        return Strip([*strip.crop(0, width - len(text)), Segment(text, style)], width)


def _highlight(strip: Strip, span: tuple[int, int], style: Style) -> Strip:
    """The characters of `span` in the colours of the selection; an end of -1 is the end of the row."""
    start, end = span
    position = 0
    found: list[Segment] = []
    for segment in strip:
        text = segment.text
        low = min(max(0, start - position), len(text))
        high = len(text) if end < 0 else min(max(low, end - position), len(text))
        chosen = (segment.style or Style()) + style
        pieces = ((text[:low], segment.style), (text[low:high], chosen), (text[high:], segment.style))
        found += [Segment(piece, look) for piece, look in pieces if piece]
        position += len(text)
    return Strip(found, strip.cell_length)
