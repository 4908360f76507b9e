"""Fragments of calls and text, as servers really number and cut them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.messages import ToolCall, Usage
from agentclip.model.assemble import MAX_CALLS, MAX_REPLY_CHARS, ReplyAssembler, ReplyTooLongError, read_usage
from agentclip.model.base import CallPart, TextPart

A, B = '{"command":"echo A"}', '{"command":"echo B"}'


def fragment(
    index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    function = {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}
    given = {"index": index, "id": call_id, "function": function}
    return {key: value for key, value in given.items() if value is not None}


def assemble(*chunks: list[dict[str, Any]], taken: set[str] | None = None) -> tuple[ToolCall, ...]:
    """The calls of a stream, each chunk a list of fragments; the parts must add up to them."""
    assembler = ReplyAssembler(taken or set())
    parts = [part for chunk in chunks for part in assembler.feed({"choices": [{"delta": {"tool_calls": chunk}}]})]
    calls = assembler.message().tool_calls
    for call in calls:
        assert "".join(part.arguments for part in parts if isinstance(part, CallPart) and part.id == call.id) == call.arguments
    return calls


AB = (ToolCall("a", "run", A), ToolCall("b", "run", B))


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([[fragment(0, "a", "run", A)], [fragment(0, "b", "run", B)]], id="both index 0, whole"),
        pytest.param([[fragment(0, "a", "run", A), fragment(0, "b", "run", B)]], id="both index 0, one chunk"),
        pytest.param([[fragment(None, "a", "run", A)], [fragment(None, "b", "run", B)]], id="no index"),
        pytest.param(
            [
                [fragment(0, "a", "run", "")],
                [fragment(0, None, None, A)],
                [fragment(0, "b", "run", "")],
                [fragment(0, None, None, B)],
            ],
            id="index 0, ids only in the first delta",
        ),
        pytest.param(
            [[fragment(None, "a", "run", A[:5])], [fragment(None, None, None, A[5:])], [fragment(None, "b", "run", B)]],
            id="no index, ids only in the first delta",
        ),
        pytest.param(
            [
                [fragment(0, "a", "run", A[:3]), fragment(1, "b", "run", B[:4])],
                [fragment(1, None, None, B[4:9]), fragment(0, None, None, A[3:7])],
                [fragment(0, None, None, A[7:])],
                [fragment(1, None, None, B[9:])],
            ],
            id="interleaved with indexes 0 and 1",
        ),
        pytest.param(
            [
                [fragment(0, "a", "run", A[:3])],
                [fragment(0, "b", "run", B[:4])],
                [fragment(0, "a", None, A[3:])],
                [fragment(0, "b", None, B[4:])],
            ],
            id="interleaved by id, index 0",
        ),
        pytest.param(
            [[fragment(0, "a", "run", A[:3])], [fragment(0, "a", "run", A[3:])], [fragment(1, "b", "run", B)]],
            id="id and name in every delta",
        ),
        pytest.param(
            [[fragment(0, "a", "run", {"command": "echo A"})], [fragment(1, "b", "run", {"command": "echo B"})]],
            id="arguments as an object",
        ),
    ],
)
def test_two_calls_stay_apart(chunks: list[list[dict[str, Any]]]) -> None:
    compact = [ToolCall(call.id, call.name, call.arguments.replace('": "', '":"')) for call in assemble(*chunks)]
    assert tuple(compact) == AB


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([[fragment(0, "a", "run", A)], [fragment(1, "a", "run", B)]], id="whole"),
        pytest.param([[fragment(0, "a", "run", A), fragment(1, "a", "run", B)]], id="one chunk"),
        pytest.param(
            [[fragment(0, "a", "run", A[:5])], [fragment(0, "a", None, A[5:])], [fragment(1, "a", "run", B)]], id="cut"
        ),
        pytest.param(
            [
                [fragment(0, "a", "run", "")],
                [fragment(1, "a", "run", "")],
                [fragment(1, "a", None, B[:4]), fragment(0, "a", None, A[:4])],
                [fragment(0, None, None, A[4:])],
                [fragment(1, None, None, B[4:])],
            ],
            id="at the same time",
        ),
    ],
)
def test_two_calls_with_one_id_and_two_indexes_are_two(chunks: list[list[dict[str, Any]]]) -> None:
    first, second = assemble(*chunks)
    assert (first, second.name, second.arguments) == (AB[0], "run", B)
    assert second.id not in {"", "a"}


def test_a_call_whose_index_drifts_is_one() -> None:
    assert assemble([fragment(0, "a", "run", A[:5])], [fragment(1, "a", "run", A[5:])], [fragment(2, "a", "", "")]) == AB[:1]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([[fragment(0, None, "run", A)], [fragment(1, None, "run", B)]], id="indexes"),
        pytest.param([[fragment(0, None, "run", A)], [fragment(0, None, "run", B)]], id="both index 0"),
        pytest.param([[fragment(None, None, "run", A)], [fragment(None, None, "run", B)]], id="no index"),
        pytest.param([[fragment(None, None, "run", A), fragment(None, None, "run", B)]], id="no index, one chunk"),
        pytest.param([[fragment(0, "", "run", A)], [fragment(0, "", "run", B)]], id="empty ids"),
    ],
)
def test_calls_without_ids_get_made_up_ones(chunks: list[list[dict[str, Any]]]) -> None:
    calls = assemble(*chunks, taken={"call00001"})
    assert calls == (ToolCall("call00002", "run", A), ToolCall("call00003", "run", B))


def test_an_id_that_is_taken_or_unusable_is_replaced_but_still_keeps_its_call_apart() -> None:
    chunks = [[fragment(0, "a", "run", A[:4])], [fragment(0, "x y", "run", B[:4])], [fragment(0, "a", None, A[4:])]]
    assert assemble(*chunks, [fragment(0, "x y", None, B[4:])], taken={"a"}) == (
        ToolCall("call00001", "run", A),
        ToolCall("call00002", "run", B),
    )


def test_an_id_that_comes_after_the_name_belongs_to_the_same_call() -> None:
    calls = assemble([fragment(0, None, "run", "")], [fragment(0, "late", None, A[:4])], [fragment(0, "late", None, A[4:])])
    assert calls == (ToolCall("call00001", "run", A),)


def test_a_name_repeated_without_ids_does_not_split_a_call() -> None:
    assert assemble([fragment(0, None, "run", A[:6])], [fragment(0, None, "run", A[6:])])[0].arguments == A


def test_a_call_that_nothing_is_known_of_is_left_out() -> None:
    assert assemble([fragment(0)], [{"function": None}], [fragment(0, None, None, " ")]) == ()


@pytest.mark.parametrize(
    "junk", [None, 3, "x", [], [None], [3], [{"index": "0"}], [{"function": [1]}], [{"id": 7, "function": {}}]]
)
def test_junk_in_place_of_calls_is_ignored(junk: Any) -> None:
    assembler = ReplyAssembler(set())
    list(assembler.feed({"choices": [{"delta": {"tool_calls": junk, "content": "ok"}}]}))
    assert assembler.message().text == "ok"
    assert assembler.message().tool_calls == ()


def test_a_surrogate_pair_split_between_two_deltas_is_one_character() -> None:
    assembler = ReplyAssembler(set())
    parts = [
        part for text in ("a\ud83d", "\ude00b\ud83d") for part in assembler.feed({"choices": [{"delta": {"content": text}}]})
    ]
    assert parts == [TextPart("a"), TextPart("😀b")]
    assert assembler.message().text == "a😀b\ufffd"


@pytest.mark.parametrize(
    ("delta", "text", "reasoning"),
    [
        ({"reasoning_content": "r", "reasoning": "r", "content": "t"}, "t", "r"),
        ({"reasoning": "r"}, "", "r"),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "r"}]}, {"type": "text", "text": "t"}]},
            "t",
            "r",
        ),
        ({"refusal": "no"}, "no", ""),
        ({"content": {"x": 1}, "reasoning": 3}, "", ""),
    ],
)
def test_text_and_reasoning_are_found_where_servers_put_them(delta: dict[str, Any], text: str, reasoning: str) -> None:
    assembler = ReplyAssembler(set())
    list(assembler.feed({"choices": [{"delta": delta}]}))
    assert (assembler.message().text, assembler.message().reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (None, None),
        ({}, Usage(0, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}, Usage(5, 2, 3)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}, Usage(5, 2, 4)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.5}, Usage(5, 2, 0, 0.5)),
        ({"prompt_tokens": -1, "completion_tokens": "2", "cost": "free"}, Usage(0, 0)),
        ({"prompt_tokens": 10**30, "completion_tokens": None}, Usage(2**53, 0)),
    ],
)
def test_usage_is_read_and_its_cost_unknown_when_not_told(told: Any, usage: Usage | None) -> None:
    assert read_usage(told) == usage


def test_an_endpoint_that_does_not_stop_is_stopped() -> None:
    with pytest.raises(ReplyTooLongError):
        list(ReplyAssembler(set()).feed({"choices": [{"delta": {"content": "x" * (MAX_REPLY_CHARS + 1)}}]}))
    with pytest.raises(ReplyTooLongError):
        assemble(*([fragment(n, f"id{n}", "run", "{}")] for n in range(MAX_CALLS + 1)))


JUNK = st.sampled_from([None, True, -1, 1.5, float("nan"), "", "x", "a\ud800", [], [None], {}, {"text": 1}, [{"type": "text"}]])
NAMED = st.fixed_dictionaries({}, optional={"name": st.just("run") | JUNK, "arguments": st.sampled_from([A, A[:4]]) | JUNK})
FRAGMENT = st.fixed_dictionaries(
    {}, optional={"index": st.integers(0, 2) | JUNK, "id": st.sampled_from("ab") | JUNK, "function": NAMED | JUNK}
)
DELTA = st.fixed_dictionaries(
    {}, optional={"content": JUNK, "reasoning": JUNK, "tool_calls": st.lists(FRAGMENT, max_size=3) | JUNK}
)
CHOICE = st.fixed_dictionaries({}, optional={"delta": DELTA | JUNK, "message": DELTA | JUNK, "finish_reason": JUNK})
CHUNK = st.fixed_dictionaries({}, optional={"choices": st.lists(CHOICE | JUNK, max_size=2) | JUNK, "usage": JUNK})


@given(st.lists(CHUNK, max_size=6))
def test_no_json_breaks_the_assembler(chunks: list[dict[str, Any]]) -> None:
    assembler = ReplyAssembler(set())
    for chunk in chunks:
        list(assembler.feed(chunk))
    message = assembler.message()
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    msgspec.json.encode(message)
