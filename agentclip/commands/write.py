"""`write PATH [CONTENT]`: an argument or standard input becomes a file, whole or not at all.

The new content is gathered in a file beside the target and takes its name at the end, so that a reader sees the old or
the new text, and a cancel or an error leaves the old one and no litter.
"""

from __future__ import annotations

import binascii
import shlex
from collections.abc import Iterable, Iterator

from agentclip.command import CommandIO, Declaration, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.atomic import append, folders_of, replace, staged
from agentclip.commands.files import destination, explained
from agentclip.commands.registry import DeclaredCommand
from agentclip.commands.streams import has_stdin, read_blocks, say, size_text
from agentclip.errors import CommandError, ErrorCode, one_line

STDIN = "-"

_BLANKS = b" \t\r\n"


class WriteCommand(DeclaredCommand):
    """Writes or appends to a file, atomically, making missing folders."""

    declaration = Declaration(
        name="write",
        summary="Write file. Usage: write <path> [content] or stdin",
        parameters=(
            Parameter("path", "the file; missing folders are made, links are followed", "path", required=True),
            Parameter("content", "what to write, as it is, no line end added; - or left out: stdin"),
            Parameter("--append", "add to the end instead of replacing", "boolean"),
            Parameter("--base64", "the content is base64: write the bytes it stands for", "boolean", short="-b"),
        ),
        examples=(
            "write notes.md 'first line'",
            "printf 'one\\ntwo\\n' | write notes.md --append",
            "write -b dot.gif R0lGODdhAQABAIAAAP///////ywAAAAAAQABAAACAkQBADs=",
            "write empty.txt ''",
            "write list.md -- '--not-a-flag'",
        ),
        exit_codes=(
            (0, "written"),
            (1, "the disk refused; nothing changed"),
            (2, "wrong words, no content, bad base64, or a folder; nothing changed"),
            (77, "no permission; nothing changed"),
            (130, "cancelled; nothing changed"),
        ),
        often_followed_by=("cat", "git diff"),
    )

    def handle(self, args: Arguments, io: CommandIO) -> int:
        """Write, then say how much went where."""
        name = args.text("path")
        target = destination(io, name)
        blocks = _content(args, io)
        if args.given("--base64"):
            blocks = _decoded(blocks)
        is_new = not target.exists()
        with explained(name), folders_of(target), staged(target) as file:
            size = sum(map(file.write, blocks))
            file.flush()
            if args.given("--append") and not is_new:
                append(target, file)
                verb = "Appended"
            else:
                replace(target, file)
                verb = "Written"
        io.made(target, is_new)
        say(io, f"{verb} {size_text(size)} -> {one_line(str(target))}")
        return 0


def _content(args: Arguments, io: CommandIO) -> Iterable[bytes]:
    """The bytes to write, in blocks. Raises CommandError where none were given: an empty file is never made by accident."""
    content = args.optional_text("content")
    if content is None and not has_stdin(io):
        raise CommandError(
            "nothing to write: neither content nor stdin was given",
            hint=f"write {shlex.quote(args.text('path'))} 'content'",
            code=ErrorCode.MISSING_ARGUMENT,
        )
    if content is None or content == STDIN:
        return read_blocks(io)
    try:
        return (content.encode("utf-8", "surrogateescape"),)
    except UnicodeEncodeError as error:
        raise CommandError(
            "the content holds half a character (a lone surrogate)", hint="write --help", code=ErrorCode.INVALID_VALUE
        ) from error


def _decoded(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes that base64 text stands for; blanks and line ends are skipped, anything else is an error."""
    rest = b""
    for block in blocks:
        rest += block.translate(None, _BLANKS)
        whole = max(0, (len(rest) - 1) // 4 * 4)  # the last group stays, since only it may be padded
        if b"=" in rest[:whole]:
            raise _no_base64("padding in the middle")
        yield _bytes_of(rest[:whole])
        rest = rest[whole:]
    yield _bytes_of(rest)


def _bytes_of(text: bytes) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as error:
        raise _no_base64(str(error)) from error


def _no_base64(why: str) -> CommandError:
    return CommandError(f"the content is no base64: {why}", hint="write --help", code=ErrorCode.INVALID_VALUE)
