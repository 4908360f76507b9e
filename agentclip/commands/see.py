"""`see FILE`: attach a picture to the conversation. The file's bytes go in, an attached image and one line come out."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

import filetype

from agentclip.command import CommandIO, Declaration, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.files import existing_file, explained
from agentclip.commands.kinds import HEAD_BYTES, image_type, is_clean_text, is_svg, reads_as_text
from agentclip.commands.picture import Picture, prepare
from agentclip.commands.registry import DeclaredCommand
from agentclip.commands.streams import read_blocks, say, size_text, stop_if_cancelled
from agentclip.errors import CommandError, ErrorCode, one_line

MAX_FILE_BYTES = 64 * 1024**2
"""Larger files are refused before they are decoded."""

STDIN = "-"


class SeeCommand(DeclaredCommand):
    """Puts a picture on the result, scaled to what providers take."""

    declaration = Declaration(
        name="see",
        summary="View an image (auto-attaches to vision)",
        parameters=(
            Parameter(
                "file",
                "PNG, JPEG, GIF, WebP, ICO, BMP, TIFF, AVIF; - reads stdin. One per call: see a.png; see b.png",
                "path",
                required=True,
            ),
            Parameter(
                "--max-side",
                "longer sides are scaled down to this many pixels",
                "integer",
                default="2000",
                minimum=16,
                maximum=4000,
                value="pixels",
            ),
        ),
        examples=(
            "see photo.png",
            "see --max-side 800 scan.tiff",
            "see before.png; see after.png",
            "curl -s http://127.0.0.1:8000/chart.png | see -",
        ),
        exit_codes=(
            (0, "the picture is attached"),
            (1, "the file is no picture, or a broken or too large one: the error says which"),
            (2, "wrong words, or no such file"),
            (130, "cancelled"),
        ),
        often_followed_by=("an answer about the picture",),
    )

    def handle(self, args: Arguments, io: CommandIO) -> int:
        """Check what it is, have it scaled, attach."""
        name = args.text("file")
        with _opened(io, name) as file:
            picture = _picture(file, name, args.integer("--max-side"), io)
        source = _source(name)
        io.attach(picture.data, picture.mime, source, picture.width, picture.height)
        changed = f" ({', '.join(picture.notes)})" if picture.notes else ""
        size = size_text(len(picture.data))
        say(io, f"{one_line(source)}: {picture.mime} {picture.width}x{picture.height}, {size}, attached{changed}")
        return 0


@contextmanager
def _opened(io: CommandIO, name: str) -> Iterator[BinaryIO]:
    """The file, or standard input gathered in one; never more than MAX_FILE_BYTES."""
    with ExitStack() as stack:
        if name == STDIN:
            file: BinaryIO = stack.enter_context(tempfile.TemporaryFile())
            for block in read_blocks(io):
                file.write(block)
                if file.tell() > MAX_FILE_BYTES:
                    raise _error(name, f"is more than {size_text(MAX_FILE_BYTES)}")
            file.seek(0)
        else:
            path = existing_file(io, name, "see")
            with explained(name):
                size = path.stat().st_size
                file = stack.enter_context(open(path, "rb"))
            if size > MAX_FILE_BYTES:
                raise _error(name, f"is {size_text(size)}, allowed: {size_text(MAX_FILE_BYTES)}")
        yield file


def _picture(file: BinaryIO, name: str, max_side: int, io: CommandIO) -> Picture:
    head = file.read(HEAD_BYTES)
    mime = image_type(head)
    if mime is None:
        raise _no_picture(head, name)
    try:
        return prepare(file, mime, max_side, lambda: stop_if_cancelled(io))
    except CommandError as error:
        if error.code is not ErrorCode.NOT_AN_IMAGE:
            raise
        raise _error(name, error.message) from error


def _no_picture(head: bytes, name: str) -> CommandError:
    if not head:
        return _error(name, "is empty, 0 bytes")
    if is_svg(head):
        return _error(name, "is an SVG, which is text, use cat", "cat")
    if is_clean_text(head) or reads_as_text(head):
        text = f"not an image file: {_source(name)} (use cat to read text files)"
        return CommandError(text, text=text, code=ErrorCode.NOT_AN_IMAGE)
    kind = filetype.guess_mime(head) or "an unknown binary format"
    return _error(name, f"is no picture that can be shown: {kind}", "cat -b")


def _error(name: str, what: str, program: str = "ls -l") -> CommandError:
    hint = "see --help" if name == STDIN else f"{program} {shlex.quote(name)}"
    return CommandError(f"{_source(name)} {what}", hint=hint, code=ErrorCode.NOT_AN_IMAGE)


def _source(name: str) -> str:
    return "stdin" if name == STDIN else name
