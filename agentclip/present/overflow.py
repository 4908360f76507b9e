"""The block that stands where output was left out: how much there is, where all of it is, and how to look at it.

In: an excerpt and the spool it was taken from. Out: lines of text.
"""

from __future__ import annotations

import shlex

from agentclip.present.excerpt import Excerpt
from agentclip.present.footer import size_text


def lines_text(count: int) -> str:
    """`1 line`, `5000 lines`."""
    return "1 line" if count == 1 else f"{count} lines"


def truncation_block(part: Excerpt, path: str) -> list[str]:
    """The seed's block: exact totals, the file, two ways to explore it."""
    name = shlex.quote(path)
    # grep takes a file in another encoding for a binary.
    encoding = next((verdict.label for verdict in part.verdicts if verdict.label), "")
    reader = f"iconv -f {shlex.quote(encoding)} -t utf-8" if encoding else "cat"
    return [
        f"--- output truncated ({lines_text(part.total_lines)}, {size_text(part.size)}) ---",
        f"Full output: {name}",
        f"Explore: {reader} {name} | grep <pattern>",
        f"         {reader} {name} | tail 100",
    ]


def last_lines_mark(count: int) -> str:
    """What stands above the last lines."""
    return f"--- last {lines_text(count)} ---"


def stderr_mark(part: Excerpt, path: str) -> str:
    """What stands where lines of stderr were left out."""
    name = shlex.quote(path)
    left_out = part.total_lines - len(part.head) - len(part.tail)
    if left_out == 0:
        return f"--- long lines cut ({size_text(part.size)} in all). Full stderr: {name} ---"
    return f"--- {left_out} of {lines_text(part.total_lines)} cut ({size_text(part.size)} in all). Full stderr: {name} ---"
