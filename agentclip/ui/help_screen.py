"""F1: keys and commands, made from the table of actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from agentclip.agent.words import WORDS
from agentclip.ui.actions import ACTIONS, Place
from agentclip.ui.keymap import KeyMap, key_names

OTHER = (("!LINE", "run a line yourself, through both layers, without the model"),)
SIGNS = (
    ("=", "a raw line the model reads as it is"),
    ("~", "a raw line the model reads shortened, converted or without escapes"),
    ("-", "a raw line that was not sent"),
    ("!", "stderr"),
)


def help_text(keymap: KeyMap, first: Sequence[Place] = ()) -> str:
    """Keys by place, those of `first` before the others; words and signs as lines."""
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
    return "\n\n".join("\n".join([title, *(f"  {left:<30} {right}" for left, right in rows)]) for title, rows in parts if rows)


class HelpScreen(ModalScreen[None]):
    """A page over everything; Esc closes it and nothing else."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,enter,f1", "dismiss", "close", show=False)]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """The page."""
        with VerticalScroll(id="help"):
            yield Static(Content(self._text))
