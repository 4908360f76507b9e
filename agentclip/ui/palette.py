"""The palette: everything that can be done, with its keys and words, as rows of a picker. Must not know: how it is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from agentclip.agent.words import WORDS
from agentclip.ui.actions import ACTIONS, Place
from agentclip.ui.keymap import KeyMap
from agentclip.ui.picker_rows import Row

LEFT_OUT = frozenset({"app.palette", "run.escape", "app.interrupt", "app.quit"})
"""Opening it from itself, and keys whose meaning depends on what lies on top: what they do has rows of its own."""
EVERYWHERE = (Place.ANYWHERE, Place.PANE, Place.CHAT, Place.RAW, Place.MODEL)
"""Places whose actions can be asked for from the palette; in the prompt and in lists keys are part of typing."""


class Entry(Struct, frozen=True):
    """One thing the palette offers."""

    id: str
    """Of the action, or the word."""
    does: str
    """Textual's action; empty for a word of the agent."""
    place: Place
    word: str = ""
    operands: str = ""

    @property
    def needs_more(self) -> bool:
        """Something has to be typed behind the word."""
        return bool(self.operands) and not (self.does and self.operands.startswith("["))


def entries(keymap: KeyMap) -> list[Row[Entry]]:
    """All of them, in the order of the table of actions."""
    rows = [
        Row(
            _capital(action.title),
            Entry(action.id, action.does, action.place, action.word, action.operands),
            detail=_detail(keymap.named(action.id), f"{action.word} {action.operands}", action.place),
            words=action.id,
        )
        for action in ACTIONS
        if action.place in EVERYWHERE and action.id not in LEFT_OUT
    ]
    words = [
        Row(_capital(what), Entry(word, "", Place.ANYWHERE, word, operands), detail=f"{word} {operands}".rstrip())
        for word, operands, what in WORDS
    ]
    return [*rows, *words]


def recent_first(rows: Sequence[Row[Entry]], recent: Iterable[str]) -> list[Row[Entry]]:
    """Those used last before the others."""
    order = {identifier: at for at, identifier in enumerate(recent)}
    return sorted(rows, key=lambda row: order.get(row.value.id, len(order)))


def _detail(keys: str, word: str, place: Place) -> str:
    where = "" if place is Place.ANYWHERE else str(place).lower()
    return " · ".join(filter(None, (where, word.strip(), keys)))


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]
