from __future__ import annotations

import pytest

from agentclip.ui.intake import BURST, Intake, Pasted, Piece

START, END = b"\x1b[200~", b"\x1b[201~"


def take(*chunks: bytes) -> list[Piece]:
    intake = Intake()
    return [piece for chunk in chunks for piece in intake.feed(chunk)]


def test_keys_pass_as_they_are() -> None:
    assert take(b"abc\r", b"\x1b[A") == ["abc\r", "\x1b[A"]


def test_a_paste_with_marks_is_one_piece_whatever_it_contains() -> None:
    assert take(b"x" + START + b"a\r\n\x1b[2J\x1b" + END + b"y") == ["x", Pasted("a\r\n\x1b[2J\x1b"), "y"]


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_paste_may_come_in_any_two_parts(cut: int) -> None:
    data = START + "ab\n中c".encode() + END + b"z"
    pieces = take(data[:cut], data[cut:])
    pasted = "".join(piece.text for piece in pieces if isinstance(piece, Pasted))
    typed = "".join(piece for piece in pieces if isinstance(piece, str))
    whole = typed.replace("\x1b[200~", "").replace("\x1b[201~", "") + pasted
    assert sorted(whole) == sorted("ab\n中cz")


def test_a_paste_keeps_its_state_over_many_reads() -> None:
    assert take(START, b"a" * 10, b"b" * 10, END) == [Pasted("a" * 10 + "b" * 10)]


def test_a_burst_of_lines_without_marks_is_a_paste_and_sends_nothing() -> None:
    assert take(b"line\r" * BURST) == [Pasted("line\r" * BURST)]


def test_a_burst_of_a_single_line_and_enter_is_sent() -> None:
    assert take(b"x" * BURST + b"\r") == [Pasted("x" * BURST), "\r"]


def test_alt_enter_of_old_terminals_is_known() -> None:
    assert take(b"a\x1b\rb") == ["a\x1b[13;3ub"]


def test_bytes_that_are_no_text_and_torn_mouse_reports_are_dropped() -> None:
    assert take(b"a\xff\xfeb[<35;10;20Mc") == ["abc"]
    assert take(b"\x1b[<35;10;20M") == ["\x1b[<35;10;20M"]


def test_a_character_torn_between_two_reads_is_whole() -> None:
    data = "中".encode()
    assert take(data[:1], data[1:]) == ["中"]


@pytest.mark.parametrize("whole", ["\x1b[<0;5;5M", "\x1b[<35;120;40m", "\x1b[15~", "\x1b[1;5A"])
def test_what_is_torn_inside_waits_for_its_end(whole: str) -> None:
    for at in range(3, len(whole)):
        intake = Intake()
        assert intake.feed(f"a{whole[:at]}".encode()) == ["a"]
        assert intake.nothing_came(0.5) == []
        assert intake.feed(f"{whole[at:]}b".encode()) == [f"{whole}b"]


def test_what_lost_its_end_is_forgotten() -> None:
    intake = Intake()
    assert intake.feed(b"\x1b[<0;5;5") == []
    assert intake.nothing_came(3.0) == []
    assert intake.feed(b"hello") == ["hello"]
