"""One-line notes about how a stream was read: its encoding, bytes that are none, redraws, a file that is gone.

In: an excerpt and where its file is. Out: lines in square brackets.
"""

from __future__ import annotations

import shlex

from agentclip.errors import one_line
from agentclip.present.excerpt import Excerpt
from agentclip.present.footer import short_size_text
from agentclip.results import ChainResult, Ended, StreamFile

_MAX_NOTES = 20
_MAX_NOTE_CHARS = 1000


def unreadable_note(part: Excerpt, stream: StreamFile, what: str) -> str | None:
    """A spool that is gone or shorter than it was; None when all of it is there."""
    name = shlex.quote(stream.path)
    if part.missing:
        return f"[{what} not readable: {name} ({one_line(part.missing)})]"
    if part.size < stream.size:
        return f"[{what} incomplete: {short_size_text(part.size)} of {short_size_text(stream.size)} are left in {name}]"
    return None


def stream_notes(part: Excerpt, path: str, *, stream: str = "") -> list[str]:
    """What a reader must know about a shown stream; `stream` names it when it is not stdout."""
    name = shlex.quote(path)
    about = f"{stream} " if stream else ""
    notes = []
    for verdict in part.verdicts:
        if verdict.label:
            notes.append(f"[{about}encoding: {verdict.label}{' guessed' if verdict.guessed else ''}]")
        if verdict.guessed:
            notes.append(f"[{about}not UTF-8. If this is misread: iconv -f ENCODING -t utf-8 {name}]")
    if part.stray:
        places = "1 place" if part.stray == 1 else f"{part.stray} places"
        expected = part.verdicts[0].label or "UTF-8"
        advice = f". Use: iconv -f {part.hint} -t utf-8 {name}" if part.hint else ""
        notes.append(f"[{about}not {expected} in {places}, shown as \ufffd{advice}]")
    # A file of the old Macintosh's line ends looks like one line redrawn over and over.
    if part.total_lines == 1 and not part.ended and part.head and part.head[0].redrawn:
        notes.append(f"[carriage returns without line ends, only the last state is shown. Use: tr '\\r' '\\n' < {name}]")
    return notes


def result_notes(result: ChainResult) -> list[str]:
    """What Layer 1 had to do otherwise than asked, and a spool that stops at its limit."""
    notes = [_as_note(note) for note in result.notes[:_MAX_NOTES]]
    if result.ended is Ended.OUTPUT_LIMIT and result.limit is not None:
        notes.append(f"[the full output was cut off at {short_size_text(result.limit)}]")
    return notes


def _as_note(note: str) -> str:
    """A note on one line of its own, in brackets as all notes."""
    line = one_line(note)[:_MAX_NOTE_CHARS]
    return line if line.startswith("[") else f"[note] {line}"
