"""The lines of a snapshot that code writes: the fact book and open jobs come in, one text per part goes out."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agentclip.agent.snapshot.facts import FactBook, fitted

_QUOTES, _NOTED, _FILES = 0.4, 0.6, 0.75
"""Shares of the room that is still left, one after the other; the commands get the rest."""


class Surroundings(Struct, frozen=True):
    """What is known besides the events."""

    session_id: str
    cmd_output: str
    """The folder of the spools."""
    open_jobs: Sequence[str] = ()
    """One line each."""


def recorded(book: FactBook, around: Surroundings, without: frozenset[int], room: int) -> dict[str, str]:
    """What code knows, by the part of the document it belongs to, in about `room` tokens.

    `without` are the seqs of the person's messages that stay word for word anyway. Reads the disk.
    """
    left = float(room)
    quotes, rest = fitted(book.quotes(without), left * _QUOTES)
    left -= left * _QUOTES - rest
    files, rest = fitted(book.files(), left * _FILES * 0.6)
    left -= left * _FILES * 0.6 - rest
    noted, rest = fitted(book.noted(), left * _NOTED)
    left -= left * _NOTED - rest
    commands, _ = fitted(book.commands(), left)
    jobs = around.open_jobs or ["- none"]
    return {
        "key_knowledge": _sections(("The person said, word for word:", quotes), ("Outputs said:", noted)),
        "file_system_state": "\n".join([f"- CWD: {book.cwd}", *files]),
        "recent_actions": "\n".join(
            [
                _sections(("Last commands, oldest first:", commands), ("Open jobs:", jobs)),
                (
                    f"Everything is kept: topic run {around.session_id} N shows what run N printed, "
                    f"topic info {around.session_id} lists the runs; raw output is {around.cmd_output}/cmd-N.txt"
                ),
            ]
        ),
    }


def _sections(*sections: tuple[str, Sequence[str]]) -> str:
    return "\n".join("\n".join([title, *lines]) for title, lines in sections if lines)
