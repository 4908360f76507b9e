from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentclip.foreign import FOREIGN_OR_TAB
from agentclip.line.reply import Reply
from agentclip.line.status import Facts, status_line
from agentclip.line.terminals import is_plain
from agentclip.line.text import cells, fitted, plain, safe, wrapped


@given(st.text(), st.integers(2, 60))
def test_wrapped_pieces_fit_and_are_the_text(text: str, width: int) -> None:
    pieces = wrapped(text, width)
    assert "".join(pieces) == text
    assert all(cells(piece.rstrip(" ")) <= width for piece in pieces)


@given(st.text(st.characters()), st.integers(1, 60))
def test_fitted_text_fits(text: str, width: int) -> None:
    assert cells(fitted(text, width)) <= width


@given(st.text(st.characters()))
def test_safe_text_holds_nothing_that_acts(text: str) -> None:
    assert FOREIGN_OR_TAB.search(safe(text)) is None


@given(st.lists(st.text(st.characters(exclude_characters="\t"))))
def test_a_reply_is_shown_whole_however_it_is_cut_into_pieces(pieces: list[str]) -> None:
    reply = Reply(lambda: 30)
    shown = [line for piece in pieces for line in reply.take(piece)]
    shown += reply.end("".join(pieces))
    whole = "".join(pieces)
    assert "".join(map(plain, shown)) == "".join(safe(line) for line in whole.split("\n"))


def test_a_long_paragraph_appears_before_its_end() -> None:
    reply = Reply(lambda: 40)
    assert [plain(line) for line in reply.take("word " * 10)] == ["word " * 8]


def test_a_reply_that_was_not_streamed_is_shown() -> None:
    assert [plain(line) for line in Reply(lambda: 40).end("all\nof it")] == ["all", "of it"]


def test_code_headings_and_spans_have_their_colours() -> None:
    reply = Reply(lambda: 80)
    shown = [*reply.take("# T\nuse `ls`\n```python\nreturn 1\n```\nplain\n")]
    assert shown[0] == (("heading", "# T"),)
    assert ("code", "`ls`") in shown[1]
    assert ("pygments.token.keyword", "return") in [(ink.lower(), text) for ink, text in shown[3]] or shown[3][0][1] == "return"
    assert shown[5] == (("", "plain"),)


@given(st.integers(1, 200), st.text(), st.integers(0, 10**7))
def test_the_status_fits_and_keeps_what_matters(width: int, model: str, tokens: int) -> None:
    facts = Facts(
        model=model,
        sandbox="no sandbox",
        state="running 3",
        busy_s=61,
        size=5000,
        tokens=tokens,
        window=None,
        cost_usd=1,
        waiting=2,
    )
    shown = status_line(facts, width)
    assert cells(shown) <= max(1, width - 1)
    if width >= 40:
        assert "running 3 01:01" in shown
        assert "no sandbox" in shown


def test_terminals_that_take_text_only_are_known() -> None:
    for name in ("", "dumb", "unknown", "no-such-terminal", "emacs"):
        assert is_plain({"TERM": name}), name
    assert is_plain({})
    for name in ("xterm", "xterm-256color", "screen", "tmux-256color", "linux", "vt100", "xterm-ghostty", "alacritty"):
        assert not is_plain({"TERM": name}), name
