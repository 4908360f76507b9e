"""Markdown of the model as rows of segments. All text goes through `foreign`; nothing is ever markup of the screen.

In: text, a width, the ink. Out: rows without background. `MarkdownStream` renders a growing text only from its last block on.
Must not know: widgets, events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from agentclip.ui.foreign import expand_tabs, segments, tabs_as_blanks, visible
from agentclip.ui.themes import Ink
from agentclip.ui.wrap import Row, Span, fold, wrap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode
    from pygments.lexer import Lexer

MAX_MARKDOWN = 200_000
"""Characters; a longer text is shown as it is."""
MAX_HIGHLIGHT = 60_000
"""Characters of one code block that are coloured."""
MIN_COLUMN = 3
MIN_TEXT = 4
"""Cells that indents must leave for text; a text nested deeper is shown as it is."""
_MAX_LEVEL = 18
"""markdown-it gives up at 20 nested blocks and drops what is inside: such a text is shown as it is."""
_NONE = Style()
_EMPHASIS = {"strong": Style(bold=True), "em": Style(italic=True), "s": Style(strike=True)}


def render(text: str, width: int, ink: Ink) -> list[Row]:
    """The whole text as rows."""
    if len(text) > MAX_MARKDOWN:
        return plain(text, width, ink["assistant"])
    return _Renderer(width, ink).document(text)


def plain(text: str, width: int, style: Style) -> list[Row]:
    """Text as it is, line by line, broken between words."""
    return [row for line in text.split("\n") for row in wrap([(tabs_as_blanks(visible(line)), style)], width)]


class MarkdownStream:
    """A text that grows. Blocks before the last one are final and not looked at again."""

    def __init__(self, width: int, ink: Ink) -> None:
        self.key = (width, ink)
        self._renderer = _Renderer(width, ink, colours=False)
        self._final: list[Row] = []
        self._end = 0
        """Characters that are final."""

    def rows(self, text: str) -> list[Row]:
        """All rows of the text so far."""
        tail = text[self._end :]
        starts = [
            token.map[0] for token in _parser().parse(tail) if token.level == 0 and token.nesting >= 0 and token.map is not None
        ]
        if len(starts) > 1:
            cut = sum(len(line) for line in tail.split("\n")[: starts[-1]]) + starts[-1]
            self._final += [*self._renderer.document(tail[:cut]), []]
            self._end += cut
            tail = tail[cut:]
        return self._final + self._renderer.document(tail)


class _Renderer:
    def __init__(self, width: int, ink: Ink, *, colours: bool = True) -> None:
        self._width = width
        self._cramped = False
        """Indents left no room for text somewhere: rows would be cut off at the right."""
        self._ink = ink
        self._colours = colours
        """False while the text still grows: long code would be coloured again and again."""

    def document(self, text: str) -> list[Row]:
        tokens = _parser().parse(text)
        if any(token.level > _MAX_LEVEL for token in tokens):
            return plain(text, self._width, self._ink["assistant"])
        self._cramped = False
        rows = self._blocks(_tree(tokens), self._width)
        return plain(text, self._width, self._ink["assistant"]) if self._cramped else rows

    def _blocks(self, nodes: Iterable[SyntaxTreeNode], width: int, *, tight: bool = False) -> list[Row]:
        self._cramped = self._cramped or width < MIN_TEXT
        rows: list[Row] = []
        for node in nodes:
            if rows and not tight:
                rows.append([])
            rows += self._block(node, max(MIN_TEXT, width))
        return rows

    def _block(self, node: SyntaxTreeNode, width: int) -> list[Row]:
        rows: list[Row]
        match node.type:
            case "heading":
                bold = Style(bold=True, underline=node.tag == "h1" or None)
                rows = self._lines(node, width, self._ink["heading"] + bold)
            case "fence" | "code_block":
                rows = self._code(node, width)
            case "bullet_list" | "ordered_list":
                rows = self._list(node, width)
            case "blockquote":
                bar = Segment("▌ ", self._ink["muted"])
                rows = [[bar, *row] for row in self._blocks(node.children, width - 2)]
            case "table":
                rows = self._table(node, width)
            case "hr":
                rows = [[Segment("─" * min(width, 40), self._ink["muted"])]]
            case _:
                rows = self._lines(node, width, self._ink["assistant"])
        return rows

    def _lines(self, node: SyntaxTreeNode, width: int, style: Style) -> list[Row]:
        lines = _split_lines(self._inline(node.children, style) if node.children else [(visible(node.content), style)])
        return [row for line in lines for row in wrap(line, width)]

    def _code(self, node: SyntaxTreeNode, width: int) -> list[Row]:
        code = node.content.rstrip("\n")
        bar = Segment("│ ", self._ink["muted"])
        language = node.info.split()[0] if node.type == "fence" and node.info.split() else ""
        lexer = _lexer(language) if self._colours and len(code) <= MAX_HIGHLIGHT else None
        lines = self._coloured(code, lexer) if lexer else [[Segment(line, self._ink["code"])] for line in code.split("\n")]
        cleaned = (
            expand_tabs([part for piece in line for part in segments(piece.text, piece.style or _NONE, self._ink["mark"])])
            for line in lines
        )
        return [[bar, *row] for line in cleaned for row in fold(line, width - 2)]

    def _coloured(self, code: str, lexer: Lexer) -> list[Row]:
        lines: list[Row] = [[]]
        for token, text in lexer.get_tokens(code):
            first, *others = text.split("\n")
            style = self._ink.token(token)
            lines[-1].append(Segment(first, style))
            lines += [[Segment(other, style)] for other in others]
        while len(lines) > 1 and not any(segment.text for segment in lines[-1]):
            lines.pop()
        return lines

    def _list(self, node: SyntaxTreeNode, width: int) -> list[Row]:
        rows: list[Row] = []
        number = int(node.attrs.get("start", 1) or 0)
        tight = all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")
        for offset, item in enumerate(node.children):
            sign = "• " if node.type == "bullet_list" else f"{number + offset}. "
            if rows and not tight:
                rows.append([])
            for index, row in enumerate(self._blocks(item.children, width - len(sign), tight=tight) or [[]]):
                rows.append([Segment(sign if index == 0 else " " * len(sign), self._ink["muted"]), *row])
        return rows

    def _table(self, node: SyntaxTreeNode, width: int) -> list[Row]:
        lines = [row for part in node.children for row in part.children]
        cells = [[self._inline(cell.children, self._cell_style(cell)) for cell in row.children] for row in lines]
        if not cells:
            return []
        widths = _column_widths(cells, width)
        if sum(widths) + 3 * (len(widths) - 1) > width:  # more columns than cells: one line per row
            return [row for line in cells for row in wrap(_joined(line, self._ink["muted"]), width)]
        sides = [str(cell.attrs.get("style", "")).removeprefix("text-align:") for cell in lines[0].children]
        rows: list[Row] = []
        for index, line in enumerate(cells):
            rows += self._table_row(line, widths, sides)
            if index == 0:
                rows.append([Segment("─┼─".join("─" * size for size in widths), self._ink["muted"])])
        return rows

    def _table_row(self, line: list[list[Span]], widths: list[int], sides: list[str]) -> list[Row]:
        """One row of the table; `sides` are empty or `left`, `center`, `right`."""
        columns = [wrap(cell, size) for cell, size in zip(line, widths, strict=False)]
        rows: list[Row] = []
        for index in range(max(len(column) for column in columns)):
            row: Row = []
            for number, (column, size) in enumerate(zip(columns, widths, strict=False)):
                content = column[index] if index < len(column) else []
                left = max(0, size - sum(cell_len(segment.text) for segment in content))
                before = {"right": left, "center": left // 2}.get(sides[number], 0)
                bar = [Segment(" │ ", self._ink["muted"])] if number else []
                row += [*bar, Segment(" " * before), *content, Segment(" " * (left - before))]
            rows.append(row)
        return rows

    def _cell_style(self, cell: SyntaxTreeNode) -> Style:
        return self._ink["assistant"] + Style(bold=True) if cell.tag == "th" else self._ink["assistant"]

    def _inline(self, nodes: Sequence[SyntaxTreeNode], style: Style) -> list[Span]:
        return [span for node in nodes for span in self._inline_node(node, style)]

    def _inline_node(self, node: SyntaxTreeNode, style: Style) -> list[Span]:
        if node.type in _EMPHASIS:
            return self._inline(node.children, style + _EMPHASIS[node.type])
        match node.type:
            case "code_inline":
                spans = [(visible(node.content), self._ink["code"])]
            case "link":
                spans = self._link(node, style)
            case "image":
                spans = [(visible(f"[image: {node.content}] {node.attrs.get('src', '')}"), self._ink["link"])]
            case "softbreak" | "hardbreak":
                spans = [("\n", style)]
            case _:
                spans = self._inline(node.children, style) if node.children else [(visible(node.content), style)]
        return spans

    def _link(self, node: SyntaxTreeNode, style: Style) -> list[Span]:
        text = self._inline(node.children, style + self._ink["link"] + Style(underline=True))
        target = visible(str(node.attrs.get("href", "")))
        # Where a link leads is always written out: text and target may disagree.
        same = "".join(part for part, _ in text) == target
        return text if same else [*text, (f" ({target})", self._ink["muted"])]


def _split_lines(spans: Iterable[Span]) -> list[list[Span]]:
    lines: list[list[Span]] = [[]]
    for text, style in spans:
        first, *others = text.split("\n")
        lines[-1].append((first, style))
        lines += [[(other, style)] for other in others]
    return lines


def _joined(line: list[list[Span]], style: Style) -> list[Span]:
    return [span for number, cell in enumerate(line) for span in ([(" | ", style)] if number else []) + cell]


def _column_widths(cells: list[list[list[Span]]], width: int) -> list[int]:
    """The natural width of each column, the widest ones narrowed until all fit."""
    columns = max(len(row) for row in cells)
    widths = [
        max(MIN_COLUMN, *(sum(cell_len(text) for text, _ in row[column]) for row in cells if column < len(row)))
        for column in range(columns)
    ]
    room = max(columns * MIN_COLUMN, width - 3 * (columns - 1))
    while sum(widths) > room:
        widest = max(widths)
        second = max((size for size in widths if size < widest), default=MIN_COLUMN)
        count = widths.count(widest)
        step = min(widest - max(second, MIN_COLUMN), max(1, (sum(widths) - room) // count)) or 1
        widths = [size - step if size == widest else size for size in widths]
    return widths


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # 20 ms, for the first text of a model: the first picture of the screen does not wait for it.
    from markdown_it import MarkdownIt  # noqa: PLC0415  registered deferred import

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _tree(tokens: list[Token]) -> list[SyntaxTreeNode]:
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415  registered deferred import

    return SyntaxTreeNode(tokens).children


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415  registered deferred import
    from pygments.util import ClassNotFound  # noqa: PLC0415  registered deferred import

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None
