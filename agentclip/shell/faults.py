"""What is wrong with a line before bash runs it, or beside what bash says: pure functions on its text.

bash names a syntax error by the token it stumbled over; a model corrects faster when it knows the column and what was missing.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from agentclip.shell.syntax import SimpleCommand, UnsplittableError, scan

_BRACKETS = {")": "(", "}": "{"}
_LEADING = re.compile(r"\s*(\|\|?|&&|;;?|&)")
_TRAILING = re.compile(r"(\|\|?|&&|\|&)\s*\Z")
_DOUBLED = re.compile(r"(?:(?:;|&&|\|\|?|&)\s*(?:;|&&|\|\|)|;\s*&(?!&)|(?:&&|\|\|?)\s*&(?!&))")
_HERE = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_][\w-]*)\1")


def syntax_fault(source: str) -> str | None:
    """`column 6: ...` for a line that bash rejects; None when nothing simple explains it. Columns count from 1."""
    quoted = _masked(source)
    if isinstance(quoted, int):
        return _at(source, quoted, f"the {source[quoted]} that begins here is never closed")
    if match := _LEADING.match(quoted):
        return _at(source, match.start(1), f"a command is expected before `{match[1]}`")
    if match := _TRAILING.search(quoted):
        return _at(source, match.start(1), f"a command is expected after `{match[1]}`")
    if (match := _DOUBLED.search(quoted)) and "case" not in quoted:
        return _at(source, match.start(), f"a command is expected inside `{match[0]}`")
    if (match := _HERE.search(source)) and not re.search(rf"^\t*{re.escape(match[2])}$", source, re.MULTILINE):
        return _at(source, match.start(), f"the here-document has no line `{match[2]}` that ends it")
    return _unbalanced(source, quoted) or _unfinished(source, quoted)


def unfinished_document(source: str) -> str | None:
    """What is missing when a here-document runs into the end of the line: most likely the call was cut.

    bash only warns and runs what is there; it is asked, since `<<` may also be a shift.
    """
    if _HERE.search(source) is None or (fault := syntax_fault(source)) is None:
        return None
    check = subprocess.run(["bash", "-n"], input=source.encode("utf-8", "surrogateescape"), capture_output=True, check=False)
    return fault if b"delimited by end-of-file" in check.stderr else None


def _at(source: str, offset: int, what: str) -> str:
    line = source.count("\n", 0, offset) + 1
    column = offset - (source.rfind("\n", 0, offset) + 1) + 1
    return f"line {line}, column {column}: {what}" if "\n" in source.strip() else f"column {column}: {what}"


def _masked(source: str) -> str | int:
    """The text with everything quoted made blank, or the place of a quote that never ends."""
    characters = list(source)
    at = 0
    while at < len(source):
        match source[at]:
            case "\\":
                characters[at : at + 2] = "__"[: len(source) - at]
                at += 2
            case "'" | '"' | "`" as quote:
                end = _closing(source, at, quote)
                if end is None:
                    return at
                characters[at : end + 1] = "_" * (end + 1 - at)
                at = end + 1
            case _:
                at += 1
    return "".join(characters)


def _closing(source: str, at: int, quote: str) -> int | None:
    end = at + 1
    while end < len(source):
        if source[end] == "\\" and quote != "'":
            end += 1
        elif source[end] == quote:
            return end
        end += 1
    return None


def _unbalanced(source: str, quoted: str) -> str | None:
    opened: list[int] = []
    for at, character in enumerate(quoted):
        if character in "({":
            opened.append(at)
        elif character in _BRACKETS:
            if not opened or quoted[opened[-1]] != _BRACKETS[character]:
                return _at(source, at, f"`{character}` closes nothing")
            opened.pop()
    return _at(source, opened[-1], f"`{quoted[opened[-1]]}` is never closed") if opened else None


def _unfinished(source: str, quoted: str) -> str | None:
    for opening, closing in (("if", "fi"), ("do", "done"), ("case", "esac")):
        opened = [match.start() for match in re.finditer(rf"(?<![\w-]){opening}(?![\w-])", quoted)]
        if len(opened) > len(re.findall(rf"(?<![\w-]){closing}(?![\w-])", quoted)):
            return _at(source, opened[-1], f"`{opening}` needs its `{closing}`")
    return None


def ends_agentclip(source: str, pid: int, group: int) -> bool:
    """Whether the line holds a literal `kill` of agentclip's own process or group, or of `$PPID`, which is the same."""
    own = {str(pid), f"-{pid}", f"-{group}", "$PPID", "${PPID}"}
    return any(_word(source, word.start, word.end) in own for command in _commands(source) for word in command.words[1:])


def _commands(source: str) -> Iterator[SimpleCommand]:
    # `$PPID` keeps a line from being split, not from being understood; the stand-ins are as long, so places stay the same.
    plain = source.replace("${PPID}", "${PPIX}").replace("$PPID", "$PPIX")
    try:
        pipelines = scan(plain)
    except UnsplittableError:
        return
    for pipeline in pipelines:
        yield from (command for command in pipeline.commands if command.words and command.words[0].value == "kill")


def _word(source: str, start: int, end: int) -> str:
    return source[start:end].strip("'\"")
