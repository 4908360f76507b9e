"""Binary output: what it is, and the advice that stands in its place.

In: the first bytes of an output, and the plan that printed it. Out: a kind, and one line such as
`[error] binary image (182KB). Use: see photo.png`. Whether bytes are binary at all is decided in `encoding`.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import pairwise

import filetype
from msgspec import Struct

from agentclip.present.ansi import clean_line
from agentclip.present.footer import short_size_text
from agentclip.results import Chain, ChainResult, Pipeline, Stage, StageKind, StreamFile

SEEABLE = frozenset({"png", "apng", "jpg", "gif", "webp", "bmp", "tif", "ico", "avif"})
"""Extensions of pictures that `see` opens."""

_PRINTABLE_MAGIC = (b"BZh", b"%PDF-", b"GIF87a", b"GIF89a")
_READERS = frozenset({"cat", "head", "tail", "less", "more", "nl", "tac"})
_PASSING = frozenset({"cat", "head", "tail", "tee"})
_QUIET = frozenset({"cd", "export", "unset", "true", "test", "[", "mkdir", "cp", "mv", "ln", "touch", "chmod", "sleep"})
_DOWNLOADERS = frozenset({"curl", "wget"})
_SAVING_FLAG = re.compile(r"--output|--output-document|--remote-name|-[A-Za-z]*[oO]")
_MAX_NAME_CHARS = 1000


class Kind(Struct, frozen=True):
    """What binary data is, by its magic bytes and never by a name."""

    extension: str
    """`png`, `gz`; `bin` when unknown."""
    image: bool
    """A picture that `see` opens."""


UNKNOWN = Kind("bin", image=False)


def kind_of(head: bytes) -> Kind:
    """What data known to be binary is; its first 8 KB are enough."""
    match = filetype.guess(head[:8192])
    if match is None:
        return UNKNOWN
    extension = "png" if match.extension == "apng" else str(match.extension)
    return Kind(extension, image=extension in SEEABLE)


def has_clear_magic(head: bytes) -> bool:
    """Whether the first bytes say a binary kind so clearly that no text begins like that."""
    if head.startswith(_PRINTABLE_MAGIC):
        return True
    start = head[:3]
    return not (start.isascii() and start.decode("ascii").isprintable()) and filetype.guess(head[:8192]) is not None


def stdout_notice(result: ChainResult, kind: Kind) -> str:
    """The line that stands for a binary stdout; its advice works as written."""
    name = named_in_plan(result.chain)
    return notice(result.stdout, kind, spool_name(result.stdout, kind) if name is None else name)


def notice(stream: StreamFile, kind: Kind, name: str) -> str:
    """The line that stands for binary data; `name` is a word of the shell."""
    size = short_size_text(stream.size)
    if kind.image:
        return f"[error] binary image ({size}). Use: see {name}"
    return f"[error] binary file ({size}). Use: cat -b {name}"


def true_path(stream: StreamFile, kind: Kind) -> str:
    """The spool's path with the extension of what it holds: `cmd-3.png` for `cmd-3.txt`."""
    return f"{os.path.splitext(stream.path)[0]}.{kind.extension}"


def spool_name(stream: StreamFile, kind: Kind) -> str:
    """The name under which the spool can be opened: with its true extension once it has that name (see `naming`)."""
    path = true_path(stream, kind)
    return shlex.quote(path if os.path.exists(path) else stream.path)


def named_in_plan(chain: Chain) -> str | None:
    """The file whose bytes a chain printed (`cat photo.png`), as a word of the shell; None where the plan names none.

    Only where the name is beyond doubt: one pipeline prints, a reader of files begins it, the rest passes bytes on.
    """
    printing = [pipeline for pipeline in chain.pipelines if not _is_quiet(pipeline)]
    if len(printing) != 1:
        return None
    last = printing[0] is chain.pipelines[-1]
    # A later `cd` would move the ground under a relative name.
    moved = not last and any(_first_word(stage) == "cd" for pipeline in chain.pipelines for stage in pipeline.stages)
    name = _file_read(printing[0])
    if name is None or (moved and not name.startswith("/")):
        return None
    return _as_operand(name)


def _file_read(pipeline: Pipeline) -> str | None:
    """The one file that the first stage reads and the others pass on."""
    first, *others = pipeline.stages
    if _first_word(first) not in _READERS or any(_first_word(stage) not in _PASSING for stage in others):
        return None
    if any(redirect.operator != "<" and redirect.fd != 2 for stage in pipeline.stages for redirect in stage.redirects):
        return None
    sources = [redirect.target for redirect in first.redirects if redirect.operator == "<"]
    operands = _operands(first)
    return next(iter(operands or sources), None)


def _operands(stage: Stage) -> list[str]:
    """Words that name files: no flags and no values of flags."""
    words = list(stage.words or ())[1:]
    operands: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            return operands + words
        if word in {"-n", "-c"}:
            words[:1] = []
        elif not word.startswith("-") and not word.isdecimal():
            operands.append(word)
    return operands


def _is_quiet(pipeline: Pipeline) -> bool:
    """Whether a pipeline prints nothing on stdout, going by its words."""
    stage = pipeline.stages[-1]
    if stage.kind is StageKind.STATE:
        return True
    word = _first_word(stage)
    if word not in _DOWNLOADERS:
        return word in _QUIET
    words = [*(stage.words or ()), ""]
    targets = [following for word, following in pairwise(words) if _SAVING_FLAG.fullmatch(word)]
    return "-" not in targets and bool(targets or word == "wget")


def _first_word(stage: Stage) -> str | None:
    return os.path.basename(stage.words[0]) if stage.words else None


def _as_operand(name: str) -> str | None:
    """A file's name as a word that no program takes for a flag; None when text cannot say it."""
    if len(name) > _MAX_NAME_CHARS or "\n" in name or clean_line(name) != name:
        return None
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
