from __future__ import annotations

import pyte
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentclip.present.ansi import clean_line, control_share

ESC = "\x1b"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain\ttext", "plain\ttext"),
        ("old\rnew", "new"),
        ("Downloading 100%\rDone", "Doneloading 100%"),
        ("Downloading 100%\r\x1b[KDone", "Done"),
        ("Downloading 100%\x1b[2K\rDone", "Done"),
        ("Downloading 100%\x1b[2K\x1b[1GDone", "Done"),
        ("progress\r\x1b[K", ""),
        ("crlf\r", "crlf"),
        ("crlf twice\r\r", "crlf twice"),
        ("|\b/\b-\bdone", "done"),
        ("abc\b \b", "ab "),
        ("\b\b\bstart", "start"),
        ("_\b中_\b文", "中文"),
        ("中文\b\b\b\bab", "ab文"),
        ("中\bx", " x"),
        ("e\u0301\bx", "x"),
        ("\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mtrue\x1b[m", "red true"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("\x9d0;title\x9ctext", "text"),
        ("\x1b]0;unterminated", "0;unterminated"),
        ("\x1bPq#0;2;0;0;0#0~~\x1b\\sixel", "sixel"),
        ("\x1bPtmux;\x1b\x1b]52;c;QQ==\x07\x1b\\inner", "inner"),
        ("\x1b_Gf=100;AAAA\x1b\\kitty", "kitty"),
        ("\x1b(Bcharset\x1b7\x1b8", "charset"),
        ("\x1b[?1049h\x1b[2J\x1b[Hscreen", "screen"),
        ("\x1b[31", ""),
        ("tail\x1b", "tail"),
        ("nul\0 bell\x07 del\x7f nel\x85 shift\x0e\x0f", "nul bell del nel shift"),
        ("\x1b[3\x001mnul inside", "nul inside"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_a_line_shows_what_a_terminal_left_of_it(line: str, shown: str) -> None:
    assert clean_line(line) == shown


def test_a_string_whose_end_lies_behind_what_is_given_goes_only_when_asked() -> None:
    line = "before \x1b]1337;File=:" + "QUJD" * 100
    assert clean_line(line, open_string=True) == "before "
    assert clean_line(line) == "before " + line.split("\x1b]")[1]


PIECES = st.sampled_from(
    [
        "a",
        "bc",
        "def",
        " ",
        "\r",
        "\b",
        "\x1b[K",
        "\x1b[0K",
        "\x1b[2K",
        "\x1b[G",
        "\x1b[1G",
        "\x1b[31m",
        "\x1b]0;t\x07",
        "\x1b7",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join))
@example("abc\rx\x1b[K\ry")
@example("abcdef\b\b\x1b[K\rxy\x1b[2Kz")
def test_redraws_backspaces_and_erasures_agree_with_a_terminal(line: str) -> None:
    screen = pyte.Screen(120, 2)
    pyte.Stream(screen).feed(line)
    assert clean_line(line).rstrip(" ") == screen.display[0].rstrip(" ")


@given(st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, exclude_characters="\n"), max_size=60))
@example("\x1b\x1b\x1b[\x1b]")
@example("\x00\x01\b\x1b[K\ud800")
def test_nothing_that_a_terminal_obeys_or_utf8_forbids_is_left(line: str) -> None:
    shown = clean_line(line)
    shown.encode("utf-8")
    assert not any(c < " " and c != "\t" for c in shown)
    assert not any("\x7f" <= c <= "\x9f" for c in shown)


@pytest.mark.parametrize(
    "line",
    [
        f"{ESC}[" + "1;" * 500_000,
        f"{ESC}]" * 400_000,
        "\x9d" * 400_000,
        f"{ESC}]0;" + "x" * 1_000_000,
        "x\r" * 400_000,
        "x\b" * 200_000,
        "\x1b[2K" * 200_000,
        "x" * 500_000 + "\ry" * 200_000,
        f"{ESC}P" + f"{ESC}{ESC}" * 400_000,
    ],
    ids=["csi", "osc-starts", "c1-starts", "osc", "cr", "backspace", "erase", "long-then-short", "doubled-escapes"],
)
def test_hostile_lines_take_linear_time(line: str) -> None:
    """A quadratic reading of these would run into the time limit of the suite."""
    clean_line(line)
    clean_line(line, open_string=True)


def test_escapes_and_terminal_controls_are_no_sign_of_binary() -> None:
    assert control_share("\x1b[31mx\x1b[0m" * 9) == 0.0
    assert control_share("N\bNA\bA\x07\r\n") == 0.0
    assert control_share("\x01\x02ab") == 0.5
