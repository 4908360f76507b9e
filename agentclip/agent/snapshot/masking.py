"""Old results of commands, shortened: a tool message comes in; head, tail and the place of the whole go out. Pure."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from agentclip.messages import Message, ToolMessage

HEAD_CHARS = 600
TAIL_CHARS = 400
_WORTH_CHARS = HEAD_CHARS + TAIL_CHARS + 400
"""A shorter text stays: the mark itself has a price."""


class Source(Struct, frozen=True):
    """Where the whole of a result is."""

    number: int | None = None
    """The run's; None for an answer without a run."""
    path: str = ""
    """The spool of its stdout; empty for an answer without a run."""


def masked(message: Message, source: Source, session_id: str) -> Message:
    """The message without the middle of its text and without pictures; the same one when that gains nothing."""
    if not isinstance(message, ToolMessage):
        return message
    pictures = "".join(f"\n[picture {image.source} left out; look again with: see {image.source}]" for image in message.images)
    if len(message.text) <= _WORTH_CHARS and not pictures:
        return message
    return replace(message, text=middle_cut(message.text, _where(source, session_id)) + pictures, images=())


def middle_cut(text: str, where: str = "", head: int = HEAD_CHARS, tail: int = TAIL_CHARS) -> str:
    """Head and tail at line borders where there are some near; the text itself when it is short."""
    if len(text) <= head + tail + _WORTH_CHARS - HEAD_CHARS - TAIL_CHARS:
        return text
    first = text[:head]
    first = first[: first.rfind("\n") + 1] if first.rfind("\n") > head // 2 else first
    last = text[-tail:]
    last = last[last.find("\n") + 1 :] if 0 <= last.find("\n") < tail // 2 else last
    left_out = len(text) - len(first) - len(last)
    return f"{first.rstrip()}\n[... {left_out:,} characters left out to save room{where} ...]\n{last.lstrip()}"


def _where(source: Source, session_id: str) -> str:
    if source.number is None:
        return ""
    return f"; the whole: topic run {session_id} {source.number}, raw in {source.path}"
