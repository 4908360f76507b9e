"""Text of the model while it streams: pieces in, whole lines out, with light colours for Markdown. Knows no terminal."""

from __future__ import annotations

import re
from collections.abc import Callable

from pygments import lex
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from agentclip.line.text import Line, Piece, cells, safe, wrapped

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)\s*([\w+#.-]*)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_CODE = re.compile(r"(`[^`]+`)")
MIN_WIDTH = 20


class Reply:
    """One streamed reply after the other. Long lines are given out as soon as they fill the width."""

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self._rest = ""
        self._ink: str | None = None
        """Of a line whose beginning was given out; None at the beginning of a line."""
        self._in_code = False
        self._lexer: Lexer | None = None
        self.text = ""
        """All of the reply so far."""

    def take(self, text: str) -> list[Line]:
        """More text; the lines that are complete."""
        self.text += text
        *ended, self._rest = (self._rest + text).split("\n")
        found = []
        for each in ended:
            found += self._whole(each)
        if not self._in_code and cells(self._rest) > self._usable():
            *pieces, self._rest = wrapped(self._rest, self._usable())
            found += [self._piece(piece) for piece in pieces]
        return found

    def end(self, whole: str | None = None) -> list[Line]:
        """The rest. With `whole` the text that counts: what of it was not streamed comes too."""
        found = []
        if whole is not None and whole != self.text:
            if whole.startswith(self.text):
                found = self.take(whole[len(self.text) :])
            elif not self.text:
                found = self.take(whole)
        if self._rest:
            found += self._whole(self._rest)
        self.drop()
        return found

    def drop(self) -> None:
        """Forget what was streamed: the next piece begins a reply."""
        self._rest = self.text = ""
        self._ink, self._in_code, self._lexer = None, False, None

    def _usable(self) -> int:
        return max(MIN_WIDTH, self._width() - 1)

    def _whole(self, text: str) -> list[Line]:
        fence = _FENCE.match(text) if self._ink is None else None
        if fence is not None:
            self._in_code = not self._in_code
            self._lexer = _lexer(fence.group(1)) if self._in_code else None
            return [(("muted", safe(text)),)]
        if self._in_code:
            return [tuple(self._code(text))]
        found = [self._piece(piece) for piece in wrapped(text, self._usable())]
        self._ink = None
        return found

    def _piece(self, text: str) -> Line:
        if self._ink is None:
            self._ink = "heading" if _HEADING.match(text) else ""
        if self._ink:
            return ((self._ink, safe(text)),)
        return tuple(("code" if index % 2 else "", safe(part)) for index, part in enumerate(_CODE.split(text)) if part)

    def _code(self, text: str) -> list[Piece]:
        if self._lexer is None:
            return [("code", safe(text))]
        tokens = [(".".join(("pygments", *kind)).lower(), safe(part.rstrip("\n"))) for kind, part in lex(text, self._lexer)]
        return [token for token in tokens if token[1]]


def _lexer(name: str) -> Lexer | None:
    try:
        return get_lexer_by_name(name, stripnl=False) if name else None
    except ClassNotFound:
        return None
