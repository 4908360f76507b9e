"""The conversation a model is sent: stored events come in, messages that every provider takes go out. Pure.

`check` is the one place where a history is made valid, before every request and for every provider. One bad item would
make every later request fail.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from agentclip.events import Advised, AssistantReplied, CallAnswered, CommandFinished, Event, TurnStarted, UserMessageFolded
from agentclip.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from agentclip.model.wire import clean, safe_arguments, safe_name

NOT_RUN = "[cancelled: not run]\n[exit:130 | 0ms | cancelled]"
"""The answer to a call whose turn never came."""
_LOST_ANSWER = "[cancelled: the answer to this call was lost]\n[exit:130 | 0ms | cancelled]"
_LOST_BEGINNING = "[the beginning of this conversation was lost]"
_GO_ON = "Go on."
_EMPTY_ANSWER = "[no output]"


def message_of(event: Event) -> Message | None:
    """What an event adds to the conversation; None when the model does not read it (a `!` line of the person)."""
    match event:
        case TurnStarted(message) | UserMessageFolded(message) | Advised(message):
            return message
        case AssistantReplied(message):
            return message
        case CallAnswered(message):
            return message
        case CommandFinished(tool_call_id=str(call_id), shown=shown):
            return ToolMessage(call_id, shown.text, shown.images)
        case _:
            return None


class Checked(Struct, frozen=True):
    """A history that is valid."""

    messages: tuple[Message, ...]
    repairs: tuple[str, ...]
    """What had to be mended, one line each; empty for a sound history. Broken arguments and names are no surprise: not here."""


def check(messages: Sequence[Message]) -> Checked:
    """Return the history with every rule met.

    Every call answered exactly once, directly after it and in order; ids unique; roles in order, a user first and last a
    user or an answer; nothing empty; strict UTF-8 without NUL; arguments a JSON object; names the API accepts.
    """
    return _Repair(messages).run()


class _Repair(Struct):
    source: Sequence[Message]
    out: list[Message] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def run(self) -> Checked:
        answers: defaultdict[str, deque[ToolMessage]] = defaultdict(deque)
        for message in self.source:
            if isinstance(message, ToolMessage):
                answers[message.tool_call_id].append(message)
        expected = 0
        for position, message in enumerate(self.source):
            match message:
                case ToolMessage():
                    expected -= 1
                    if expected < 0:
                        self._note(f"an answer was out of place (message {position + 1})")
                case UserMessage():
                    expected = 0
                    self._user(message)
                case AssistantMessage():
                    expected = len(message.tool_calls)
                    self._assistant(message, answers)
        self._leave_out(itertools.chain.from_iterable(answers.values()))
        self._close()
        return Checked(tuple(self.out), tuple(self.repairs))

    def _user(self, message: UserMessage) -> None:
        """Messages of the person that follow each other become one: some providers refuse two."""
        message = UserMessage(clean(message.text), message.images)
        if not message.text.strip() and not message.images:
            self._note("an empty message was left out")
        elif self.out and isinstance(last := self.out[-1], UserMessage):
            self.out[-1] = UserMessage(_joined(last.text, message.text), last.images + message.images)
        else:
            self.out.append(message)

    def _assistant(self, message: AssistantMessage, answers: dict[str, deque[ToolMessage]]) -> None:
        text = clean(message.text)
        if not text.strip() and not message.tool_calls:
            self._note("an empty answer was left out")
            return
        if not self.out:
            self._note("the conversation began with an answer")
            self.out.append(UserMessage(_LOST_BEGINNING))
        if isinstance(last := self.out[-1], AssistantMessage):
            self.out.pop()
            text = _joined(last.text, text)
        calls = [self._call(call) for call in message.tool_calls]
        self.out.append(AssistantMessage(text, tuple(calls)))
        for call, original in zip(calls, message.tool_calls, strict=True):
            waiting = answers.get(original.id)
            if waiting:
                self.out.append(_sound_answer(waiting.popleft(), call.id))
            else:
                self._note(f"a call without an answer got one ({call.id})")
                self.out.append(ToolMessage(call.id, _LOST_ANSWER))

    def _call(self, call: ToolCall) -> ToolCall:
        identifier = free_id(call.id, self.ids)
        if identifier != call.id:
            self._note(f"a call's id was replaced ({identifier})")
        self.ids.add(identifier)
        return ToolCall(identifier, safe_name(call.name), safe_arguments(call.arguments))

    def _leave_out(self, strays: Iterable[ToolMessage]) -> None:
        for stray in strays:
            self._note(f"an answer that belongs to no call was left out ({clean(stray.tool_call_id)[:40]})")

    def _close(self) -> None:
        if not self.out or isinstance(self.out[-1], AssistantMessage):
            self._note("the conversation ended with an answer")
            self.out.append(UserMessage(_GO_ON))

    def _note(self, text: str) -> None:
        self.repairs.append(text)


def free_id(wanted: str, taken: set[str]) -> str:
    """An id that the API accepts and that no other call of the conversation has; the wanted one where it can be."""
    sound = "".join(c for c in wanted if "!" <= c <= "~")
    if sound and sound not in taken:
        return sound
    return next(name for n in itertools.count(1) if (name := f"{sound[:40] or 'call'}_{n}") not in taken)


def with_sound_ids(message: AssistantMessage, taken: set[str]) -> AssistantMessage:
    """The reply with ids that are unique within the conversation; they are added to `taken`."""
    calls = []
    for call in message.tool_calls:
        identifier = free_id(call.id, taken)
        taken.add(identifier)
        calls.append(call if identifier == call.id else replace(call, id=identifier))
    return replace(message, tool_calls=tuple(calls))


def _sound_answer(answer: ToolMessage, call_id: str) -> ToolMessage:
    text = clean(answer.text)
    return ToolMessage(call_id, text if text.strip() else _EMPTY_ANSWER, answer.images)


def _joined(first: str, second: str) -> str:
    return f"{first}\n\n{second}" if first.strip() and second.strip() else first + second
