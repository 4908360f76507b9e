"""A saved session as one text: events come in, Markdown or JSON goes out piece by piece.

Whatever a program or a model printed stays inside its fence, and its control characters are shown, not sent.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec import to_builtins

from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    CommandStarted,
    Event,
    Notice,
    Recorded,
    SnapshotTaken,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.store.codec import encode
from agentclip.store.facts import SessionFacts


def as_json(facts: SessionFacts, events: Iterable[Recorded]) -> Iterator[str]:
    """One document: the facts, and every stored event as the log has it. ASCII."""
    yield f'{{"ok": true, "session": {json.dumps(to_builtins(facts))}, "events": [\n'
    for number, recorded in enumerate(events):
        yield f"{',' if number else ' '}{json.dumps(json.loads(encode(recorded)))}\n"
    yield "]}\n"


def as_markdown(facts: SessionFacts, events: Iterable[Recorded]) -> Iterator[str]:
    """What was said and run, for people."""
    yield f"# agentclip session {facts.id}\n\n"
    rows = {"title": facts.title, "directory": facts.cwd, "model": facts.model, "began": _time(facts.created_s)}
    yield "".join(f"- {name}: {_code(value)}\n" for name, value in rows.items() if value)
    for recorded in events:
        yield from (f"\n{part}" for part in _parts(recorded.event, _time(recorded.time)))


def write_private(path: Path, pieces: Iterable[str]) -> None:
    """Write a file that only its owner can read, whole or not at all. Raises OSError."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.writelines(piece.encode("utf-8", "replace") for piece in pieces)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def marked(text: str) -> str:
    """The text with every character shown that would act on a terminal or reorder it; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(_visible(c) for c in text.replace("\r\n", "\n"))


def _visible(c: str) -> str:
    if c in "\n\t" or c.isprintable():
        return c
    if ord(c) < 0x20:
        return chr(0x2400 + ord(c))  # the control pictures
    return f"<U+{ord(c):04X}>" if unicodedata.category(c) in _ACTING else c


_ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: controls, format characters (direction marks), half surrogates, separators of lines."""


def _parts(event: Event, time: str) -> Iterator[str]:
    match event:
        case TurnStarted(message) | UserMessageFolded(message):
            yield f"## Prompt, {time}\n\n{_fence(message.text)}"
        case AssistantReplied(message, partial=partial):
            if message.text.strip():
                yield f"### Answer{' (cut)' if partial else ''}\n\n{_fence(message.text)}"
        case CommandStarted(number=number, command=command, tool_call_id=call_id):
            yield f"### Run {number}{'' if call_id else ' (by the person)'}\n\n{_fence(command, 'sh')}"
        case CommandFinished(shown=answer) | CallAnswered(message=answer):
            yield f"Result:\n\n{_fence(answer.text)}"
        case Advised(reason=text) | Notice(text=text):
            yield f"Note: {_code(text)}\n"
        case SnapshotTaken(number=number, text=text):
            yield f"### Snapshot {number}\n\n{_fence(text, 'xml')}"
        case TurnFinished(reason=reason, text=text) if reason is not TurnEnd.ANSWERED:
            yield f"The turn ended ({reason.value}): {_code(text)}\n"
        case _:
            pass


def _fence(text: str, language: str = "text") -> str:
    """A block that nothing inside can close."""
    text = marked(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


def _code(text: str) -> str:
    """A span of code on one line that nothing inside can close."""
    text = " ".join(marked(text).split()) or " "
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
