"""F1: keys and commands, made from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from agentclip.agent.words import WORDS

COMMANDS = (
    ("/help", "this page"),
    ("/theme NAME", "another theme; /theme alone lists them"),
    *((f"{word} {operands}".rstrip(), what) for word, operands, what in WORDS),
    ("/quit", "end; the resume line is printed"),
    ("!LINE", "run a line yourself, through both layers, without the model"),
)
SIGNS = (
    ("=", "a raw line the model reads as it is"),
    ("~", "a raw line the model reads shortened, converted or without escapes"),
    ("-", "a raw line that was not sent"),
    ("!", "stderr"),
)


def help_text(bindings: Iterable[BindingType]) -> str:
    """Keys, commands and signs as lines."""
    keys = [(entry.key.replace(",", ", "), entry.description) for entry in bindings if isinstance(entry, Binding) and entry.id]
    parts = (("Keys", keys), ("In the prompt", COMMANDS), ("Signs in Layer 1", SIGNS))
    return "\n\n".join("\n".join([title, *(f"  {left:<30} {right}" for left, right in rows)]) for title, rows in parts)


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
