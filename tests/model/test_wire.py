"""The body of a request: whatever the conversation holds, the strict server takes it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentclip.messages import AssistantMessage, Conversation, Image, Message, ToolCall, ToolMessage, ToolSpec, UserMessage
from agentclip.model.wire import (
    MAX_IMAGE_BYTES,
    BodyOptions,
    clean,
    clean_conversation,
    parse_arguments,
    request_body,
    safe_arguments,
    safe_name,
)
from tests.fake_model.strict import read_body, strict_json

GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
RUN = ToolSpec("run", "runs\ud800", '{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}')
USER = UserMessage("hi")


def read_from_disk(path: str, limit: int) -> bytes:
    return Path(path).read_bytes()[:limit]


def body_of(*messages: Message, system: str = "S", **options: Any) -> dict[str, Any]:
    """The body as the strict server reads it."""
    body = request_body(Conversation(system, messages, (RUN,)), BodyOptions("m", **options), read_from_disk)
    return read_body(msgspec.json.encode(body))


def picture(tmp_path: Path, data: bytes = GIF, mime: str = "image/gif") -> Image:
    path = tmp_path / "stored"
    path.write_bytes(data)
    return Image(str(path), mime, "photo.gif", 1, 1)


def test_the_body_of_a_first_request() -> None:
    assert body_of(USER) == {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "run", "description": "runs\ufffd", "parameters": strict_json(RUN.parameters)},
            }
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_what_was_not_asked_for_is_not_sent() -> None:
    body = request_body(Conversation(" ", (USER,), ()), BodyOptions("m", stream=False), read_from_disk)
    assert body == {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": False}


def test_a_call_without_text_has_content_null_and_reasoning_is_never_sent() -> None:
    asked = AssistantMessage("\n \n", (ToolCall("c1", "run", '{"command": "ls"}'),), reasoning="secret")
    message = body_of(USER, asked, ToolMessage("c1", "a"))["messages"][2]
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"command": "ls"}'}}
    assert message == {"role": "assistant", "content": None, "tool_calls": [call]}


def test_an_assistant_message_of_nothing_is_left_out_and_an_empty_answer_is_marked() -> None:
    asked = AssistantMessage("", (ToolCall("c1", "run", "{}"),))
    messages = body_of(USER, AssistantMessage(" \n"), UserMessage("again"), asked, ToolMessage("c1", " "))["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "user", "assistant", "tool"]
    assert messages[-1]["content"] == "[empty]"


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"command": "ls",  "x": 1}', '{"command": "ls",  "x": 1}'),
        ('{"command": "日本 😀"}', '{"command": "日本 😀"}'),
        ('"{\\"command\\": \\"echo hi\\"}"', '{"command":"echo hi"}'),
        ('{"command": "\\ud83d\\ude00 \\ud800 \\u0000"}', '{"command":"😀 \ufffd \ufffd"}'),
        ('{"command": "ls', '{"broken_arguments":"{\\"command\\": \\"ls"}'),
        ("null", '{"broken_arguments":"null"}'),
        ("[]", '{"broken_arguments":"[]"}'),
        ("", '{"broken_arguments":""}'),
        ('{"a": NaN}', '{"broken_arguments":"{\\"a\\": NaN}"}'),
        ('{"\\u0041": 1e999}', '{"broken_arguments":"{\\"\\\\u0041\\": 1e999}"}'),
    ],
)
def test_arguments_sent_back_are_a_json_object(arguments: str, sent: str) -> None:
    assert safe_arguments(arguments) == sent


def test_a_hint_at_broken_arguments_is_short_and_deep_nesting_is_no_trap() -> None:
    assert len(safe_arguments("x" * 50_000)) < 300
    for depth in (300, 900, 5_000, 200_000):
        nested = '{"\\u0041": ' + "[" * depth + "]" * depth + "}"
        assert "broken_arguments" in safe_arguments(nested) or isinstance(json.loads(safe_arguments(nested)), dict)


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("run", "run"),
        ("read file", "read_file"),
        ("выполнить", "_________"),
        ("", "unnamed"),
        ("x" * 300, "x" * 64),
        ("run\n", "run_"),
    ],
)
def test_function_names_are_ones_the_api_accepts(name: str, sent: str) -> None:
    assert safe_name(name) == sent


def test_pictures_of_tools_follow_all_answers_in_a_user_message(tmp_path: Path) -> None:
    asked = AssistantMessage("", (ToolCall("c1", "run", "{}"), ToolCall("c2", "run", "{}")))
    shown = ToolMessage("c1", "attached", (picture(tmp_path),))
    messages = body_of(USER, asked, shown, ToolMessage("c2", "two"), UserMessage("and?"))["messages"][2:]
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "user", "user"]
    url = f"data:image/gif;base64,{base64.b64encode(GIF).decode()}"
    assert messages[3]["content"] == [
        {"type": "text", "text": "Pictures attached by the commands above:"},
        {"type": "text", "text": "photo.gif (1x1)"},
        {"type": "image_url", "image_url": {"url": url}},
    ]


def test_a_person_may_send_a_picture_without_words(tmp_path: Path) -> None:
    content = body_of(UserMessage("", (picture(tmp_path),)))["messages"][1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]


@pytest.mark.parametrize("fault", ["gone", "too large", "other type", "not a picture", "nul in path"])
def test_a_picture_that_cannot_be_sent_becomes_a_note(tmp_path: Path, fault: str) -> None:
    image = picture(tmp_path)
    match fault:
        case "gone":
            Path(image.path).unlink()
        case "too large":
            image = picture(tmp_path, GIF + bytes(MAX_IMAGE_BYTES))
        case "other type":
            image = picture(tmp_path, mime="image/png")
        case "not a picture":
            image = picture(tmp_path, b"<svg/>", mime="image/svg+xml")
        case _:
            image = Image("/a\0b", "image/gif", "photo.gif", 1, 1)
    content = body_of(UserMessage("look", (image,)))["messages"][1]["content"]
    assert content[1:] == [{"type": "text", "text": "[picture photo.gif (1x1) can no longer be read; see it again]"}]


def test_a_model_of_text_only_gets_a_note_in_place(tmp_path: Path) -> None:
    asked = AssistantMessage("", (ToolCall("c1", "run", "{}"),))
    image = picture(tmp_path)
    messages = body_of(UserMessage("look", (image,)), asked, ToolMessage("c1", "seen", (image,)), images=False)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert "[picture photo.gif (1x1) left out" in messages[1]["content"]
    assert "[picture photo.gif (1x1) left out" in messages[3]["content"]


def test_text_is_cleaned_and_pairs_are_joined() -> None:
    assert clean("a\0 \ud83d\ude00 \ud83d x \udfff") == "a\ufffd 😀 \ufffd x \ufffd"
    assert clean("日本") == "日本"


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
ANY_CALL = st.builds(ToolCall, st.uuids().map(str), ANY_TEXT, st.one_of(ANY_TEXT, st.from_regex(r"\{.*\}", fullmatch=True)))


@given(system=ANY_TEXT, texts=st.lists(ANY_TEXT, min_size=1, max_size=4), calls=st.lists(ANY_CALL, min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_no_text_makes_a_request_invalid(system: str, texts: list[str], calls: list[ToolCall]) -> None:
    answers = [ToolMessage(call.id, texts[0]) for call in calls]
    history: list[Message] = [USER, AssistantMessage(texts[-1], tuple(calls)), *answers, *map(UserMessage, texts)]
    body_of(*history, system=system)
    cleaned = clean_conversation(Conversation(system, tuple(history), (RUN,)))
    body_of(*cleaned.messages, system=cleaned.system)


@given(ANY_TEXT)
def test_arguments_are_read_as_an_object_or_not_at_all(text: str) -> None:
    assert parse_arguments(text) is None or isinstance(parse_arguments(text), dict)
    assert isinstance(strict_json(safe_arguments(text)), dict)
