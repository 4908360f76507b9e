from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agentclip.ui.markdown import MAX_MARKDOWN, MarkdownStream, plain, render
from agentclip.ui.themes import Ink, Themes
from agentclip.ui.wrap import Row

INK = Ink(Themes.load().pick("dark"))
DOCUMENT = """# Title

Some **bold**, `code [red]` and [text](http://x.y).

- one
  - nested
- two

1. first

   more
2. second

> quoted

```python
def f():
\treturn "a[0]"
```

| a | b |
|---|---|
| 1 | a longer cell that has to be broken |

---
end
"""


def texts(rows: list[Row]) -> list[str]:
    return ["".join(segment.text for segment in row).rstrip() for row in rows]


def test_a_document_as_rows() -> None:
    assert texts(render(DOCUMENT, 34, INK)) == [
        "Title",
        "",
        "Some bold, code [red] and text",
        "(http://x.y).",
        "",
        "• one",
        "  • nested",
        "• two",
        "",
        "1. first",
        "",
        "   more",
        "",
        "2. second",
        "",
        "▌ quoted",
        "",
        "│ def f():",
        '│         return "a[0]"',
        "",
        "a   │ b",
        "────┼─────────────────────────────",
        "1   │ a longer cell that has to be",
        "    │ broken",
        "",
        "──────────────────────────────────",
        "",
        "end",
    ]


def test_markup_html_and_escapes_of_the_model_are_text() -> None:
    text = "\n".join(texts(render("[red]x[/] <b>y</b> \x1b]52;c;x\x07\n\n```\n\x1b[2J\n```", 60, INK)))
    assert "[red]x[/] <b>y</b> ␛]52;c;x␇" in text
    assert "␛[2J" in text


def test_where_a_link_leads_is_written_out() -> None:
    assert texts(render("[safe](http://evil)", 60, INK)) == ["safe (http://evil)"]


@pytest.mark.parametrize(
    "text", ["[" * 3000, "*a_" * 3000, ">" * 3000, "- " * 500, "|a" * 500 + "\n" + "|-" * 500, "`" * 3000 + "x", "![[" * 2000]
)
def test_hostile_markdown_is_shown_and_quick(text: str) -> None:
    rows = texts(render(text, 40, INK))
    assert rows
    assert all(cell_len(row) <= 40 for row in rows)


def test_a_text_too_long_for_markdown_is_shown_as_it_is() -> None:
    assert texts(render("**x** " * (MAX_MARKDOWN // 6 + 1), 60, INK))[0].startswith("**x**")


def test_a_growing_text_looks_the_same_as_the_whole_one() -> None:
    stream = MarkdownStream(34, INK)
    for end in range(1, len(DOCUMENT) + 1):
        rows = stream.rows(DOCUMENT[:end])
    assert texts(rows) == texts(render(DOCUMENT, 34, INK))


def test_a_text_nested_deeper_than_the_pane_is_wide_is_shown_as_it_is() -> None:
    deep = "".join("  " * level + f"- level {level}\n" for level in range(8))
    assert texts(render(deep, 40, INK))[7] == "              • level 7"
    narrow = texts(render(deep, 16, INK))
    assert "".join("".join(narrow).split()) == "".join(deep.split())


@settings(deadline=None)
@example(">111", 4)
@example("123456789. \n", 5)
@given(st.text("ab *_`#->|[]()1.\n中", max_size=150), st.integers(4, 40))
def test_no_row_is_wider_than_the_width(text: str, width: int) -> None:
    assert all(cell_len(row) <= width for row in texts(render(text, width, INK)))


def test_columns_of_a_table_stand_where_its_writer_wants_them() -> None:
    table = "| name | what | n |\n|:-----|:--------:|--:|\n| 日本 | a | 20,000 |\n| b | middle | 1 |"
    assert texts(render(table, 40, INK)) == [
        "name │  what  │      n",
        "─────┼────────┼───────",
        "日本 │   a    │ 20,000",
        "b    │ middle │      1",
    ]


def test_nested_lists_code_and_quotes_have_room_at_forty_columns() -> None:
    text = """1. first
   - nested words that are long enough to wrap
     1. deeper
        ```python
        return x + 1
        ```
2. second

> quoted words that go on for a while and wrap
> - in it"""
    assert texts(render(text, 40, INK)) == [
        "1. first",
        "   • nested words that are long enough",
        "     to wrap",
        "     1. deeper",
        "        │ return x + 1",
        "2. second",
        "",
        "▌ quoted words that go on for a while",
        "▌ and wrap",
        "▌",
        "▌ • in it",
    ]


def test_a_tab_of_plain_text_goes_to_the_next_stop_in_cells() -> None:
    assert texts(plain("中文\ty\nab\ty", 20, INK["assistant"])) == ["中文    y", "ab      y"]
