"""Names of files in a command's words: where they lead, and errors that say what to do next."""

from __future__ import annotations

import difflib
import errno
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from agentclip.command import CommandIO
from agentclip.errors import CommandError, ErrorCode, ErrorContext

_LOOKED_AT = 5000
"""Entries of a folder that are looked through for a near name."""

_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


def file_name(io: CommandIO, name: str) -> Path:
    """The file a word names. Raises CommandError for a word that no file can have as its name."""
    if not name:
        raise CommandError("the file name is empty", hint="ls", code=ErrorCode.INVALID_VALUE, about=ErrorContext(name))
    try:
        possible = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise CommandError(f"no file can be called {name!r}", hint="ls", code=ErrorCode.INVALID_VALUE, about=ErrorContext(name))
    return io.path(name)


def destination(io: CommandIO, name: str) -> Path:
    """The real file that writing to `name` changes, every symlink followed: the one place where roots are checked.

    Raises CommandError for folders, devices, sockets, pipes and links that lead in a circle.
    """
    given = file_name(io, name)
    with explained(name):
        target = Path(os.path.realpath(given))
        if target.is_dir():
            raise _unusable(name, "is a folder", f"ls {shlex.quote(name)}")
        if name.endswith("/"):
            raise _unusable(name, "names a folder", f"mkdir -p {shlex.quote(name)}")
        if target.is_symlink():
            raise _unusable(name, "is a link that leads in a circle")
        if target.exists() and not target.is_file():
            raise _unusable(name, f"is no regular file ({file_kind(target)})")
        above = next(parent for parent in target.parents if os.path.lexists(parent))
        if not above.is_dir():
            hint = f"ls -l {shlex.quote(str(above))}"
            raise CommandError(f"{above} is no folder", hint=hint, code=ErrorCode.INVALID_VALUE, about=ErrorContext(name))
    return target


def existing_file(io: CommandIO, name: str, command: str) -> Path:
    """A regular file that a command is to read. Raises CommandError naming near files or what to do with a folder."""
    path = file_name(io, name)
    with explained(name):
        if not path.exists():
            raise missing(io, name, command)
        mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise _unusable(name, "is a folder", f"ls {shlex.quote(name)}")
    if not stat.S_ISREG(mode):
        hint = f"cat {shlex.quote(name)} | {command} -"
        raise _unusable(name, f"is no regular file ({file_kind(path)})", hint)
    return path


def missing(io: CommandIO, name: str, command: str) -> CommandError:
    """The error for a file that is not there: the nearest name beside it, or a listing of what is."""
    path = io.path(name)
    folder, _, last = name.rpartition("/")
    entries = [entry for entry in _entries(path.parent) if entry != last]
    near = difflib.get_close_matches(last[:255], entries, n=1, cutoff=0.6)
    if near:
        hint = f"{command} {shlex.quote(f'{folder}/{near[0]}' if '/' in name else near[0])}"
    else:
        there = next((parent for parent in path.parents if os.path.isdir(parent)), Path("/"))
        hint = "ls" if str(there) == io.cwd else f"ls {shlex.quote(str(there))}"
    about = ErrorContext(name, {"nearest": near[0]} if near else {})
    return CommandError(f"no such file: {name}", hint=hint, code=ErrorCode.INPUT_NOT_FOUND, about=about)


@contextmanager
def explained(name: str) -> Iterator[None]:
    """What the system refuses to do with a file becomes an error of the command. A closed pipe passes through."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        code = ErrorCode.DENIED if error.errno in _DENIED else ErrorCode.FAILED
        message = f"{name}: {error.strerror or error}"
        raise CommandError(message, hint=_look_at(name, error), code=code, about=ErrorContext(name)) from error


def _look_at(name: str, error: OSError) -> str:
    """The command that shows why the system refused."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "df -h ."
    if error.errno in (errno.ENAMETOOLONG, errno.ENOENT):
        return "ls"
    return f"ls -ld {shlex.quote(name)}"


def _unusable(name: str, what: str, hint: str = "") -> CommandError:
    """A name that leads to something which cannot be read or written as a file."""
    hint = hint or f"ls -l {shlex.quote(name)}"
    return CommandError(f"{name} {what}", hint=hint, code=ErrorCode.INVALID_VALUE, about=ErrorContext(name))


def file_kind(path: Path) -> str:
    """What is there instead of a regular file."""
    tests = (("named pipe", path.is_fifo), ("socket", path.is_socket), ("character device", path.is_char_device))
    return next((kind for kind, test in tests if test()), "device")


def _entries(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _LOOKED_AT)]
    except OSError:
        return []
