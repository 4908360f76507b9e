"""All events of a session as one sequence that grows: those of earlier programs stay in the file until somebody asks for them.

Reading the newest, or those of one type, costs only what is read. What was stored in this process is kept as it is.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import weakref
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
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
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.store.codec import (
    Paid,
    UnreadableLineError,
    decode,
    decode_answer,
    decode_paid,
    encode,
    seq_of,
)
from agentclip.store.index import LogIndex
from agentclip.store.rebase import rebase

CHUNK_EVENTS = 16
"""Neighbours are read and decoded together."""
CHUNKS_KEPT = 16
BLOCK_BYTES = 1024 * 1024
"""Read at once where most of a log is read."""
HEAD_BYTES = 64
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

    def conversation(self, end: int, since_seq: int = 0, with_seqs: Iterable[int] = ()) -> Iterator[Recorded]:
        """What joins or changes the model's conversation, up to a position: runs of earlier programs as their answers only.

        It begins with the events of `with_seqs` and goes on with `since_seq`. A damaged event is left out. May be called on any
        thread.
        """
        old = len(self._index.kinds)
        end_old = min(end, old)
        positions = itertools.chain(map(self._position, with_seqs), range(self._position(since_seq), end_old))
        wanted = (position for position in positions if position < end_old and self._index.kinds[position] in CONVERSATION)
        for position, line in self._lines(wanted):
            with contextlib.suppress(UnreadableLineError):
                if self._index.kinds[position] is not CommandFinished:
                    yield self._moved(decode(line))
                elif (answer := decode_answer(line)) is not None:
                    yield self._moved(answer)
        yield from (recorded for recorded in self._new[: max(0, end - old)] if isinstance(recorded.event, CONVERSATION))

    def last(self, end: int, kind: type) -> Iterator[Recorded]:
        """Those of a type up to a position, newest first. A damaged event is left out. May be called on any thread."""
        old = len(self._index.kinds)
        yield from (recorded for recorded in reversed(self._new[: max(0, end - old)]) if type(recorded.event) is kind)
        for position in range(min(end, old) - 1, -1, -1):
            if self._index.kinds[position] is kind:
                with contextlib.suppress(UnreadableLineError):
                    yield self._moved(decode(self._read(self._index.starts[position], self._index.ends[position])))

    def replies(self, end: int) -> Iterator[Paid]:
        """What each AssistantReplied up to a position cost. A damaged event is left out. May be called on any thread."""
        old, kinds = len(self._index.kinds), self._index.kinds
        for _, line in self._lines(position for position in range(min(end, old)) if kinds[position] is AssistantReplied):
            with contextlib.suppress(UnreadableLineError):
                yield decode_paid(line)
        for recorded in self._new[: max(0, end - old)]:
            if isinstance(recorded.event, AssistantReplied):
                yield decode_paid(encode(recorded))

    def asides(self, end: int) -> Iterator[TurnFinished]:
        """The ends of turns up to a position that say what other requests used. May be called on any thread."""
        old, kinds = len(self._index.kinds), self._index.kinds
        for _, line in self._lines(position for position in range(min(end, old)) if kinds[position] is TurnFinished):
            with contextlib.suppress(UnreadableLineError):
                if b'"aside":{' in line and isinstance(event := decode(line).event, TurnFinished):
                    yield event
        yield from (r.event for r in self._new[: max(0, end - old)] if isinstance(r.event, TurnFinished) and r.event.aside)

    def containing(self, kind: type, text: bytes) -> Iterator[Recorded]:
        """Those of a type whose line holds the bytes, newest first, as far as they come from the file."""
        if not self._index.kinds:
            return
        with mmap.mmap(self._fd, self._index.ends[-1], prot=mmap.PROT_READ) as log:
            end = len(log)
            while (found := log.rfind(text, 0, end)) >= 0:
                position = bisect_right(self._index.starts, found) - 1
                end = self._index.starts[position]
                if self._index.kinds[position] is kind:
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

    def _position(self, seq: int) -> int:
        """Of the first event of the file with this seq or a higher one."""
        return bisect_left(range(len(self._index.kinds)), seq, key=self._seq)

    def _seq(self, position: int) -> int:
        start, end = self._index.starts[position], self._index.ends[position]
        seq = seq_of(self._read(start, min(end, start + HEAD_BYTES)))
        return self._at(position).seq if seq is None else seq

    def _lines(self, positions: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The lines at positions that mostly follow each other."""
        block, base = b"", 0
        for position in positions:
            start, end = self._index.starts[position], self._index.ends[position]
            if start < base or end > base + len(block):
                block, base = self._read(start, max(end, start + BLOCK_BYTES)), start
            yield position, block[start - base : end - base]

    def _read(self, start: int, end: int) -> bytes:
        return os.pread(self._fd, end - start, start)
