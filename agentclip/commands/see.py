"""`see FILE`: attach a picture to the conversation. The file's bytes go in, an attached image and one line come out."""

from __future__ import annotations

import shlex

import filetype

from agentclip.command import CommandIO, Declaration, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.files import existing_file, explained
from agentclip.commands.kinds import image_type, is_binary, is_clean_text, is_svg
from agentclip.commands.registry import DeclaredCommand
from agentclip.commands.streams import BLOCK, read_blocks, say, size_text, stop_if_cancelled
from agentclip.errors import CommandError, ErrorCode, one_line

MAX_FILE_BYTES = 64 * 1024**2
"""Larger files are refused before they are read whole."""

STDIN = "-"


class SeeCommand(DeclaredCommand):
    """Puts a picture on the result, scaled to what providers take."""

    declaration = Declaration(
        name="see",
        summary="View an image (auto-attaches to vision)",
        parameters=(
            Parameter("file", "a picture; - reads it from stdin. One per call: see a.png; see b.png", "path", required=True),
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
        """Read, check, scale, attach."""
        name = args.text("file")
        data = _read_stdin(io) if name == STDIN else _read_file(io, name)
        source = "stdin" if name == STDIN else name
        mime = image_type(data)
        if mime is None:
            raise _no_picture(data, name, source)
        from agentclip.commands import raster  # noqa: PLC0415  Pillow costs 60 ms, paid by the first picture only

        try:
            picture = raster.fit(data, mime, args.integer("--max-side"), lambda: stop_if_cancelled(io))
        except CommandError as error:
            if error.code is not ErrorCode.NOT_AN_IMAGE:
                raise
            raise _error(f"{source} {error.message}", "ls -l", name) from error
        io.attach(picture.data, picture.mime, source, picture.width, picture.height)
        changed = f" ({', '.join(picture.notes)})" if picture.notes else ""
        size = size_text(len(picture.data))
        say(io, f"{one_line(source)}: {picture.mime} {picture.width}x{picture.height}, {size}, attached{changed}")
        return 0


def _read_file(io: CommandIO, name: str) -> bytes:
    path = existing_file(io, name, "see")
    with explained(name), open(path, "rb") as file:
        data = bytearray()
        while block := file.read(BLOCK * 16):
            data += block
            stop_if_cancelled(io)
            if len(data) > MAX_FILE_BYTES:
                raise _error(f"{name} is {size_text(path.stat().st_size)}, allowed: {size_text(MAX_FILE_BYTES)}", "ls -l", name)
        return bytes(data)


def _read_stdin(io: CommandIO) -> bytes:
    data = bytearray()
    for block in read_blocks(io):
        data += block
        if len(data) > MAX_FILE_BYTES:
            raise _error(f"stdin is more than {size_text(MAX_FILE_BYTES)}", "", STDIN)
    return bytes(data)


def _no_picture(data: bytes, name: str, source: str) -> CommandError:
    if not data:
        return _error(f"{source} is empty, 0 bytes", "ls -l", name)
    if is_svg(data):
        return _error(f"{source} is an SVG, which is text, use cat", "cat", name)
    if is_clean_text(data) or not is_binary(data[:BLOCK]):
        text = f"not an image file: {source} (use cat to read text files)"
        return CommandError(text, text=text, code=ErrorCode.NOT_AN_IMAGE)
    kind = filetype.guess_mime(data) or "an unknown binary format"
    takes = "PNG, JPEG, GIF, WebP, ICO, BMP, TIFF or AVIF"
    return _error(f"{source} is no picture that can be shown: {kind}, not {takes}", "cat -b", name)


def _error(message: str, program: str, name: str) -> CommandError:
    hint = "see --help" if name == STDIN else f"{program} {shlex.quote(name)}"
    return CommandError(message, hint=hint, code=ErrorCode.NOT_AN_IMAGE)
