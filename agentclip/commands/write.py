"""`write PATH [CONTENT]`: an argument or standard input becomes a file, whole or not at all.

The new content is gathered in a file beside the target and takes its name at the end, so that a reader sees the old or
the new text, and a cancel or an error leaves the old one and no litter.
"""

from __future__ import annotations

import binascii
import os
import secrets
import shlex
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from agentclip.command import CommandIO, Declaration, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.files import destination, explained
from agentclip.commands.registry import DeclaredCommand
from agentclip.commands.streams import BLOCK, has_stdin, read_blocks, say, size_text
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
        with explained(name), _folders_of(target), _staged(target) as staged:
            size = sum(map(staged.write, blocks))
            staged.flush()
            if args.given("--append") and target.exists():
                _append(target, staged)
                verb = "Appended"
            else:
                _replace(target, staged)
                verb = "Written"
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
        raise CommandError("the content holds half a character (a lone surrogate)", code=ErrorCode.INVALID_VALUE) from error


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


@contextmanager
def _folders_of(target: Path) -> Iterator[None]:
    """Make the folders that are missing; take them away again when the write fails."""
    made = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def _staged(target: Path) -> Iterator[BinaryIO]:
    """A new file beside the target, gone at the end unless it was given the target's name."""
    path = target.parent / f".agentclip-{secrets.token_hex(8)}"
    try:
        with open(path, "xb+") as staged:
            yield staged
    finally:
        path.unlink(missing_ok=True)


def _replace(target: Path, staged: BinaryIO) -> None:
    """Give the staged file the target's mode, owner and name."""
    if target.exists():
        _check_writable(target)
        old = target.stat()
        with suppress(PermissionError):  # only root gives files away
            os.fchown(staged.fileno(), old.st_uid, old.st_gid)
        os.fchmod(staged.fileno(), stat.S_IMODE(old.st_mode))
    os.replace(staged.name, target)


def _append(target: Path, staged: BinaryIO) -> None:
    """Add what was staged to the end; when the disk is full, cut the file back to what it was."""
    _check_writable(target)
    staged.seek(0)
    with open(target, "ab", buffering=0) as file:
        start = end = os.fstat(file.fileno()).st_size
        try:
            while block := staged.read(BLOCK):
                while block:
                    written = file.write(block)
                    end += written
                    block = block[written:]
        except OSError:
            if os.fstat(file.fileno()).st_size == end:  # nobody else has appended meanwhile
                file.truncate(start)
            raise


def _check_writable(target: Path) -> None:
    """A file that may not be written may not be replaced either, although its folder would allow it."""
    if not os.access(target, os.W_OK):
        raise CommandError(f"{target} is read-only", hint=f"ls -l {shlex.quote(str(target))}", code=ErrorCode.DENIED)
