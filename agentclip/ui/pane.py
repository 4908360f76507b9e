"""What the three panes share: rows drawn on demand, follow, marks for new lines, selection, hits, the background.

A pane tells how many rows it has and draws one of them; everything that depends on the size of the content is done by its
subclass. A selection is kept in cells of the whole row and in `place_of` of the row, which stays the same while others change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from agentclip.ui.actions import Place, bindings
from agentclip.ui.find import Search, Words
from agentclip.ui.format import plural
from agentclip.ui.keymap import KeyMap
from agentclip.ui.themes import Ink

MAX_COPIED_ROWS = 20_000
HIT = Style(reverse=True)


class Pane(ScrollView, can_focus=True):
    """A view over rows. Follows its end until somebody scrolls up."""

    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(Place.PANE)
    GUTTER: ClassVar[int] = 0
    """Cells of signs before each row, which are not copied."""
    ALIVE: ClassVar[bool] = True
    """Grows while one looks: starts at its end and follows it."""

    def __init__(self, ink: Ink, pane_id: str) -> None:
        super().__init__(id=pane_id)
        self.ink = ink
        self.following = self.ALIVE
        self._seen: int | None = None
        """Rows of what there was when the person scrolled up; None when that is not why we do not follow."""
        self._steering = False
        """We scroll, not the person."""
        self._base = Style()
        """The pane's own colours, looked up once for all lines."""
        self._painting = False
        self._painted: tuple[int, Strip] | None = None
        """The row painted last, whole and with its hits: a folded one takes several lines."""
        self.words: Words | None = None
        """Shown reversed wherever they are in view; None: nothing is looked for."""
        self._pointed: int | None = None
        """The row last clicked or jumped to."""
        self._at_hit = False
        """That row was found: the next hit is behind it."""

    def total_rows(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def strip_at(self, row: int) -> Strip:
        """One row as it is in view, without background."""
        raise NotImplementedError

    def whole_at(self, row: int) -> Strip:
        """One row with what is out of view at its sides."""
        return self.strip_at(row)

    def place_at(self, y: int) -> tuple[int, int]:
        """Which row stands on a line of the view, and which part of it, 0 for the first."""
        return self.first_row + y, 0

    def in_view(self, row: int, strip: Strip, part: int) -> Strip:  # noqa: ARG002  only rows that are folded have parts
        """The part of a whole row that is in view; the strip is the row, in whatever colours."""
        return strip

    def shift(self, row: int, part: int) -> int:  # noqa: ARG002  only rows that are folded or moved aside have one
        """Cells of a whole row, behind its signs, that stand before the part in view."""
        return 0

    def scroll_rows(self) -> int:
        """Rows one can scroll through, so that the end of the last one comes into view."""
        return self.total_rows()

    def place_of(self, row: int) -> int:
        """What the selection calls the row; grows from row to row."""
        return row

    def selectable(self, first: int, last: int | None) -> Iterator[tuple[int, Strip]]:
        """Keys and whole rows from one key to another; None is the last."""
        end = self.total_rows() - 1
        for row in range(max(0, first), (end if last is None else min(last, end)) + 1):
            yield row, self.whole_at(row)

    def selected(self, key: int, text: str, start: int, end: int) -> str:  # noqa: ARG002  only Layer 1 has to read more
        """What is copied of a row from one character of it to another."""
        return text[start:end]

    def search(self, words: Words) -> Search:
        """Begin to look for words."""
        raise NotImplementedError

    @property
    def searching(self) -> object:
        """What a search is about: another one, and it begins anew."""
        return None

    def hits_at(self, row: int) -> list[tuple[int, int]]:
        """Where the words stand in a whole row, in characters."""
        raise NotImplementedError

    def pointed_text(self) -> tuple[str, str]:
        """What the person points at, as text, and what to call it."""
        return self.whole_at(self.pointed_row).text[self.GUTTER :].rstrip(), "the line"

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
        self._resize_content(self.scroll_rows())
        if self.following and self.ALIVE:
            self.go_to_end()
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

    def go_to_end(self) -> None:
        """Bring the last row into view."""
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    @property
    def at_end(self) -> bool:
        """The end of the last row is in view."""
        return round(self.scroll_y) >= self.max_scroll_y

    @property
    def pointed_row(self) -> int:
        """The row last clicked or found while it is in view, else the first one in view."""
        row = self._pointed
        return row if row is not None and self._sees(row) else self.first_row

    def _sees(self, row: int) -> bool:
        return self.first_row <= row <= self.place_at(self.view_height - 1)[0]

    def point(self, row: int | None, *, hit: bool = False) -> None:
        """The person means this row."""
        self._pointed = row
        self._at_hit = hit and row is not None

    @property
    def origin(self) -> tuple[int, bool]:
        """The row from which one looks on, and whether it is looked at too."""
        row = self.pointed_row
        return row, not (self._at_hit and row == self._pointed)

    def bring_hit(self, row: int) -> None:
        """Scroll to a hit, unless it is well in view."""
        if not self._sees(row) or row == self.place_at(self.view_height - 1)[0]:
            self.go_to(row, middle=True)

    def go_to_hit(self, row: int) -> str:
        """Bring a hit into view and stay there; why only its row can be, empty when the hit is."""
        self.bring_hit(row)
        if self.following and self.ALIVE:
            self._stay()
        self.point(row, hit=True)
        self.refresh()
        return ""

    def on_click(self, event: events.Click) -> None:
        """Point at a row."""
        self.point(self.place_at(event.get_content_offset_capture(self).y)[0])

    def use_keys(self, keymap: KeyMap) -> None:
        """The person's keys instead of the usual ones."""
        self._bindings.apply_keymap(keymap.textual())

    def forget_selection(self) -> None:
        """What was selected is not there any more."""
        selections = self.screen.selections
        if self in selections:
            self.screen.selections = {widget: each for widget, each in selections.items() if widget is not self}

    def follow(self) -> None:
        """To the end, and stay there."""
        self.following = self.ALIVE
        self.go_to_end()
        self.rows_changed()

    def page(self, pages: int) -> None:
        """Whole pages up (negative) or down."""
        self.go_to(self.first_row + pages * self.view_height)

    def action_page_up(self) -> None:
        """PgUp."""
        self.page(-1)

    def action_page_down(self) -> None:
        """PgDn."""
        self.page(1)

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
        """The person scrolled, or we did."""
        super().watch_scroll_y(old_value, new_value)
        self.scrolled(up=new_value < old_value)

    def scrolled(self, *, up: bool) -> None:
        """Scrolling up ends following, reaching the end begins it again."""
        if self._steering:
            return
        if self.at_end:
            self.following = True
        elif up and self.following:
            self._stay()

    def _stay(self) -> None:
        """What comes from now on is new."""
        self.following = False
        self._seen = self.total_rows()

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002  the size is asked where it is needed
        """Another width or height."""
        self.rows_changed()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines of the screen."""
        self._base = self.rich_style
        self._painting = True
        self._painted = None
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        """One line of the screen; asked for by anybody but the painter, it tells what the mouse points at."""
        row, part = self.place_at(y)
        width = self.columns
        base = self._base
        if row >= self.total_rows():
            return Strip.blank(width, base)
        if not self._painting:
            shown = self.in_view(row, self.whole_at(row), part).crop_extend(0, width, None)
            return self._with_offsets(shown, self.place_of(row), self.shift(row, part))
        strip = self.in_view(row, self._highlighted(row), part).crop_extend(0, width, None).apply_style(base)
        if y == self.view_height - 1 and self.new_rows:
            return self._with_mark(strip, width, base)
        return strip

    def _highlighted(self, row: int) -> Strip:
        if self._painted is None or self._painted[0] != row:
            self._painted = (row, self._with_hits(row))
        return self._painted[1]

    def _with_hits(self, row: int) -> Strip:
        """A whole row with its hits and what is selected of it."""
        strip = self.whole_at(row)
        if self.words is not None:
            current = Style(bold=True, underline=True) if self._at_hit and row == self._pointed else Style()
            strip = _highlight(strip, self.hits_at(row), HIT + current)
        selection = self.text_selection
        if selection is not None and (selected := selection.get_span(self.place_of(row))) is not None:
            characters = _characters(strip.text, selected)
            strip = _highlight(strip, [characters], self.screen.get_component_rich_style("screen--selection"))
        return strip

    def _with_offsets(self, strip: Strip, key: int, shift: int) -> Strip:
        """A segment per character as a person sees it, so that Textual, which counts code points, finds the right one."""
        cell = 0
        found: list[Segment] = []
        text = strip.text
        for start, end, size in split_graphemes(text)[0]:
            column = cell if cell < self.GUTTER else cell + shift
            found.append(Segment(text[start:end], Style.from_meta({"offset": (column, key)})))
            cell += size
        return Strip(found, strip.cell_length)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the signs before each row."""
        lines: list[str] = []
        last = selection.end.y if selection.end else None
        for key, strip in self.selectable(selection.start.y if selection.start else 0, last):
            text = strip.text
            start, end = _characters(text, selection.get_span(key) or (0, 0))
            lines.append(self.selected(key, text, max(start, self.GUTTER), end).rstrip())
            if len(lines) > MAX_COPIED_ROWS:
                break
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002  every row looks for itself
        """The selection moved."""
        self.refresh()

    def _with_mark(self, strip: Strip, width: int, base: Style) -> Strip:
        text = f" {plural(self.new_rows, 'new line')}, End "[:width]
        style = base + self.ink["running"] + Style(reverse=True)
        return Strip([*strip.crop(0, width - len(text)), Segment(text, style)], width)


def _characters(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Cells as characters: whoever has a cell in the span is in it; an end of -1 is the end of the row."""
    start, end = span
    if text.isascii():
        return min(start, len(text)), len(text) if end < 0 else min(end, len(text))
    inside: list[tuple[int, int]] = []
    cell = 0
    for begin, behind, size in split_graphemes(text)[0]:
        if cell + size > start and (end < 0 or cell < end):
            inside.append((begin, behind))
        cell += size
    return (inside[0][0], inside[-1][1]) if inside else (len(text), len(text))


def _highlight(strip: Strip, spans: Sequence[tuple[int, int]], style: Style) -> Strip:
    """The characters of `spans`, which come in order, in another style."""
    found: list[Segment] = []
    position = at = 0
    for text, look, _ in strip:
        chosen = (look or Style()) + style
        low, end = position, position + len(text)
        while at < len(spans) and spans[at][0] < end:
            start, stop = max(low, spans[at][0]), min(end, spans[at][1])
            found += [Segment(text[low - position : start - position], look)]
            found += [Segment(text[start - position : stop - position], chosen)]
            low = max(start, stop)
            if spans[at][1] > end:
                break
            at += 1
        found += [Segment(text[low - position :], look)]
        position = end
    return Strip([segment for segment in found if segment.text], strip.cell_length)
