"""Layer 1: the raw stream of one run, straight from its spool files. Only rows in view are read and parsed."""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import BindingType
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from agentclip.results import LineFate, LineRange, Presented
from agentclip.ui.actions import Place, bindings
from agentclip.ui.find import Search, Words
from agentclip.ui.find_rows import RowSearch, SpoolSearch
from agentclip.ui.folding_pane import FoldingPane
from agentclip.ui.foreign import decode, terminal_segments, visible, without_colours
from agentclip.ui.format import size
from agentclip.ui.layout import TITLES, PaneName
from agentclip.ui.runs import Run
from agentclip.ui.spool_index import CLIP
from agentclip.ui.spool_rows import Row
from agentclip.ui.themes import Ink

SLICE = 4 * 1024 * 1024
"""Bytes indexed between two looks at the keyboard: about 5 ms."""
PAUSE_S = 0.005
STEP = 16
"""Columns of one step to the side."""
COPIED = 1024 * 1024
"""Bytes of a line that are copied; of a selection, bytes of lines that are not shown whole."""
_FATES = {LineFate.SHOWN: ("=", "seen-by-model"), LineFate.CHANGED: ("~", "changed"), LineFate.CUT: ("-", "not-sent")}


class RawPane(FoldingPane):
    """A pager over the spools of a run."""

    GUTTER = 2
    BINDINGS: ClassVar[list[BindingType]] = bindings(Place.RAW)

    class Jump(Message):
        """The person wants to see a raw line in the other pane."""

        def __init__(self, text_line: int) -> None:
            super().__init__()
            self.text_line = text_line
            """0-based line of the text the model reads."""

    class Advanced(Message):
        """More of a large spool is indexed."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "raw")
        self.border_title = TITLES[PaneName.RAW]
        self.run: Run | None = None
        self.left = 0
        """Columns scrolled to the side."""
        self._rows: dict[int, Row] = {}
        """Those near the view, read and not yet parsed."""
        self._strips: dict[int, Strip] = {}
        self._marks: dict[int, tuple[int, int]] = {}
        """Where our mark stands in rows that are not shown whole, in characters."""
        self._may_copy = COPIED
        """Bytes of such rows that a selection still may have."""
        self._widest = 0
        """Columns of the widest row in view."""
        self._advancing = False
        self._drawn_for: Presented | None = None
        self._known: object = None
        """What was known of the run when it was drawn."""

    def total_rows(self) -> int:
        """Rows indexed so far, and one that says what is lost."""
        return self.run.rows.total + (self.run.rows.lost is not None) if self.run else 0

    def show(self, run: Run | None) -> None:
        """Another run."""
        self.run = run
        self._known = None
        self.left = 0
        self._top = (0, 0)
        self.point(None)
        self.forget_selection()
        # A living run is watched at its end, a finished one read from its beginning.
        self.following = run is None or run.finished is None
        self._seen = None
        self._steering = True
        self.scroll_to(y=0, animate=False, force=True)
        self._steering = False
        self.grew()

    @property
    def stale(self) -> bool:
        """The run ended since it was drawn: signs for what was sent are missing."""
        return self.run is not None and self.run.shown is not self._drawn_for

    def grew(self) -> None:
        """The run has more, or has ended."""
        if not self._advancing:
            self._advance()

    def restyle(self, ink: Ink) -> None:
        """Another theme."""
        self.forget_rows()
        super().restyle(ink)

    def go_to_line(self, line: int) -> None:
        """Bring a line of stdout into view."""
        if self.run is not None:
            row = self.run.rows.row_of(line)
            self.point(row)
            self.go_to(row, middle=True)

    def rows_changed(self) -> None:
        """Rows at the end may have moved: parse them again."""
        self._drawn_for = self.run.shown if self.run else None
        super().rows_changed()

    def forget_rows(self) -> None:
        """Rows or colours are other ones."""
        self._rows.clear()
        self._strips.clear()
        self._marks.clear()
        self._widest = 0

    def strip_at(self, row: int) -> Strip:
        """The part of a row that is in view, the first one when it is folded."""
        return self.in_view(row, self.whole_at(row), 0)

    def shift(self, row: int, part: int) -> int:
        """Columns scrolled to the side, or in the parts above."""
        return super().shift(row, part) if self.wrapped else self.left

    def toggle_wrap(self) -> bool:
        """Fold long lines, or cut them; whether they are folded now."""
        self.left = 0
        self.border_title = TITLES[PaneName.RAW] + "  wrapped" * (not self.wrapped)
        return super().toggle_wrap()

    def whole_at(self, row: int) -> Strip:
        """A row, parsed when it is looked at for the first time."""
        if row not in self._strips and self.run is not None:
            if len(self._strips) > 4 * self.view_height:
                self._strips.clear()
                self._marks.clear()
            if row not in self._rows:
                self._rows = {row + offset: found for offset, found in enumerate(self.run.rows.read(row, self.view_height))}
            if row in self._rows:
                self._strips[row] = self._draw(row, self._rows[row])
            elif row == self.run.rows.total and (path := self.run.rows.lost) is not None:
                return Strip([Segment(f"  the file is gone: {path}", self.ink["mark"])])
        return self._strips.get(row, Strip([], 0))

    def in_view(self, row: int, strip: Strip, part: int) -> Strip:
        """The signs, and the text from the column scrolled to on, or a part of it."""
        if self.wrapped:
            return self.folding.cut(row, strip, part)
        room = self.columns - self.GUTTER
        if self.left == 0 and strip.cell_length <= self.columns:
            return strip
        signs, text = strip.crop(0, self.GUTTER), strip.crop(self.GUTTER + self.left)
        if text.cell_length > room:
            text = Strip([*text.crop(0, room - 1), Segment("»", self.ink["mark"])])
        return Strip([*signs, *text])

    def pointed_text(self) -> tuple[str, str]:
        """The line itself without colours, also what is not shown of it."""
        found = self._read(self.pointed_row, COPIED)
        if found is None:
            return super().pointed_text()
        raw = found.raw
        text = visible(without_colours(decode(raw.data)))
        if not raw.left_out:
            return text, "the line"
        return text, f"the first {size(len(raw.data))} of the line ({size(len(raw.data) + raw.left_out + len(raw.end))})"

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text."""
        self._may_copy = COPIED
        return super().get_selection(selection)

    def selected(self, key: int, text: str, start: int, end: int) -> str:
        """Across our mark the line itself, as much of it as may be copied."""
        first, last = self._marks.get(key, (len(text), len(text)))
        found = self._read(key, max(CLIP, self._may_copy)) if start < last and end > first else None
        if found is None:
            return super().selected(key, text, start, end)
        self._may_copy -= len(found.raw.data)
        line = Strip(self._segments(found, found.raw.data)).text
        behind = 0 if found.raw.left_out else len(text) - max(end, last)
        return line[min(start, first) - self.GUTTER : len(line) - behind]

    def search(self, words: Words) -> Search:
        """Look through the whole spools."""
        return SpoolSearch(self.run.rows, words) if self.run else RowSearch((), "line")

    @property
    def searching(self) -> object:
        """The run."""
        return self.run

    def hits_at(self, row: int) -> list[tuple[int, int]]:
        """In the text of the line, as far as it is read for the screen."""
        if self.words is None:
            return []
        text = self.whole_at(row).text
        first, last = self._marks.get(row, (len(text), len(text)))
        pieces = ((self.GUTTER, first), (last, len(text)))
        return [(low + start, low + end) for low, high in pieces for start, end in self.words.spans(text[low:high])]

    def go_to_hit(self, row: int) -> str:
        """Bring a hit into view, or the mark where it is left out."""
        super().go_to_hit(row)
        return "not in the part shown; o opens all" if row in self._marks and not self.hits_at(row) else ""

    def bring_hit(self, row: int) -> None:
        """Bring a hit into view, also from the side or from another part of a folded row."""
        start, end = self._hit_place(row)
        if self.wrapped:
            self.bring_part(row, start)
            return
        super().bring_hit(row)
        text = self.whole_at(row).text
        room = self.columns - self.GUTTER
        first, last = cell_len(text[self.GUTTER : start]), cell_len(text[self.GUTTER : end])
        if not (self.left <= first and last < self.left + room):
            self.left = 0 if last < room else max(0, first - room // 3)
            self.refresh()

    def _hit_place(self, row: int) -> tuple[int, int]:
        """The first hit of a row in characters; when it is not in what is shown, our mark."""
        if hits := self.hits_at(row):
            return hits[0]
        return self._marks.get(row, (self.GUTTER, self.GUTTER))

    def action_jump(self) -> None:
        """Show the row clicked, else the first one in view, in Layer 2."""
        found = self._read(self.pointed_row, CLIP)
        fate = self._fate(found.line) if found is not None and found.stage is None else None
        if fate is not None and found is not None:
            self.post_message(self.Jump(self._text_line(fate, found.line)))

    def action_aside(self, direction: int) -> None:
        """To the left or right, as far as the lines in view go."""
        if self.wrapped:
            return
        for row in range(self.first_row, min(self.first_row + self.view_height, self.total_rows())):
            self.whole_at(row)
        furthest = max(0, self._widest - (self.columns - self.GUTTER))
        self.left = min(max(0, self.left + direction * STEP), max(furthest, self.left if direction < 0 else 0))
        self.rows_changed()

    def _advance(self) -> None:
        went_on, self._advancing = self._advancing, False
        if self.run is None:
            self.rows_changed()
            return
        more = self.run.rows.advance(SLICE)
        known = (tuple(self.run.sizes.values()), self.run.rows.total, self.run.rows.lost, self.run.shown)
        if more or known != self._known:  # a run that says nothing for a while is not drawn again
            self._known = known
            self.rows_changed()
        if more:
            self._advancing = True
            self.set_timer(PAUSE_S, self._advance)
        if more or went_on:
            self.post_message(self.Advanced())

    def _read(self, row: int, clip: int) -> Row | None:
        found = self.run.rows.read(row, 1, clip) if self.run else []
        return found[0] if found else None

    def _draw(self, number: int, row: Row) -> Strip:
        found = [self._sign(row), Segment(" "), *self._segments(row, row.raw.data)]
        if row.raw.left_out:
            mark = f"… +{row.raw.left_out:,} bytes …"
            at = sum(len(segment.text) for segment in found)
            self._marks[number] = (at, at + len(mark))
            found += [Segment(mark, self.ink["mark"]), *self._segments(row, row.raw.end)]
        strip = Strip(found)
        self._widest = max(self._widest, strip.cell_length - self.GUTTER)
        return strip

    def _segments(self, row: Row, data: bytes) -> list[Segment]:
        color = "raw-fg" if row.stage is None else "raw-stderr"
        return terminal_segments(decode(data), self.ink[color], self.ink["mark"])

    def _sign(self, row: Row) -> Segment:
        if row.stage is not None:
            return Segment("!", self.ink["raw-stderr"])
        fate = self._fate(row.line)
        if fate is None:
            return Segment(" ")
        sign, color = _FATES[fate.fate]
        return Segment(sign, self.ink[color])

    def _fate(self, line: int) -> LineRange | None:
        """What became of a line of stdout; None while the run is alive."""
        shown = self.run.shown if self.run else None
        if shown is None:
            return None
        at = bisect_right(shown.ranges, line, key=lambda entry: entry.first) - 1
        found = shown.ranges[at] if at >= 0 else None
        return found if found is not None and found.first <= line <= found.last else None

    def _text_line(self, fate: LineRange, line: int) -> int:
        """Where a raw line stands in the model's text; for one that was not sent, where it would be."""
        if fate.text_line is not None:
            return fate.text_line + (line - fate.first)
        shown = self.run.shown if self.run else None
        before = [entry for entry in shown.ranges if entry.first < fate.first and entry.text_line is not None] if shown else []
        return (before[-1].text_line or 0) + before[-1].last - before[-1].first + 1 if before else 0
