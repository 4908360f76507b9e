from __future__ import annotations

import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.events import NOT_STORED, Event, Notice, Recorded, TurnStarted
from agentclip.messages import UserMessage
from agentclip.store.codec import UnreadableLineError, decode, encode
from tests.store.samples import one_of_each


@pytest.mark.parametrize("event", one_of_each(), ids=lambda event: type(event).__name__)
def test_every_stored_event_comes_back_equal(event: Event) -> None:
    recorded = Recorded(7, 1770000000.123, event)
    assert decode(encode(recorded)) == recorded


def test_the_samples_hold_every_type_that_is_stored() -> None:
    assert {type(event) for event in one_of_each()} == set(typing.get_args(Event)) - set(NOT_STORED)


def test_a_line_is_flat_json_with_its_head_first() -> None:
    line = encode(Recorded(3, 12.5, TurnStarted(UserMessage("hi"))))
    assert line == b'{"v":1,"seq":3,"time":12.500,"type":"TurnStarted","message":{"text":"hi","images":[]}}\n'


@given(st.text(st.characters(codec=None)))
def test_no_text_makes_a_line_unwritable_or_torn(text: str) -> None:
    line = encode(Recorded(1, 1.0, Notice(text + "\ud83d")))
    assert line.count(b"\n") == 1
    event = decode(line).event
    assert isinstance(event, Notice)
    assert event.text == (text + "\ud83d").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    json.loads(line.decode("utf-8"))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\0\0\0\n",
        b"not json\n",
        b"null\n",
        b'{"v":1,"seq":1,"time":1.0}\n',
        b'{"v":2,"seq":1,"time":1.0,"type":"Notice","text":"x"}\n',
        b'{"v":1,"seq":1,"time":1.0,"type":"FromTheFuture","text":"x"}\n',
        b'{"v":1,"seq":1,"time":1.0,"type":"Notice"}\n',
        b'{"v":1,"seq":1,"time":1.0,"type":"Notice","text":"\xff"}\n',
        b'{"v":1,"seq":"x","time":1.0,"type":"Notice","text":"x"}\n',
        b'{"v":1,"seq":1,"time":1.0,"type":"Notice","text":"x"' + b"[" * 100_000,
        b'{"v":1,"seq":1,"time":1.0,"type":"Notice","text":"x","more":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_a_line_that_is_no_event_is_named_unreadable(line: bytes) -> None:
    with pytest.raises(UnreadableLineError):
        decode(line)


def test_a_field_of_a_later_version_is_ignored() -> None:
    assert decode(b'{"v":1,"seq":1,"time":1.0,"type":"Notice","text":"x","later":[1]}\n').event == Notice("x")
