"""Nothing foreign reaches the terminal but text and colours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from agentclip.ui.foreign import ForeignFilter, decode, fit, one_line, take_cells, terminal_segments, visible

PLAIN = Style()
MARK = Style(bold=True)
EVIL = "\x1b]52;c;ZWNobyBoaQ==\x07\x1b]0;owned\x07\x1b[?1049l\x1b[2Jvisible\x08\x9bm"


def shown(text: str) -> str:
    return "".join(segment.text for segment in terminal_segments(text, PLAIN, MARK))


def acting(text: str) -> list[str]:
    return [sign for sign in text if (ord(sign) < 0x20 or 0x7F <= ord(sign) < 0xA0 or 0xD800 <= ord(sign) < 0xE000)]


def test_escapes_that_act_on_a_terminal_become_visible_marks() -> None:
    assert shown(EVIL) == "␛]52;c;ZWNobyBoaQ==␇␛]0;owned␇␛[?1049l␛[2Jvisible␈\\x9bm"


def test_colours_become_styles_and_end_with_the_reset() -> None:
    found = terminal_segments("a\x1b[1;31mred\x1b[0mb", PLAIN, MARK)
    assert [segment.text for segment in found] == ["a", "red", "b"]
    red = found[1].style
    assert red is not None
    assert red.bold
    assert red.color is not None
    assert found[2].style == PLAIN


@pytest.mark.parametrize("code", ["8", "5", "38;5;300", "38;2;1", "48;5", "38;9;1", "999", ";", "1" * 60, "4:3"])
def test_odd_colour_codes_never_hide_or_crash(code: str) -> None:
    found = terminal_segments(f"\x1b[{code}mtext", PLAIN, MARK)
    assert "".join(segment.text for segment in found) == "text"
    assert all(segment.style is not None and not segment.style.conceal and not segment.style.blink for segment in found)


def styled(*codes: str) -> Style | None:
    """The style of a text behind these SGR codes."""
    return terminal_segments("".join(f"\x1b[{code}m" for code in codes) + "text", PLAIN, MARK)[0].style


RED = Style(color=RichColor.from_rgb(255, 0, 0))
NUMBERED = Style(color=RichColor.from_ansi(31))


@pytest.mark.parametrize(
    ("code", "style"),
    [
        ("38:2::255:0:0", RED),
        ("38:2:255:0:0", RED),
        ("38:2:1:255:0:0:0:1", RED),
        ("38;2;255;0;0", RED),
        ("38:2::255:0:0;1", RED + Style(bold=True)),
        ("38;2;255;0;0;1", RED + Style(bold=True)),
        ("38:5:31", NUMBERED),
        ("38;5;31;3", NUMBERED + Style(italic=True)),
        ("48:5:31", Style(bgcolor=RichColor.from_ansi(31))),
        ("48:2::255:0:0", Style(bgcolor=RichColor.from_rgb(255, 0, 0))),
        ("38:2:255:0;1", Style(bold=True)),
        ("38;5:31;1", Style(bold=True)),
        ("38:9:1;1", Style(bold=True)),
        ("38:;1", Style(bold=True)),
        ("58;5;31", PLAIN),
        ("58;5;31;1", Style(bold=True)),
        ("58;2;1;2;3;1", Style(bold=True)),
        ("58:2::1:2:3", PLAIN),
        ("58:5:1;1", Style(bold=True)),
        ("4:3", Style(underline=True)),
        ("4:3:1;1", Style(underline=True, bold=True)),
        ("1;4:0", Style(bold=True, underline=False, underline2=False)),
        ("4:9", PLAIN),
        ("1:3", PLAIN),
        ("0:1", PLAIN),
        ("1;;3", Style(italic=True)),
    ],
)
def test_subparameters_belong_to_their_parameter(code: str, style: Style) -> None:
    assert styled(code) == style


@pytest.mark.parametrize("code", ["4", "4:3", "21"])
@pytest.mark.parametrize("end", ["4:0", "24"])
def test_every_underline_ends_and_nothing_else_does(code: str, end: str) -> None:
    found = styled("1", code, end)
    assert found is not None
    assert found.bold
    assert not found.underline
    assert not found.underline2


@given(st.text("0123456789;:", max_size=64), st.text("0123456789;:", max_size=64))
def test_no_sgr_code_raises_or_is_shown(first: str, second: str) -> None:
    assert shown(f"a\x1b[{first}mb\x1b[{second}mc") == "abc"


def test_markup_is_text() -> None:
    for text in ("a [/] b", "[/bold]", "[link=http://x", "ZLEX [b + 3", "[red]x", "[@click=app.quit]y[/]"):
        assert shown(text) == text
        assert visible(text) == text


def test_bytes_that_are_no_utf8_are_shown_by_value() -> None:
    assert visible(decode(b"a\x9b\xffz")) == "a\\x9b\\xffz"


def test_marks_that_turn_the_order_of_text_around_are_shown() -> None:
    assert visible("\u202etxt.exe\u2066") == "\\u202etxt.exe\\u2066"


def test_tabs_go_to_the_next_stop_in_cells() -> None:
    assert shown("a\tb") == "a       b"
    assert shown("中\tb") == "中      b"


def test_a_line_of_a_title_stays_one_line() -> None:
    assert one_line("a\nb\tc\x1b") == "a ⏎ b c␛"


@pytest.mark.parametrize("text", ["日本語", "👩‍🔬👩‍🔬👩‍🔬", "ab中c", "e\u0301e\u0301e\u0301", "🇩🇪🇩🇪"])
@pytest.mark.parametrize("width", range(1, 7))
def test_a_cut_never_splits_a_character_as_a_person_sees_it(text: str, width: int) -> None:
    head, tail = take_cells(text, width)
    assert head + tail == text
    assert cell_len(head) <= width
    assert not tail.startswith(("\u0301", "\u200d", "\ufe0f"))
    assert cell_len(fit(text, width)) <= width


@given(st.text(st.characters(codec=None), max_size=200))
def test_no_acting_character_survives(text: str) -> None:
    assert acting(visible(text).replace("\t", "")) == []
    assert acting(shown(text)) == []


@given(st.binary(max_size=200))
def test_no_acting_byte_survives(data: bytes) -> None:
    assert acting(shown(decode(data))) == []


def test_the_last_guard_replaces_what_a_widget_lets_through_cell_by_cell() -> None:
    link = Style(link="http://x")
    found = ForeignFilter().apply([Segment("a\x1b[2J\tb\x9b", link)], Color(0, 0, 0))
    assert "".join(segment.text for segment in found) == "a␛[2J b�"
    assert found[0].style is not None
    assert found[0].style.link is None
