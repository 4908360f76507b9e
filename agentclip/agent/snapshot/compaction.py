"""Keeping a conversation within its limit: the past comes in; events that shorten it go out, at best before it is needed.

First old results are masked; when that is not enough the older part becomes a snapshot. Whatever fails here, the turn goes
on and nothing of the log is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from agentclip.agent.journal import Journal
from agentclip.agent.past import Past, introduced
from agentclip.agent.reply import NOTHING, Streamed, receive, total
from agentclip.agent.snapshot import ask
from agentclip.agent.snapshot.cut import KEPT_SHARE, first_kept
from agentclip.agent.snapshot.document import Snapshot, UnusableSnapshotError, read_reply, written
from agentclip.agent.snapshot.facts import FactBook
from agentclip.agent.snapshot.recorded import Surroundings, recorded
from agentclip.agent.tokens import weigh, weigh_message
from agentclip.errors import ModelError, one_line
from agentclip.events import Notice, ResultsMasked, SnapshotSource, SnapshotTaken
from agentclip.messages import Conversation, Usage, UserMessage
from agentclip.model.base import Model, Reply

WINDOW_SHARE = 0.6
"""Of the model's window: above it the conversation is shortened."""
UNMASKED_TOKENS = 50_000
"""The newest results of commands stay whole."""
ENOUGH = 0.75
"""Of the limit: when masking comes below it, nothing else is done."""
MIN_GAIN = 0.2
"""A snapshot that frees less of the prompt is thrown away."""
MAX_REQUESTS = 2
"""To the model, per turn."""
GROWTH = 1.2
"""After an attempt in vain the conversation must grow so much before the next one."""
WORDS_SHARE, FACTS_SHARE = 0.05, 0.06
"""Of the prompt as it was: what the model's words are asked to have, and what code's lines may have."""
MAX_WORDS_SHARE = 0.08
MIN_TOKENS, MAX_TOKENS = 800, 6000
AFTER_SHARE = 0.44
"""Of the prompt as it was: what all of it may be afterwards."""
MIN_KEPT_SHARE = 0.1
_NOTHING = "the conversation is short: there is nothing to compress"


class Compaction(Struct):
    """One session's. The loop asks between steps."""

    model: Model
    past: Past
    book: FactBook
    journal: Journal
    surroundings: Callable[[], Surroundings]
    max_tokens: int
    spent: Callable[[Usage | None], None]
    """Takes what a request used."""
    requests: int = 0
    """In this turn."""
    _floor: int = 0
    """Below it no further attempt is worth it."""
    _learnt_window: int | None = None
    """A prompt of that size was too long."""
    _usage: Usage = NOTHING
    _why: str = ""

    @property
    def limit(self) -> int:
        """Tokens of a prompt above which it is shortened."""
        windows = [window for window in (self.model.context_window, self._learnt_window) if window]
        return min([self.max_tokens, *(int(WINDOW_SHARE * window) for window in windows)])

    def take_over(self, model: Model) -> None:
        """Another model answers from now on: its window is another one."""
        self.model, self._learnt_window = model, None

    def begin_turn(self) -> None:
        """A new turn may try again."""
        self.requests = self._floor = 0

    async def keep_within(self) -> None:
        """Shorten the conversation when it has outgrown its limit."""
        size = self.past.tokens
        if size <= self.limit or size < self._floor:
            return
        before = self.past.estimate
        self._mask(min(UNMASKED_TOKENS, self.limit // 3))
        if self.past.tokens <= ENOUGH * self.limit:
            self._say(f"old results are sent shortened: {before:,} to {self.past.estimate:,} tokens; the log keeps them whole")
            return
        if not await self._snapshot(before, even_without_model=True):
            self._floor = int(self.past.tokens * GROWTH)
            self._say(f"the conversation stays at {self.past.tokens:,} tokens: {self._why}")

    async def after_refusal(self) -> bool:
        """The provider said that the prompt is too long: shorten it once. Whether asking again makes sense now."""
        before = self.past.estimate
        self._learnt_window = min(self._learnt_window or before, before)
        self._mask(self.limit // 4)
        if self.past.estimate <= (1 - MIN_GAIN) * before * ENOUGH:
            self._say(f"too long for the model: old results are sent shortened ({before:,} to {self.past.estimate:,} tokens)")
            return True
        asked = self.requests
        taken = await self._snapshot(before, even_without_model=True)
        # A model that could not be asked for a snapshot would be asked in vain again: the next prompt of the person will show.
        return taken and (self.requests == asked or self.past.taken_by is SnapshotSource.MODEL)

    async def compress(self) -> None:
        """The person asks for it: a snapshot by the model, or everything stays."""
        self.begin_turn()
        before = self.past.estimate
        self._mask(min(UNMASKED_TOKENS, self.limit // 3))
        if not await self._snapshot(before, even_without_model=False):
            self._say(f"not compressed, the conversation is as it was: {self._why}")

    def _say(self, text: str) -> None:
        self.journal.record(Notice(one_line(text)))

    def _mask(self, keep: int) -> None:
        before, (up_to, after) = self.past.estimate, self.past.if_masked(keep)
        if up_to is not None and after < before:
            self.journal.record(ResultsMasked(up_to, before, after))

    async def _snapshot(self, before: int, *, even_without_model: bool) -> bool:
        """Take one when it is worth it; otherwise `_why` says why not."""
        self._usage, self._why = NOTHING, ""
        try:
            return await self._taken(before, even_without_model=even_without_model)
        finally:
            if self._usage != NOTHING:
                self.journal.spend(self._usage)

    async def _taken(self, before: int, *, even_without_model: bool) -> bool:
        kept_from = first_kept(self.past.entries, self._share(before))
        if kept_from is None:
            self._why = _NOTHING
            return False
        previous = self.past.snapshot
        words = await self._words(kept_from, previous, before)
        if words is None and not even_without_model:
            return False
        snapshot = words or previous or Snapshot("(not written down yet: see what the person said, below)")
        event = await self._made(snapshot, kept_from, before, by_model=words is not None)
        if event.tokens_after > (1 - MIN_GAIN) * self.past.estimate:
            self._why = self._why or "a snapshot would not free a fifth of it"
            return False
        self.journal.record(event)
        self._usage = NOTHING if event.usage is not None else self._usage
        how = "" if words is not None else f" (recorded facts only: {self._why})"
        self._say(f"snapshot {event.number} taken: {before:,} to {self.past.estimate:,} tokens{how}; the log keeps everything")
        return True

    def _share(self, before: int) -> float:
        """Of the messages, what stays word for word: less than usual when a small prompt's other parts take much of it."""
        fixed = _bounded(FACTS_SHARE * before) + _most(before)
        fixed += self.past.tokens_of(entry.weight for entry in self.past.current_prompts())
        return min(KEPT_SHARE, max(MIN_KEPT_SHARE, AFTER_SHARE - fixed / max(1, before)))

    async def _made(self, snapshot: Snapshot, kept_from: int, before: int, *, by_model: bool) -> SnapshotTaken:
        prompts = tuple(e.seq for e in self.past.current_prompts() if e.seq < kept_from)
        staying = [e for e in self.past.entries if e.seq >= kept_from or e.seq in prompts]
        without = frozenset(e.seq for e in staying if e.is_prompt)
        lines = await asyncio.to_thread(self._recorded, without, _bounded(FACTS_SHARE * before))
        text = written(snapshot, lines)
        after = self.past.tokens_of([e.weight for e in staying] + [weigh_message(UserMessage(introduced(text)))])
        source = SnapshotSource.MODEL if by_model else SnapshotSource.CODE
        usage = self._usage if by_model else None
        return SnapshotTaken(self.past.number + 1, text, kept_from, prompts, before, after, source, usage)

    def _recorded(self, without: frozenset[int], room: int) -> dict[str, str]:
        self.book.catch_up()
        return recorded(self.book, self.surroundings(), without, room)

    async def _words(self, kept_from: int, previous: Snapshot | None, before: int) -> Snapshot | None:
        """The model's words, asked for at most twice; None when it gave none that can be used."""
        going = [entry.message for entry in self.past.entries if entry.seq < kept_from]
        target = _bounded(WORDS_SHARE * before)
        most = _most(before)
        asked = ask.request(going, previous, self.limit, target, self.past.estimator)
        wanted = asked
        while self.requests < MAX_REQUESTS:
            text = await self._reply(wanted)
            if text is None:
                return None
            try:
                return self._checked(text, target, most)
            except UnusableSnapshotError as error:
                self._why = f"the model's snapshot cannot be used: {error}"
                wanted = ask.repair(asked, text, str(error))
        self._why = self._why or f"the model was asked {MAX_REQUESTS} times in this turn already"
        return None

    def _checked(self, text: str, target: int, most: int) -> Snapshot:
        snapshot = read_reply(text)
        size = self.past.estimator.tokens(weigh(written(snapshot, {})))
        if size > most:
            raise UnusableSnapshotError(f"it is too long: {size:,} tokens, at most {target:,} are wanted")
        return snapshot

    async def _reply(self, conversation: Conversation) -> str | None:
        """What the model writes; None when the provider fails."""
        self.requests += 1
        outcome = await receive(self.model, conversation, lambda _: None, Streamed())
        if not isinstance(outcome, Reply):
            self._why = f"the request for a snapshot failed: {outcome.message}" if isinstance(outcome, ModelError) else ""
            return None
        self._usage = total(self._usage, outcome.usage)
        self.spent(outcome.usage)
        return outcome.message.text


def _bounded(tokens: float) -> int:
    return int(min(MAX_TOKENS, max(MIN_TOKENS, tokens)))


def _most(before: int) -> int:
    return max(MIN_TOKENS, int(MAX_WORDS_SHARE * before))
