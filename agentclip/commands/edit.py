"""`edit PATH`: old texts of a file become new ones, all or none. Blocks or two flags come in, a unified diff goes out."""

from __future__ import annotations

import codecs
import os
import shlex
from pathlib import Path

from agentclip.command import CommandIO, Declaration, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.atomic import replace, staged
from agentclip.commands.blocks import Replacement, read_blocks_of
from agentclip.commands.difference import unified_diff
from agentclip.commands.files import destination, existing_file, explained
from agentclip.commands.registry import DeclaredCommand
from agentclip.commands.replacing import locate, replaced
from agentclip.commands.streams import has_stdin, note, read_blocks, size_text, stop_if_cancelled
from agentclip.errors import CommandError, ErrorCode, ErrorContext, one_line

MAX_BYTES = 64 * 1024**2
"""Of the file, and of the blocks."""

_EXAMPLE = """\
edit app.py <<'END'
<<<<<<< OLD
def area(r):
    return 3 * r
=======
def area(r):
    return math.pi * r ** 2
>>>>>>> NEW
END"""


class EditCommand(DeclaredCommand):
    """Replaces text, atomically, and shows what changed."""

    declaration = Declaration(
        name="edit",
        summary="Replace text in a file: old/new blocks on stdin (edit --help), or --old TEXT --new TEXT",
        parameters=(
            Parameter("path", "the file; links are followed", "path", required=True),
            Parameter("--old", "what to replace, as it is; must be there exactly once", value="text"),
            Parameter("--new", "what comes instead; '' deletes", value="text"),
            Parameter("--all", "replace it wherever it is", "boolean"),
            Parameter("--encoding", "of the file, when it is neither UTF-8 nor UTF-16 with a mark", value="name"),
        ),
        notes=(
            "Without --old, stdin holds one or more blocks; whole lines stand between the markers, blanks count:",
            "  <<<<<<< OLD",
            "  the lines as they are",
            "  =======",
            "  the lines that come instead (none: delete)",
            "  >>>>>>> NEW",
            "Each old text must be in the file exactly once (else add lines around it, or --all). All blocks look at the file",
            "as it was; all are done or none. Text that holds such markers itself: write 9 signs instead of 7 in all three.",
        ),
        examples=(
            _EXAMPLE,
            "edit config.toml --old 'debug = true' --new 'debug = false'",
            "edit notes.md --all --old colour --new color",
            "cat changes.txt | edit app.py",
        ),
        exit_codes=(
            (0, "changed; the diff is on stdout"),
            (1, "the disk refused, or somebody else changed the file meanwhile; nothing changed"),
            (2, "wrong words or blocks, no such file, or an old text is not there exactly once; nothing changed"),
            (77, "no permission; nothing changed"),
            (130, "cancelled; nothing changed"),
        ),
        often_followed_by=("git diff", "the program's tests"),
    )

    def handle(self, args: Arguments, io: CommandIO) -> int:
        """Find all places, write the file anew, then show the diff."""
        name = args.text("path")
        existing_file(io, name, "edit")
        target = destination(io, name)
        replacements = _replacements(args, io)
        with explained(name):
            before = target.stat()
            if before.st_size > MAX_BYTES:
                raise _too_large(name, before.st_size)
            raw = target.read_bytes()
            codec = _codec(args.optional_text("--encoding"), raw)
            data = _decoded(raw, codec, name)
            spans = locate(data, replacements, everywhere=args.given("--all"), stop=lambda: stop_if_cancelled(io))
            content = _encoded(replaced(data, spans), codec)
            with staged(target) as file:
                file.write(content)
                file.flush()
                stop_if_cancelled(io)
                _check_unchanged(target, before, name)
                replace(target, file)
        io.made(target, False)  # noqa: FBT003  positional by the Callable's type
        diff = unified_diff(data, spans, one_line(name))
        io.stdout.writelines(diff.lines)
        if diff.is_cut:
            note(io, f"the diff is cut at {len(diff.lines)} lines; {len(spans)} places were changed")
        return 0


def _replacements(args: Arguments, io: CommandIO) -> tuple[Replacement, ...]:
    """What was asked for. Raises CommandError where nothing was, or only half of it."""
    old, new = args.optional_text("--old"), args.optional_text("--new")
    path = shlex.quote(args.text("path"))
    if old is None and new is None:
        if not has_stdin(io):
            what = "nothing to replace: neither --old and --new nor blocks on stdin were given"
            raise CommandError(what, hint="edit --help", code=ErrorCode.MISSING_ARGUMENT)
        return read_blocks_of(_gathered(io))
    if old is None or new is None:
        missing = "--old" if old is None else "--new"
        hint = f"edit {path} --old {shlex.quote(old or 'TEXT')} --new {shlex.quote(new or 'TEXT')}"
        raise CommandError(f"{missing} is missing", hint=hint, code=ErrorCode.MISSING_ARGUMENT)
    if not old:
        raise CommandError("--old is empty", hint="write --help", code=ErrorCode.INVALID_VALUE)
    return (Replacement(_bytes_of(old), _bytes_of(new)),)


def _bytes_of(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        message = "the text holds half a character (a lone surrogate)"
        raise CommandError(message, hint="edit --help", code=ErrorCode.INVALID_VALUE) from error


def _gathered(io: CommandIO) -> bytes:
    data = bytearray()
    for block in read_blocks(io):
        data += block
        if len(data) > MAX_BYTES:
            raise _too_large("stdin", len(data))
    return bytes(data)


def _too_large(name: str, size: int) -> CommandError:
    message = f"{name} is {size_text(size)}, allowed: {size_text(MAX_BYTES)}"
    return CommandError(message, hint="sed --help", code=ErrorCode.TOO_LARGE, about=ErrorContext(name))


def _codec(name: str | None, raw: bytes) -> str | None:
    """The encoding to go through; None to take the bytes as they are. Raises CommandError for a name that nobody knows."""
    if name is None:
        if raw.startswith(codecs.BOM_UTF16_LE) and not raw.startswith(codecs.BOM_UTF32_LE):
            return "utf-16-le"
        return "utf-16-be" if raw.startswith(codecs.BOM_UTF16_BE) else None
    try:
        codec = codecs.lookup(name).name
        "".encode(codec)
    except (LookupError, ValueError) as error:
        message = f"{name[:64]!r} is no encoding that is known here"
        raise CommandError(message, hint="iconv --list", code=ErrorCode.INVALID_VALUE) from error
    return None if codec == "utf-8" else codec


def _decoded(raw: bytes, codec: str | None, name: str) -> bytes:
    """The text as UTF-8. Raises CommandError when it would not come back byte for byte."""
    if codec is None:
        return raw
    try:
        text = raw.decode(codec)
        if text.encode(codec) == raw:
            return text.encode()
    except UnicodeError:
        pass  # no such text: said below
    message = f"{name} is no {codec} text that could be kept byte for byte"
    raise CommandError(message, hint="edit --help", code=ErrorCode.INVALID_VALUE, about=ErrorContext(name))


def _encoded(data: bytes, codec: str | None) -> bytes:
    if codec is None:
        return data
    try:
        return data.decode().encode(codec)
    except UnicodeError as error:
        message = f"the new text cannot be written in {codec}"
        raise CommandError(message, hint="edit --help", code=ErrorCode.INVALID_VALUE) from error


def _check_unchanged(target: Path, before: os.stat_result, name: str) -> None:
    """Somebody else's change between our reading and writing would be lost."""
    now = target.stat()
    if (now.st_ino, now.st_mtime_ns, now.st_size) != (before.st_ino, before.st_mtime_ns, before.st_size):
        message = f"{name} was changed by somebody else meanwhile; nothing was written"
        raise CommandError(message, hint=f"ls -l {shlex.quote(name)}", about=ErrorContext(name))
