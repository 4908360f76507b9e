"""F1: keys and commands, made from the table of actions."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agentclip.agent.words import WORDS
from agentclip.ui.actions import ACTIONS, Place
from agentclip.ui.keymap import KeyMap, key_names
from agentclip.ui.modal import Modal

WIDE = 76
"""Cells; from there on every line has its keys in one column."""
LEFT = 30
"""Cells of that column."""
OTHER = (
    ("!LINE", "run a line yourself, through both layers; /tell shows it to the model"),
    ("@FILE", "the path of a file, completed; the model gets the path and reads the file itself"),
)
SIGNS = (
    ("=", "a raw line the model reads as it is"),
    ("~", "a raw line the model reads shortened, converted or without escapes"),
    ("-", "a raw line that was not sent"),
    ("!", "stderr"),
)


def help_text(keymap: KeyMap, first: Sequence[Place] = (), width: int = WIDE) -> str:
    """Keys by place, those of `first` before the others; words and signs as lines of at most `width` cells."""
    places = dict.fromkeys((*first, *Place))
    parts: list[tuple[str, Sequence[tuple[str, str]]]] = [
        (
            str(place),
            [(key_names(keymap.keys(each)), each.title) for each in ACTIONS if each.place is place and keymap.keys(each)],
        )
        for place in places
    ]
    words = [(each.word, each.operands, each.title) for each in ACTIONS if each.word]
    commands = [(f"{word} {operands}".rstrip(), what) for word, operands, what in (*words, *WORDS)]
    parts += [("Words", (*commands, *OTHER)), ("Signs in Layer 1", SIGNS)]
    shown = ((title, [line for left, right in rows for line in _lines(left, right, width)]) for title, rows in parts if rows)
    return "\n\n".join("\n".join([title, *lines]) for title, lines in shown)


def _lines(left: str, right: str, width: int) -> list[str]:
    """Two columns; what does not fit goes on below, in its column."""
    column = LEFT if width >= WIDE else max(12, min(LEFT, width // 3))
    rights = textwrap.wrap(right, max(10, width - column - 3)) or [""]
    lefts = [left] if len(left) <= column or width >= WIDE else textwrap.wrap(left, column)
    pairs = itertools.zip_longest(lefts, rights, fillvalue="")
    return [f"  {one:<{column}} {other}".rstrip() for one, other in pairs]


class HelpScreen(Modal[None]):
    """A page over everything; Esc closes it and nothing else."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,enter,f1", "dismiss", "close", show=False)]

    def __init__(self, keymap: KeyMap, first: Sequence[Place] = ()) -> None:
        super().__init__()
        self._page = _Page(lambda width: help_text(keymap, first, width))

    def compose(self) -> ComposeResult:
        """The page."""
        with VerticalScroll(id="help"):
            yield self._page


class _Page(Static):
    """Lines as wide as there is room.

    It looks itself: a screen that posts a message whenever it is resized never comes to an end when two sizes come at once.
    """

    def __init__(self, text: Callable[[int], str]) -> None:
        super().__init__()
        self._text = text
        self._width = -1
        """Of the lines that are shown."""

    def on_resize(self, event: events.Resize) -> None:
        """Another width."""
        if event.size.width != self._width:
            self._width = event.size.width
            self.update(Content(self._text(self._width)))
