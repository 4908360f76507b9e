"""A model that runs in circles: stored events come in; a warning for it, or the end of the turn, goes out. Pure.

Commands count by what they did: the same call with another result is no repetition, so waiting for something is none. Counts:
a cycle of one to five calls five times in a row is the first strike, three more times the second; a reply that repeats itself
ten times, or the same long reply or reasoning in ten steps, is a strike each time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque

from msgspec import Struct, field

from agentclip.agent.repetition import Repetition
from agentclip.errors import ErrorCode, one_line
from agentclip.events import Advised, AssistantReplied, CallAnswered, CommandFinished, Event, TurnEnd, TurnFinished
from agentclip.messages import ToolCall, UserMessage

MAX_CYCLE = 5
CYCLE_REPEATS = 5
REPEATS_AFTER_STRIKE = 3
"""Of the same cycle, after the model was told of it."""
SAME_REPLIES = 10
MIN_REPLY_CHARS = 200
"""A shorter sentence before a call may be a habit."""
FORGET_AFTER_STEPS = 30
"""Steps without suspicion after which a strike no longer counts."""
_QUOTED_CHARS = 300

_DURATION = re.compile(
    r"\b(in|took|time:?|duration:?|real|user|sys|elapsed:?)(\s+)[\d.]+\s*m?\s*[\d.]*\s*(ms|s|sec|seconds)\b",
    re.IGNORECASE,
)
_FOOTER = re.compile(r"(\[exit:\d+) \| [^\]|]*")
_NUMBERED_SPOOL = re.compile(r"cmd-\d+(\.\d+)?\.(txt|err)")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")

_NEXT = "Say go on, ask in other words, or switch detection off with /loops off"


class Suspicion(Struct, frozen=True):
    """A repetition that was seen."""

    evidence: str
    """What repeats and how often, for the model and the person."""
    calls: frozenset[bytes] = frozenset()
    """The keys of the cycle; empty for words."""


class LoopGuard(Struct):
    """Of one session; a turn begins anew."""

    enabled: bool = True
    _keys: deque[tuple[bytes, str]] = field(default_factory=lambda: deque(maxlen=MAX_CYCLE * CYCLE_REPEATS))
    """Of the calls, each with how it is quoted."""
    _calls: dict[str, ToolCall] = field(default_factory=dict)
    """Those without an answer, by id."""
    _replies: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=SAME_REPLIES))
    """Text and reasoning of the last ones, long ones only."""
    _struck: Suspicion | None = None
    _steps_since: int = 0

    def begin_turn(self) -> None:
        """A prompt of the person: nothing counts that was before."""
        self._keys.clear()
        self._calls.clear()
        self._replies.clear()
        self._struck = None

    def take(self, event: Event) -> None:
        """Look at what was just stored."""
        match event:
            case AssistantReplied(message, partial=partial):
                self._calls = {call.id: call for call in message.tool_calls}
                if not partial:
                    self._replies.append((_long(message.text), _long(message.reasoning)))
            case CommandFinished(tool_call_id=str(call_id), result=result, shown=shown):
                self._answered(call_id, result.status, shown.text)
            case CallAnswered(message):
                self._answered(message.tool_call_id, -1, message.text)
            case _:
                pass

    def verdict(self, suspicion: Suspicion | None = None) -> Advised | TurnFinished | None:
        """Asked once per step: a warning to the model, the end of the turn, or None. `suspicion` comes from elsewhere."""
        self._steps_since += 1
        if not self.enabled:
            return None
        found = self._cycle() or self._same_reply() or suspicion
        if found is None:
            return None
        second = self._struck is not None and self._steps_since <= FORGET_AFTER_STEPS
        self._struck, self._steps_since = found, 0
        self._keys.clear()
        self._replies.clear()
        return _end(found) if second else Advised(UserMessage(_advice(found)), f"looks like a loop: {one_line(found.evidence)}")

    def _answered(self, call_id: str, status: int, text: str) -> None:
        call = self._calls.pop(call_id, None)
        if call is not None:
            self._keys.append((call_key(call, status, text), _quoted(call)))

    def _cycle(self) -> Suspicion | None:
        keys = list(self._keys)
        for length in range(1, MAX_CYCLE + 1):
            cycle = keys[-length:]
            calls = frozenset(key for key, _ in cycle)
            told = self._struck is not None and calls == self._struck.calls
            repeats = REPEATS_AFTER_STRIKE if told else CYCLE_REPEATS
            run = keys[-length * repeats :]
            if len(run) == length * repeats and all(run[n][0] == cycle[n % length][0] for n in range(len(run))):
                quoted = "; ".join(text for _, text in cycle)
                times = f"{repeats} more times" if told else f"{repeats} times in a row"
                return Suspicion(f"the same calls with the same results, {times}: {quoted}", calls)
        return None

    def _same_reply(self) -> Suspicion | None:
        if len(self._replies) < SAME_REPLIES:
            return None
        for kind, texts in zip(("text", "reasoning"), zip(*self._replies, strict=True), strict=True):
            if texts[0] and len(set(texts)) == 1:
                return Suspicion(f"the same {kind} in {SAME_REPLIES} steps: {texts[0][:_QUOTED_CHARS]}")
        return None


def words_that_repeat(text: str, kind: str) -> Suspicion | None:
    """A whole text that repeats itself at its end; None for an ordinary one."""
    watch = Repetition()
    watch.feed(text)
    unit = watch.look()
    return None if unit is None else suspicion_of_unit(unit, kind)


def suspicion_of_unit(unit: str, kind: str) -> Suspicion:
    """A unit that repeats in one reply."""
    return Suspicion(f"the {kind} repeats itself: {unit[:_QUOTED_CHARS]}")


def call_key(call: ToolCall, status: int, text: str) -> bytes:
    """What a call did, as one value: the call, its status and its output, without what differs each time for no reason."""
    for pattern, by in ((_FOOTER, r"\1"), (_DURATION, r"\1"), (_NUMBERED_SPOOL, "cmd"), (_ADDRESS, "0x")):
        text = pattern.sub(by, text)
    parts = (call.name, _normal_arguments(call.arguments), str(status), " ".join(text.split()))
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).digest()


def _normal_arguments(arguments: str) -> str:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return " ".join(arguments.split())
    if isinstance(value, dict):
        value.pop("timeout_s", None)
        if isinstance(command := value.get("command"), str):
            value["command"] = " ".join(command.split())
    return json.dumps(value, sort_keys=True)


def _quoted(call: ToolCall) -> str:
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        value = None
    command = value.get("command") if isinstance(value, dict) else None
    text = one_line(str(command or call.arguments))
    return text if len(text) <= _QUOTED_CHARS // 2 else text[: _QUOTED_CHARS // 2] + "…"


def _long(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) >= MIN_REPLY_CHARS else ""


def _advice(found: Suspicion) -> str:
    return (
        f"[agentclip] This looks like a loop: {found.evidence}\n"
        "Doing it again will give the same. Stop, and say to yourself what you expected and what came instead. Then do "
        "something different: look at the cause (read the error, the file, the help of the command), try another way, or "
        "tell the person what is in the way and what you need. If it continues, the turn is ended."
    )


def _end(found: Suspicion) -> TurnFinished:
    text = f"stopped, the model is in a loop and was told once: {found.evidence}. {_NEXT}"
    return TurnFinished(TurnEnd.LIMIT, one_line(text), ErrorCode.LOOP_DETECTED)
