"""Candidates of the line mode, as prompt_toolkit wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agentclip import candidates
from agentclip.file_index import FileIndex
from agentclip.line.inks import theme_names
from agentclip.line.slash import COMMANDS
from agentclip.line.text import safe

WAIT_S = 3.0
"""The first `@` of a folder waits so long for its files: this runs on a thread."""


class Words(Completer):
    """What can stand where the cursor is."""

    def __init__(self, cwd: Callable[[], str]) -> None:
        self._completer = candidates.Completer(COMMANDS, cwd, FileIndex(), operands={"/theme": theme_names}, wait_s=WAIT_S)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002  the signature is prompt_toolkit's
        """On a thread."""
        offer = self._completer.offer(document.current_line_before_cursor, first=document.on_first_line)
        if offer is None:
            return
        for each in offer.candidates:
            yield Completion(
                each.text, start_position=-len(offer.begun), display=safe(each.text), display_meta=safe(each.detail)
            )
