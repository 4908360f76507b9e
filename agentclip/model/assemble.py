"""Fragments of a streamed reply become one message. Pure: decoded JSON comes in, parts and the message go out.

Servers number their calls badly: two calls share index 0 or have no index, ids come only in the first fragment or never.
Calls are kept apart by id first, then by index, then by the end of the JSON before; where two share an id, by these.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from agentclip.messages import AssistantMessage, ToolCall, Usage
from agentclip.model.base import CallPart, Part, ReasoningPart, TextPart
from agentclip.model.wire import clean, parse_arguments

MAX_REPLY_CHARS = 8 * 1024 * 1024
MAX_CALLS = 128
USABLE_ID = re.compile(r"[!-~]{1,64}\Z")


class ReplyTooLongError(ValueError):
    """The endpoint does not stop."""


class TextStream(Struct):
    """Text in fragments; a surrogate pair may be split between two."""

    pieces: list[str] = field(default_factory=list)
    held: str = ""
    """A high surrogate that waits for its other half."""

    def feed(self, fragment: str) -> str:
        """The text that can be shown now."""
        fragment = self.held + fragment
        self.held = fragment[-1:] if "\ud800" <= fragment[-1:] <= "\udbff" else ""
        shown = clean(fragment[: len(fragment) - len(self.held)])
        self.pieces.append(shown)
        return shown

    def whole(self) -> str:
        """All of it; half a pair at the end is replaced."""
        return "".join(self.pieces) + clean(self.held)


class CallInProgress(Struct):
    """A call whose arguments are still growing."""

    id: str
    """As the parts and the message name it."""
    given_id: str
    """As the server names it; empty while it has not."""
    index: int | None
    name: str = ""
    arguments: TextStream = field(default_factory=TextStream)


class ReplyAssembler(Struct):
    """One reply."""

    taken_ids: set[str]
    """Ids that calls of the conversation already have."""
    text: TextStream = field(default_factory=TextStream)
    reasoning: TextStream = field(default_factory=TextStream)
    calls: list[CallInProgress] = field(default_factory=list)
    finish_reason: str | None = None
    usage: Usage | None = None
    size: int = 0
    """Characters so far."""

    def feed(self, chunk: Mapping[str, object]) -> Iterator[Part]:
        """The parts of a decoded chunk of the stream, or of a whole answer."""
        self.usage = read_usage(chunk.get("usage")) or self.usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return
        choice = choices[0]
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            yield from self._feed_delta(delta)
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]

    def message(self) -> AssistantMessage:
        """The whole message; a call that nothing is known of is left out."""
        calls = (ToolCall(call.id, call.name, call.arguments.whole()) for call in self.calls)
        return AssistantMessage(
            text=self.text.whole(),
            tool_calls=tuple(call for call in calls if call.name or call.arguments.strip()),
            reasoning=self.reasoning.whole(),
        )

    def _feed_delta(self, delta: Mapping[str, object]) -> Iterator[Part]:
        content, thoughts = split_content(delta.get("content"))
        for key in ("reasoning_content", "reasoning"):  # some servers send both, with the same text
            if not thoughts and isinstance(value := delta.get(key), str):
                thoughts = value
        if isinstance(refusal := delta.get("refusal"), str):
            content += refusal
        self._grow(len(content) + len(thoughts))
        if thoughts and (shown := self.reasoning.feed(thoughts)):
            yield ReasoningPart(shown)
        if content and (shown := self.text.feed(content)):
            yield TextPart(shown)
        fragments = delta.get("tool_calls")
        touched: list[CallInProgress] = []
        for fragment in fragments if isinstance(fragments, list) else ():
            if isinstance(fragment, dict):
                yield self._feed_call(fragment, touched)

    def _feed_call(self, fragment: Mapping[str, object], touched: list[CallInProgress]) -> Part:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        name = clean(function["name"]) if isinstance(function.get("name"), str) else ""
        arguments = _arguments(function.get("arguments"))
        call = self._call_of(fragment, has_name=bool(name), touched=touched)
        touched.append(call)
        call.name = call.name or name
        self._grow(len(arguments))
        return CallPart(call.id, call.name, call.arguments.feed(arguments))

    def _call_of(self, fragment: Mapping[str, object], *, has_name: bool, touched: list[CallInProgress]) -> CallInProgress:
        """The call that a fragment belongs to, made when it begins one."""
        given = fragment.get("id")
        given_id = given if isinstance(given, str) else ""
        number = fragment.get("index")
        index = number if isinstance(number, int) else None
        newest_first = list(reversed(self.calls))
        if given_id:
            same = [call for call in newest_first if call.given_id == given_id]
            found = next((call for call in same if call.index == index), same[0] if same else None)
            if found is not None and has_name and None not in {index, found.index} and found.index != index:
                found = None if self._is_over(found, touched) or not found.arguments.whole() else found
            nameless = next((call for call in newest_first if call.index == index and not call.given_id), None)
            if found is None and nameless is not None and not has_name:
                nameless.given_id = given_id
                found = nameless
        else:
            found = next((call for call in newest_first if index is None or call.index == index), None)
            if found is not None and has_name and self._is_over(found, touched):
                found = None
        return found or self._begin(given_id, index)

    @staticmethod
    def _is_over(call: CallInProgress, touched: list[CallInProgress]) -> bool:
        """Whether a fragment with a name begins another call than this one, with which it shares an id or an index."""
        return call in touched or parse_arguments(call.arguments.whole()) is not None

    def _begin(self, given_id: str, index: int | None) -> CallInProgress:
        if len(self.calls) >= MAX_CALLS:
            raise ReplyTooLongError(f"more than {MAX_CALLS} tool calls in one answer")
        call_id = given_id
        if not USABLE_ID.match(given_id) or given_id in self.taken_ids:
            # Nine letters and digits: the one form that every endpoint takes back.
            call_id = next(free for n in itertools.count(1) if (free := f"call{n:05d}") not in self.taken_ids)
        self.taken_ids.add(call_id)
        call = CallInProgress(call_id, given_id, index)
        self.calls.append(call)
        return call

    def _grow(self, chars: int) -> None:
        self.size += chars
        if self.size > MAX_REPLY_CHARS:
            raise ReplyTooLongError(f"an answer of more than {MAX_REPLY_CHARS} characters")


def split_content(content: object) -> tuple[str, str]:
    """Text and reasoning of a content, which is a string or a list of typed parts."""
    if isinstance(content, str):
        return content, ""
    text, thoughts = "", ""
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "text", "text": str(words)}:
                text += words
            case {"type": "thinking", "thinking": inner}:
                thoughts += "".join(split_content(inner))
    return text, thoughts


def _arguments(value: object) -> str:
    """Arguments as text: some servers send the object itself."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def read_usage(value: object) -> Usage | None:
    """The tokens of a reply; None when they are not told."""
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else value.get("prompt_cache_hit_tokens")
    cost = value.get("cost")
    return Usage(
        input_tokens=_count(value.get("prompt_tokens")),
        output_tokens=_count(value.get("completion_tokens")),
        cached_tokens=_count(cached),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None,
    )


def _count(value: object) -> int:
    return min(max(0, int(value)), 2**53) if isinstance(value, int) else 0
