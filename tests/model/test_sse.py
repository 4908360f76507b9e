"""Event streams, however the bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.model.sse import MAX_EVENT_BYTES, EventStream, EventTooLongError


def events(*chunks: bytes) -> list[str]:
    stream = EventStream()
    found = [data for chunk in chunks for data in stream.feed(chunk)]
    return [*found, *stream.end()]


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data:a\ndata: b\n\n", ["a\nb"]),
        (b"data:  a\n\n", [" a"]),
        (b": keep-alive\n\nevent: message\nid: 1\nretry: 3\ndata: a\n\n", ["a"]),
        (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", ["a"]),
        (b"data: last, no blank line", ["last, no blank line"]),
        ('data: "\u2028\u0085\x0b\x0c"\n\n'.encode(), ['"\u2028\u0085\x0b\x0c"']),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"nonsense\n\n\n\n", []),
    ],
)
def test_a_stream_is_read_as_the_standard_says(raw: bytes, data: list[str]) -> None:
    assert events(raw) == data


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8")), max_size=5), st.data())
def test_the_cuts_between_chunks_do_not_matter(texts: list[str], data: st.DataObject) -> None:
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    raw = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    chunks = [raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert events(*chunks) == texts


def test_a_line_end_cut_in_two_is_one_line_end() -> None:
    assert events(b"data: a\r", b"\ndata: b\r\n\r\n") == ["a\nb"]


def test_an_event_without_end_is_given_up() -> None:
    stream = EventStream()
    half = b"x" * (MAX_EVENT_BYTES // 2)
    assert list(stream.feed(b"data: " + half)) == []
    with pytest.raises(EventTooLongError):
        list(stream.feed(half))


def test_many_lines_of_one_event_are_counted_together() -> None:
    stream = EventStream()
    lines = (b"data: " + b"x" * (MAX_EVENT_BYTES // 4) + b"\n") * 5
    with pytest.raises(EventTooLongError):
        list(stream.feed(lines))
