"""Starting one stage: its process in a session of its own, on the descriptors it is given, and its literal redirects.

Every process started here has no controlling terminal, so nothing can ask on /dev/tty.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agentclip.results import Redirect
from agentclip.shell.bash import bash_argv

_OPEN_FLAGS = {
    "<": os.O_RDONLY,
    "<>": os.O_RDWR | os.O_CREAT,
    ">": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    ">|": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    ">>": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "&>": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "&>>": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}
_BOTH = frozenset({"&>", "&>>"})
_DUPLICATES = frozenset({"<&", ">&"})


class Descriptors(Struct, frozen=True):
    """What a stage gets as 0, 1 and 2."""

    stdin: int
    stdout: int
    stderr: int


class RedirectError(Exception):
    """A redirect's file could not be opened; bash's message has been written where stderr went at that point."""


def is_simple(redirects: Sequence[Redirect]) -> bool:
    """Whether we can open them exactly as bash would; the rest is bash's own work."""
    return all(_is_simple(redirect) for redirect in redirects)


def _is_simple(redirect: Redirect) -> bool:
    if redirect.fd not in (None, 0, 1, 2):
        return False
    if redirect.operator in _DUPLICATES:
        return redirect.target in {"0", "1", "2"}
    # bash itself stands for some of these names (/dev/tcp, /dev/fd) on systems that lack them.
    if redirect.operator not in _OPEN_FLAGS:
        return False
    return redirect.target == "/dev/null" or not redirect.target.startswith("/dev/")


@contextlib.contextmanager
def opened(redirects: Sequence[Redirect], given: Descriptors, cwd: str, line: int) -> Iterator[Descriptors]:
    """The descriptors after the redirects, left to right; what was opened is closed at the end.

    `line` is what bash would name in a message, counted from 1.

    Raises:
        RedirectError: a file could not be opened.
    """
    slots = {0: given.stdin, 1: given.stdout, 2: given.stderr}
    with contextlib.ExitStack() as stack:
        for redirect in redirects:
            if redirect.operator in _DUPLICATES:
                slots[_target_slot(redirect)] = slots[int(redirect.target)]
                continue
            try:
                descriptor = os.open(os.path.join(cwd, redirect.target), _OPEN_FLAGS[redirect.operator] | os.O_CLOEXEC, 0o666)
            except OSError as error:
                say(slots[2], f"bash: line {line}: {redirect.target}: {os.strerror(error.errno or 0)}\n")
                raise RedirectError(redirect.target) from error
            stack.callback(os.close, descriptor)
            for slot in (1, 2) if redirect.operator in _BOTH else (_target_slot(redirect),):
                slots[slot] = descriptor
        yield Descriptors(slots[0], slots[1], slots[2])


def _target_slot(redirect: Redirect) -> int:
    if redirect.fd is not None:
        return redirect.fd
    return 0 if redirect.operator.startswith("<") else 1


def say(descriptor: int, text: str) -> None:
    """Write a message of ours where a program would write its own."""
    with contextlib.suppress(OSError):  # nobody reads it: bash would not fail either
        os.write(descriptor, os.fsencode(text))


_LIMITED = ("bash", "--norc", "--noprofile", "-c")
"""A bash that sets the limits and becomes the program: our own process could only limit itself."""


class Surroundings(Struct, frozen=True):
    """Where a stage runs."""

    cwd: str
    env: Mapping[str, str]
    ulimit: str = ""
    """Shell commands that set resource limits; empty for none."""
    directory: int | None = None
    """`cwd`, open, for when its name is gone; None where nobody holds it."""

    @property
    def start(self) -> str:
        """What a new process can change to."""
        if self.directory is None or sys.platform != "linux" or os.path.isdir(self.cwd):
            return self.cwd
        return f"/proc/self/fd/{self.directory}"


def start_program(program: str, argv: Sequence[str], descriptors: Descriptors, where: Surroundings) -> subprocess.Popen[bytes]:
    """Start the file `program` without a shell. Raises OSError as exec reports it."""
    return _start(argv, descriptors, replace(where, env=_as_bash_would(program, where.env)), program=program)


def _as_bash_would(program: str, env: Mapping[str, str]) -> dict[str, str]:
    """A program started by `bash -c` sees one level more and the path it was found at."""
    level = env.get("SHLVL", "0")
    return {**env, "SHLVL": str(int(level) + 1) if level.isdigit() else "1", "_": program}


def start_bash(text: str, descriptors: Descriptors, where: Surroundings) -> subprocess.Popen[bytes]:
    """Start bash with the text as it stands."""
    argv, extra = bash_argv(text)
    try:
        return _start(argv, descriptors, where, pass_fds=() if extra is None else (extra,))
    finally:
        if extra is not None:
            os.close(extra)


def _start(
    argv: Sequence[str],
    descriptors: Descriptors,
    where: Surroundings,
    *,
    program: str | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    if where.ulimit:
        argv, program = [*_LIMITED, f'{where.ulimit}; exec -a "$0" "$@"', argv[0], program or argv[0], *argv[1:]], None
    return subprocess.Popen(
        argv,
        executable=program,
        stdin=descriptors.stdin,
        stdout=descriptors.stdout,
        stderr=descriptors.stderr,
        cwd=where.start,
        env=where.env,
        start_new_session=True,
        pass_fds=pass_fds,
    )
