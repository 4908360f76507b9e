"""The request for a snapshot: the messages that go come in, a conversation of its own for the model goes out. Pure.

The history travels as quoted data inside a border that its text cannot know; our own tags inside it are made harmless.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from agentclip.agent.prompt import prompt_text
from agentclip.agent.snapshot.document import Snapshot, defused, escaped, written
from agentclip.agent.snapshot.masking import middle_cut
from agentclip.agent.tokens import Estimator, weigh
from agentclip.messages import AssistantMessage, Conversation, Message, ToolMessage, UserMessage

_RESULT_CHARS = (2000, 600, 200)
"""Of one result, by how tight it is."""
_COMMAND_CHARS = 1500
_TEXT_CHARS = 4000
_PERSON_CHARS = 8000
_BROKEN_CHARS = 20_000
WORDS_PER_TOKEN = 0.7


def request(
    messages: Sequence[Message], previous: Snapshot | None, room: int, target: int, estimator: Estimator
) -> Conversation:
    """Ask for a snapshot of at most about `target` tokens; the request itself has about `room` tokens."""
    history = ""
    for result_chars in _RESULT_CHARS:
        history = "\n".join(_told(message, result_chars) for message in messages)
        if estimator.tokens(weigh(history)) <= room:
            break
    else:
        share = room / estimator.tokens(weigh(history))
        history = middle_cut(history, "", int(len(history) * share * 0.3), int(len(history) * share * 0.6))
    border = secrets.token_hex(6)
    old = "" if previous is None else f"The previous snapshot, to be updated:\n{defused_document(previous)}\n\n"
    text = (
        f'{old}<history border="{border}">\n{history}\n</history border="{border}">\n\n'
        "What came after this stays with the agent word for word. Now write the <scratchpad> and then the <state_snapshot> "
        f"with its five parts, together at most about {int(target * WORDS_PER_TOKEN)} words (in Chinese or Japanese: {target} "
        "characters)."
    )
    return Conversation(prompt_text("snapshot.md"), (UserMessage(text),), ())


def repair(asked: Conversation, broken: str, fault: str) -> Conversation:
    """Ask once more, saying what was wrong."""
    advice = (
        f"That cannot be used: {fault}. Write only the <state_snapshot> again, whole, in exactly the form that was asked for."
    )
    said = middle_cut(broken, "", _BROKEN_CHARS // 2, _BROKEN_CHARS // 2) if broken.strip() else "(nothing)"
    return Conversation(asked.system, (*asked.messages, AssistantMessage(said), UserMessage(advice)), ())


def defused_document(snapshot: Snapshot) -> str:
    """A document of the model's own words, to be quoted."""
    return escaped(written(snapshot, {})).replace("&lt;", "[").replace("&gt;", "]")


def _told(message: Message, result_chars: int) -> str:
    match message:
        case UserMessage(text):
            return f"[person]\n{defused(middle_cut(text, '', _PERSON_CHARS // 2, _PERSON_CHARS // 2))}"
        case AssistantMessage(text, calls):
            lines = [f"[agent]\n{defused(middle_cut(text, '', _TEXT_CHARS // 2, _TEXT_CHARS // 2))}"] if text.strip() else []
            half = _COMMAND_CHARS // 2
            return "\n".join([*lines, *(f"[call] {defused(middle_cut(call.arguments, '', half, half))}" for call in calls)])
        case ToolMessage(text=text):
            return f"[result]\n{defused(middle_cut(text, '', result_chars * 3 // 5, result_chars * 2 // 5))}"
