"""All events of a session as one sequence that grows: those of earlier programs stay in the file until somebody asks for them.

Reading the newest, or those of one type, costs only what is read. What was stored in this process is kept as it is.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    Notice,
    Recorded,
    ResultsMasked,
    Severity,
    SnapshotTaken,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.store.codec import UnreadableLineError, decode, decode_answer
from agentclip.store.index import LogIndex
from agentclip.store.rebase import rebase

CHUNK_EVENTS = 64
"""Neighbours are read and decoded together."""
CHUNKS_KEPT = 4
DAMAGED = Notice("an event of this session is damaged and could not be read", Severity.WARNING)
CONVERSATION = (
    TurnStarted,
    UserMessageFolded,
    Advised,
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    ResultsMasked,
    SnapshotTaken,
)


class StoredEvents(Sequence[Recorded]):
    """Oldest first. Never changes what it holds; an event may be another, equal object each time."""

    def __init__(self, path: Path | None = None, index: LogIndex | None = None) -> None:
        """The events of a log, which stays readable whatever happens to its name; none at all without one."""
        self._index = index or LogIndex()
        self._new: list[Recorded] = []
        self._chunks: OrderedDict[int, list[Recorded]] = OrderedDict()
        self._folder = "" if path is None else str(path.parent / "cmd-output")
        if path is not None:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._fd)

    def __len__(self) -> int:
        return len(self._index.kinds) + len(self._new)

    @overload
    def __getitem__(self, key: int) -> Recorded: ...
    @overload
    def __getitem__(self, key: slice) -> list[Recorded]: ...
    def __getitem__(self, key: int | slice) -> Recorded | list[Recorded]:
        if isinstance(key, slice):
            return [self._at(position) for position in range(*key.indices(len(self)))]
        if not -len(self) <= key < len(self):
            raise IndexError(key)
        return self._at(key % len(self))

    def append(self, recorded: Recorded) -> None:
        """Add what was just stored."""
        self._new.append(recorded)

    def number_of(self, kind: type) -> int:
        """How many of a type there are."""
        return self._index.kinds.count(kind) + sum(type(recorded.event) is kind for recorded in self._new)

    def of(self, *kinds: type) -> Iterator[Recorded]:
        """Those of the types, oldest first; nothing else is decoded."""
        for position, kind in enumerate(self._index.kinds):
            if kind in kinds:
                yield self._at(position)
        yield from (recorded for recorded in self._new if type(recorded.event) in kinds)

    def newest(self, *kinds: type) -> Iterator[Recorded]:
        """Those of the types, newest first; nothing else is decoded."""
        yield from (recorded for recorded in reversed(self._new) if type(recorded.event) in kinds)
        for position in range(len(self._index.kinds) - 1, -1, -1):
            if self._index.kinds[position] in kinds:
                yield self._at(position)

    def conversation(self, end: int) -> Iterator[Recorded]:
        """What joins or changes the model's conversation, up to a position: runs of earlier programs as their answers only.

        A damaged event is left out. May be called on any thread.
        """
        old = len(self._index.kinds)
        for position in range(min(end, old)):
            kind = self._index.kinds[position]
            if kind in CONVERSATION:
                with contextlib.suppress(UnreadableLineError):
                    line = self._read(self._index.starts[position], self._index.ends[position])
                    recorded = decode_answer(line) if kind is CommandFinished else decode(line)
                    if recorded is not None:
                        yield self._moved(recorded)
        yield from (recorded for recorded in self._new[: max(0, end - old)] if isinstance(recorded.event, CONVERSATION))

    def containing(self, kind: type, text: bytes) -> Iterator[Recorded]:
        """Those of a type whose line holds the bytes, newest first, as far as they come from the file."""
        for position in range(len(self._index.kinds) - 1, -1, -1):
            if self._index.kinds[position] is not kind:
                continue
            if text in self._read(self._index.starts[position], self._index.ends[position]):
                yield self._at(position)

    def _at(self, position: int) -> Recorded:
        old = len(self._index.kinds)
        if position >= old:
            return self._new[position - old]
        number, offset = divmod(position, CHUNK_EVENTS)
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._chunks[number] = self._decoded(number * CHUNK_EVENTS, min(old, (number + 1) * CHUNK_EVENTS))
            if len(self._chunks) > CHUNKS_KEPT:
                self._chunks.popitem(last=False)
        return chunk[offset]

    def _decoded(self, first: int, end: int) -> list[Recorded]:
        starts, ends = self._index.starts, self._index.ends
        base = starts[first]
        data = self._read(base, ends[end - 1])
        return [
            self._recorded(data[starts[position] - base : ends[position] - base], position) for position in range(first, end)
        ]

    def _recorded(self, line: bytes, position: int) -> Recorded:
        try:
            recorded = decode(line)
        except UnreadableLineError:
            return Recorded(position + 1, self._index.last_s, DAMAGED)
        return self._moved(recorded)

    def _moved(self, recorded: Recorded) -> Recorded:
        event = rebase(recorded.event, self._folder)
        return recorded if event is recorded.event else Recorded(recorded.seq, recorded.time, event)

    def _read(self, start: int, end: int) -> bytes:
        return os.pread(self._fd, end - start, start)
