"""Light or dark by the terminal's own word; its answer is never text, however torn."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.ui.background import dark_by_environment
from agentclip.ui.intake import PATIENCE_S, QUIET_S, Background, Intake, Pasted, Piece

DARK, LIGHT = b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", b"\x1b]11;rgb:ffff/fdfd/f6f6\x07"


def take(*chunks: bytes, waits: float = 0.0) -> list[Piece]:
    """What an intake that expects an answer makes of the chunks, with a pause behind each."""
    intake = Intake(expecting=True)
    return [piece for chunk in chunks for piece in (*intake.feed(chunk), *intake.nothing_came(waits))]


def typed(pieces: list[Piece]) -> str:
    return "".join(piece for piece in pieces if isinstance(piece, str))


@pytest.mark.parametrize(
    ("answer", "dark"),
    [(DARK, True), (LIGHT, False), (b"\x1b]11;rgba:f/f/f/f\x1b\\", False), (b"\x1b]11;rgb:000/00/0\x07", True)],
)
def test_an_answer_tells_light_or_dark(answer: bytes, *, dark: bool) -> None:
    assert take(answer) == [Background(dark)]
    assert take(b"ab" + answer + b"cd") == [Background(dark), "abcd"]


@pytest.mark.parametrize("waits", [0.0, QUIET_S / 2])
@pytest.mark.parametrize("answer", [DARK, LIGHT])
def test_an_answer_that_comes_byte_by_byte_is_still_one(answer: bytes, waits: float) -> None:
    assert take(*(bytes([byte]) for byte in answer), waits=waits) == [Background(answer == DARK)]


@pytest.mark.parametrize("answer", [DARK, LIGHT])
def test_an_answer_that_takes_seconds_is_never_typed(answer: bytes) -> None:
    pieces = take(*(bytes([byte]) for byte in answer), waits=QUIET_S)
    assert typed(pieces).replace("\x1b", "") == ""
    assert Background(answer == DARK) in pieces


@given(st.sampled_from([DARK, LIGHT]), st.lists(st.integers(0, 40)), st.sampled_from([0.0, QUIET_S]))
def test_no_way_of_tearing_types_an_answer(answer: bytes, cuts: list[int], waits: float) -> None:
    ends = sorted({0, len(answer), *(min(cut, len(answer)) for cut in cuts)})
    chunks = [answer[start:end] for start, end in itertools.pairwise(ends)]
    assert set(typed(take(b"abc", *chunks, b"def", waits=waits))) <= set("abcdef\x1b")
    assert "rgb" not in typed(take(*chunks, waits=waits))


def test_an_answer_nobody_waits_for_any_more_is_not_typed_either() -> None:
    intake = Intake()
    assert [piece for part in (DARK[:9], DARK[9:]) for piece in intake.feed(part)] == [Background(dark=True)]


def test_a_broken_answer_goes_with_what_is_left_of_it() -> None:
    assert take(b"a\x1b]11;rgb:12", b"z") == ["a", "z"]


def test_keys_before_the_answer_are_not_lost() -> None:
    intake = Intake(expecting=True)
    assert intake.feed(b"\x1b") == []
    assert intake.nothing_came(QUIET_S / 2) == []
    assert intake.nothing_came(QUIET_S) == ["\x1b"], "Esc alone was a key"
    assert intake.feed(b"]") == []
    assert intake.nothing_came(PATIENCE_S) == ["]"], "no answer came: it was typed"
    assert intake.feed(b"\x1b") == ["\x1b"], "nothing is expected any more"


@pytest.mark.parametrize("rest", [b"[A", b"[<0;1;1M", b"OP", b"\x1b"])
def test_other_sequences_torn_behind_esc_come_whole(rest: bytes) -> None:
    assert typed(take(b"\x1b", rest, b"z")) == (b"\x1b" + rest + b"z").decode()


def test_the_answer_to_the_next_question_says_that_none_will_come() -> None:
    intake = Intake(expecting=True)
    assert intake.feed(b"\x1b[?2026;2$y") == ["\x1b[?2026;2$y"]
    assert intake.feed(b"\x1b") == ["\x1b"]


def test_a_paste_with_an_answer_in_it_stays_a_paste() -> None:
    assert take(b"\x1b[200~" + DARK + b"\x1b[201~") == [Pasted(DARK.decode())]


@pytest.mark.parametrize(
    ("value", "dark"),
    [("15;0", True), ("0;15", False), ("0;default;15", False), ("7;8", True), ("12;7", False), ("", None), ("0;default", None)],
)
def test_colorfgbg_is_the_second_best_word(value: str, *, dark: bool | None) -> None:
    assert dark_by_environment(value) is dark
