"""Files that change whole or not at all: new content is gathered beside the target and takes its name at the end.

So a reader sees the old or the new text, and a cancel or an error leaves the old one and no litter.
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from agentclip.commands.streams import BLOCK
from agentclip.errors import CommandError, ErrorCode


@contextmanager
def folders_of(target: Path) -> Iterator[None]:
    """Make the folders that are missing; take them away again when what is done inside fails."""
    made = [parent for parent in target.parents if not parent.exists()]
    with ExitStack() as on_failure:
        for folder in reversed(made):
            on_failure.callback(_remove_empty, folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
        on_failure.pop_all()


@contextmanager
def staged(target: Path) -> Iterator[BinaryIO]:
    """A new file beside the target, gone at the end unless it was given the target's name."""
    path = target.parent / f".agentclip-{secrets.token_hex(8)}"
    try:
        with open(path, "xb+") as file:
            yield file
    finally:
        path.unlink(missing_ok=True)


def replace(target: Path, file: BinaryIO) -> None:
    """Give the staged file the target's mode, owner and name."""
    if target.exists():
        _check_writable(target)
        old = target.stat()
        with suppress(PermissionError):  # only root gives files away
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
    os.replace(file.name, target)


def append(target: Path, file: BinaryIO) -> None:
    """Add what was staged to the end; when the disk is full, cut the target back to what it was."""
    _check_writable(target)
    file.seek(0)
    with open(target, "ab", buffering=0) as grown:
        start = end = os.fstat(grown.fileno()).st_size
        try:
            while block := file.read(BLOCK):
                while block:
                    written = grown.write(block)
                    end += written
                    block = block[written:]
        except OSError:
            if os.fstat(grown.fileno()).st_size == end:  # nobody else has appended meanwhile
                grown.truncate(start)
            raise


def _check_writable(target: Path) -> None:
    """A file that may not be written may not be replaced either, although its folder would allow it."""
    if not os.access(target, os.W_OK):
        raise CommandError(f"{target} is read-only", hint=f"ls -l {shlex.quote(str(target))}", code=ErrorCode.DENIED)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
