"""The last word on colours: every text can be read, whoever chose its colours; and no colour at all where NO_COLOR says so.

In: lines as widgets drew them. Out: the same characters in other styles. Must not know: what the lines mean.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from agentclip.ui.foreign import ForeignFilter
from agentclip.ui.themes import MIN_CONTRAST, ScreenTheme, contrast, readable

_REVERSE = Style(reverse=True)
_MARKED_CONTRAST = 2.5
"""A ground that differs so much from the theme's own is there to mark something."""
_NO_TEXT = re.compile(r"[\s\u2500-\u259f]*")
"""Blanks, frames and blocks."""


class InOne(LineFilter):
    """Several one after the other, and the guard against acting characters last, as one.

    Between two filters Textual makes every line anew; what came out it keeps as long as the filter is the same object.
    """

    def __init__(self, *filters: LineFilter) -> None:
        super().__init__()
        self._filters = filters
        self._guard = ForeignFilter()

    def of(self, *filters: LineFilter) -> InOne:
        """One of these: itself, if it is that already."""
        return self if filters == self._filters else InOne(*filters)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """What the last one makes of what the ones before made."""
        for each in (*self._filters, self._guard):
            segments = each.apply(segments, background)
        return segments


class Readable(LineFilter):
    """Programs choose colours for a terminal they do not know: what could not be read is moved just far enough."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with enough contrast."""
        return [
            segment
            if segment.style is None or (style := _readable_style(segment.style, background)) is segment.style
            else segment
            if _NO_TEXT.fullmatch(segment.text)
            else Segment(segment.text, style, segment.control)
            for segment in segments
        ]


@lru_cache(maxsize=4096)
def _readable_style(style: Style, background: Color) -> Style:
    if style.color is None or style.color.triplet is None:
        return style
    color = Color.from_rich_color(style.color)
    ground = background if style.bgcolor is None or style.bgcolor.triplet is None else Color.from_rich_color(style.bgcolor)
    if contrast(color, ground) >= MIN_CONTRAST:
        return style
    return style + Style(color=readable(color, ground).rich_color)


class NoColour(LineFilter):
    """The terminal's own colours only. What a ground marked (the chosen row, a selection, the cursor) is reversed instead."""

    def __init__(self, theme: ScreenTheme) -> None:
        super().__init__()
        self.theme = theme

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  grounds go
        """The segments without colours."""
        return [
            segment if segment.style is None else Segment(segment.text, _plain(segment.style, self.theme), segment.control)
            for segment in segments
        ]


@lru_cache(maxsize=4096)
def _plain(style: Style, theme: ScreenTheme) -> Style:
    if style.bgcolor is None or not _marks(Color.from_rich_color(style.bgcolor), theme):
        return style.without_color
    return style.without_color + (Style(reverse=False) if style.reverse else _REVERSE)


def _marks(ground: Color, theme: ScreenTheme) -> bool:
    return ground == theme.color("selected-bg") or contrast(ground, theme.color("background")) > _MARKED_CONTRAST
