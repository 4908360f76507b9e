"""Where a conversation is cut: entries come in, the place of the cut goes out. Pure.

A unit is a message of the person, or an assistant's message with all its answers. A cut lies between units, never inside.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from agentclip.agent.snapshot.masking import Source
from agentclip.agent.tokens import Weight
from agentclip.messages import Message, ToolMessage

KEPT_SHARE = 0.3
"""Of the messages' tokens, the newest: they stay word for word."""


class Entry(Struct, frozen=True):
    """A message of the conversation."""

    seq: int
    """Of the event that brought it."""
    message: Message
    weight: Weight
    is_prompt: bool = False
    """The person wrote it."""
    source: Source = field(default_factory=Source)


def units(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    """The entries, grouped."""
    starts = [n for n, entry in enumerate(entries) if n == 0 or not isinstance(entry.message, ToolMessage)]
    return [entries[start:end] for start, end in zip(starts, [*starts[1:], len(entries)], strict=True)]


def first_kept(entries: Sequence[Entry], share: float = KEPT_SHARE) -> int | None:
    """The seq of the first entry that stays; None when nothing could go. The newest unit always stays."""
    if not entries:
        return None
    room = share * sum(_size(entry) for entry in entries)
    kept = entries[-1].seq
    for number, unit in enumerate(reversed(units(entries))):
        room -= sum(map(_size, unit))
        if number and room < 0:
            break
        kept = unit[0].seq
    return kept if kept > entries[0].seq else None


def _size(entry: Entry) -> float:
    return entry.weight.narrow + entry.weight.wide
