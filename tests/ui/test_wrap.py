from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from agentclip.ui.wrap import Row, fold, wrap

PLAIN = Style()
TEXT = st.text("ab cd 日本語👩\u200d🔬é\u0301 -", max_size=120)


def texts(rows: list[Row]) -> list[str]:
    return ["".join(segment.text for segment in row) for row in rows]


def test_rows_break_between_words() -> None:
    assert texts(wrap([("hello world this is long", PLAIN)], 11)) == ["hello world", "this is", "long"]


def test_a_word_longer_than_the_row_is_broken() -> None:
    assert texts(wrap([("abcdefghij k", PLAIN)], 4)) == ["abcd", "efgh", "ij k"]


def test_chinese_and_japanese_break_between_any_two_characters() -> None:
    assert texts(wrap([("日本語のテキスト", PLAIN)], 7)) == ["日本語", "のテキ", "スト"]


def test_the_indent_of_the_first_row_is_kept() -> None:
    assert texts(wrap([("    code", PLAIN)], 20)) == ["    code"]


def test_prefixes_stand_before_the_first_row_and_the_others() -> None:
    assert texts(wrap([("aa bb cc", PLAIN)], 5, [Segment("> ")], [Segment("  ")])) == ["> aa", "  bb", "  cc"]


def test_styles_stay_with_their_words() -> None:
    bold = Style(bold=True)
    rows = wrap([("plain ", PLAIN), ("bold", bold), (" plain", PLAIN)], 80)
    assert [(segment.text.strip(), segment.style) for segment in rows[0] if segment.text.strip()] == [
        ("plain", PLAIN),
        ("bold", bold),
        ("plain", PLAIN),
    ]


@given(TEXT, st.integers(2, 20))
@example("\u200d\u200da👩", 2)
def test_no_row_is_wider_than_asked_and_no_word_is_lost(text: str, width: int) -> None:
    rows = texts(wrap([(text, PLAIN)], width))
    assert all(cell_len(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())


@given(TEXT, st.integers(2, 20))
def test_folding_loses_nothing(text: str, width: int) -> None:
    rows = texts(fold([Segment(text, PLAIN)], width))
    assert "".join(rows) == text
    assert all(cell_len(row) <= width for row in rows)


@given(TEXT, st.integers(-2, 3))
def test_an_indent_wider_than_the_row_still_comes_to_an_end_and_loses_no_word(text: str, width: int) -> None:
    rows = wrap([(text, PLAIN)], width, [Segment("> ")], [Segment("  ")])
    assert "".join("".join(texts(rows)).split()).removeprefix(">") == "".join(text.split())
