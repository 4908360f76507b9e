from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentclip.agent.context import NOT_RUN, check, free_id, message_of
from agentclip.events import Advised, Notice, TurnEnd, TurnFinished, TurnStarted, UserMessageFolded
from agentclip.messages import AssistantMessage, Conversation, Message, ToolCall, ToolMessage, ToolSpec, UserMessage
from tests.agent.scripted import strictly_valid
from tests.store.samples import finished

TOOL = ToolSpec("run", "d", '{"type": "object", "properties": {}}')


def call(identifier: str, arguments: str = '{"command": "ls"}', name: str = "run") -> ToolCall:
    return ToolCall(identifier, name, arguments)


SOUND: tuple[Message, ...] = (
    UserMessage("hi"),
    AssistantMessage("I look", (call("a"), call("b"))),
    ToolMessage("a", "A"),
    ToolMessage("b", "B"),
    AssistantMessage("found"),
    UserMessage("and?"),
)


def test_a_sound_history_is_left_as_it_is() -> None:
    checked = check(SOUND)
    assert checked.messages == SOUND
    assert checked.repairs == ()


@pytest.mark.parametrize(
    ("messages", "repair"),
    [
        ((UserMessage("hi"), AssistantMessage("", (call("a"),))), "a call without an answer got one (a)"),
        ((UserMessage("hi"), AssistantMessage("", (call("a"),)), UserMessage("x")), "a call without an answer got one (a)"),
        ((UserMessage("hi"), ToolMessage("a", "A")), "an answer that belongs to no call was left out (a)"),
        ((*SOUND[:4], ToolMessage("a", "again"), UserMessage("x")), "an answer was out of place (message 5)"),
        ((UserMessage("hi"), AssistantMessage(" \n"), UserMessage("x")), "an empty answer was left out"),
        ((UserMessage(" "), UserMessage("x")), "an empty message was left out"),
        ((AssistantMessage("x"), UserMessage("hi")), "the conversation began with an answer"),
        ((UserMessage("hi"), AssistantMessage("x")), "the conversation ended with an answer"),
        ((), "the conversation ended with an answer"),
        ((UserMessage("hi"), AssistantMessage("", (call(""),)), ToolMessage("", "A")), "a call's id was replaced (call_1)"),
        (
            (UserMessage("hi"), AssistantMessage("", (call("a"), call("a"))), ToolMessage("a", "A"), ToolMessage("a", "B")),
            "a call's id was replaced (a_1)",
        ),
    ],
)
def test_a_broken_history_is_mended_and_said_so(messages: tuple[Message, ...], repair: str) -> None:
    checked = check(messages)
    assert repair in checked.repairs
    strictly_valid(Conversation("s", checked.messages, (TOOL,)))


def test_answers_with_the_same_id_stay_in_order() -> None:
    calls = AssistantMessage("", (call("a"), call("a")))
    checked = check((UserMessage("hi"), calls, ToolMessage("a", "first"), ToolMessage("a", "second")))
    assert [message.text for message in checked.messages if isinstance(message, ToolMessage)] == ["first", "second"]


def test_answers_are_put_directly_after_their_calls_and_in_their_order() -> None:
    calls = AssistantMessage("", (call("a"), call("b")))
    checked = check((UserMessage("hi"), calls, ToolMessage("b", "B"), UserMessage("typed meanwhile"), ToolMessage("a", "A")))
    assert checked.messages[2:] == (ToolMessage("a", "A"), ToolMessage("b", "B"), UserMessage("typed meanwhile"))


def test_neighbours_of_the_same_role_become_one() -> None:
    checked = check((UserMessage("a"), UserMessage("b"), AssistantMessage("c"), AssistantMessage("d", (call("x"),))))
    assert checked.messages[0] == UserMessage("a\n\nb")
    assert checked.messages[1] == AssistantMessage("c\n\nd", (call("x"),))


def test_broken_arguments_and_names_are_made_acceptable_without_a_warning() -> None:
    calls = (call("a", "{broken"), call("b", json.dumps(json.dumps({"command": "x"}))), call("c", "{}", "read file"))
    answers = tuple(ToolMessage(c.id, "no") for c in calls)
    checked = check((UserMessage("hi"), AssistantMessage("", calls), *answers))
    assert checked.repairs == ()
    sent = checked.messages[1]
    assert isinstance(sent, AssistantMessage)
    assert [json.loads(c.arguments) for c in sent.tool_calls][1:] == [{"command": "x"}, {}]
    assert sent.tool_calls[2].name == "read_file"


def test_reasoning_is_never_sent_back() -> None:
    checked = check((UserMessage("a"), AssistantMessage("b", (), "secret thoughts"), UserMessage("c")))
    assert checked.messages[1] == AssistantMessage("b")


IDS = st.sampled_from(["a", "b", "c", "", " ", "a b", "\ud800", "é", "x" * 64])
TEXTS = st.one_of(st.sampled_from(["", " \n", "text", "a\0b", "\ud83d"]), st.text(st.characters(codec=None), max_size=5))
ARGUMENTS = st.sampled_from(
    ['{"command":"ls"}', "", "null", "[]", "{", '"{}"', '{"a":NaN}', '{"a":"\\ud800\\u0000"}', '{"a":1e999}', "[" * 5000]
)
CALLS = st.builds(ToolCall, IDS, st.sampled_from(["run", "", "a b", "运行", "x" * 300]), ARGUMENTS)
MESSAGES = st.one_of(
    st.builds(UserMessage, TEXTS),
    st.builds(AssistantMessage, TEXTS, st.lists(CALLS, max_size=3).map(tuple), TEXTS),
    st.builds(ToolMessage, IDS, TEXTS),
)


@given(st.lists(MESSAGES, max_size=8))
@settings(max_examples=400, deadline=None)
def test_whatever_a_history_holds_a_strict_endpoint_takes_it(messages: list[Message]) -> None:
    checked = check(messages)
    strictly_valid(Conversation("s", checked.messages, (TOOL,)))
    assert check(checked.messages) == type(checked)(checked.messages, ())


@given(IDS, st.sets(IDS))
def test_an_id_is_new_and_acceptable(wanted: str, taken: set[str]) -> None:
    identifier = free_id(wanted, taken)
    assert identifier not in taken
    assert 0 < len(identifier) <= 64
    assert all("!" <= c <= "~" for c in identifier)


def test_what_joins_the_conversation() -> None:
    assert message_of(TurnStarted(UserMessage("a"))) == UserMessage("a")
    assert message_of(UserMessageFolded(UserMessage("b"))) == UserMessage("b")
    assert message_of(Advised(UserMessage("c"), "why")) == UserMessage("c")
    own = finished("/f", 1, None)
    assert message_of(own) is None, "a `!` line of the person"
    asked = finished("/f", 1, "c1")
    assert message_of(asked) == ToolMessage("c1", asked.shown.text, asked.shown.images)
    assert message_of(Notice("x")) is None
    assert message_of(TurnFinished(TurnEnd.ANSWERED, NOT_RUN)) is None
