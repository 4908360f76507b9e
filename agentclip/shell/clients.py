"""Our commands inside bash: small programs in a folder in front of PATH, and the Unix socket they call.

A client hands over its argv, directory, environment and its three descriptors; the command runs in this process on those
very descriptors, so loops, `xargs`, here-documents and `$(...)` work as with any program. A client that dies cancels
its command. Every run has the folder under a name of its own (a link to itself): by it a client tells whose command it is.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import shlex
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from agentclip.shell.process import Descriptors

CLIENT = """\
#!/bin/sh
exec {python} -IS {script} "$0" "$@"
"""

SCRIPT = """\
import array, json, os, socket, sys

def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    called_by, name = os.path.split(sys.argv[1])
    argv = [name, *sys.argv[2:]]
    call = {"run": os.path.basename(called_by), "argv": argv, "cwd": os.getcwd(), "env": dict(os.environ)}
    data = json.dumps(call).encode("utf-8", "surrogateescape")
    os.chdir(folder)  # a socket's path may hold 107 bytes: from here it is one word
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("socket")
        s.sendmsg([len(data).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
        s.sendall(data)
        for fd in (0, 1, 2):
            os.close(fd)  # the command holds them now: end of file and SIGPIPE follow it, not us
        answer = s.recv(1)
    os._exit(answer[0] if answer else 70)

main()
"""


class Call(Struct, frozen=True):
    """What a client asks for."""

    run: int
    """The number of the run it belongs to, which may have ended: then the client is a job's."""
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


Runner = Callable[[Call, Descriptors, threading.Event], int]
"""Runs one call on the descriptors (which stay the caller's) and returns the exit status."""


class Clients:
    """The folder and the server behind it."""

    def __init__(self, folder: Path, names: Sequence[str], runner: Runner) -> None:
        self.folder = folder
        self._runner = runner
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._write_programs(names)
        self._server = socket.socket(socket.AF_UNIX)
        self._bind(folder / "socket")
        self._server.listen(64)
        self._thread = threading.Thread(target=self._accept, name="clients", daemon=True)
        self._thread.start()

    def path_for(self, run: int) -> str:
        """The folder under the name that a run has it in its PATH."""
        name = self.folder / str(run)
        if not name.is_symlink():
            name.symlink_to(".")
        return str(name)

    def close(self) -> None:
        """No new calls; the programs are removed."""
        with contextlib.suppress(OSError):  # already shut down
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for file in self.folder.iterdir():
            file.unlink(missing_ok=True)
        self.folder.rmdir()

    def _write_programs(self, names: Sequence[str]) -> None:
        script = self.folder / "client.py"
        script.write_text(SCRIPT, encoding="utf-8")
        start = CLIENT.format(python=shlex.quote(sys.executable), script=shlex.quote(str(script)))
        for name in names:
            program = self.folder / name
            program.write_text(start, encoding="utf-8")
            program.chmod(0o700)

    def _bind(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            short = f"/proc/self/fd/{descriptor}/{path.name}"
            self._server.bind(short if sys.platform == "linux" else str(path))
        finally:
            os.close(descriptor)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="client call", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            call, descriptors = _receive(connection)
            if call is None or len(descriptors) != 3:
                _close(descriptors)
                return
            cancelled = threading.Event()
            watcher = threading.Thread(target=_watch, args=(connection, cancelled), daemon=True)
            watcher.start()
            try:
                status = self._runner(call, Descriptors(*descriptors), cancelled)
            finally:
                _close(descriptors)
            with contextlib.suppress(OSError):  # the client is gone: nobody to tell
                connection.sendall(bytes([status & 255]))
                connection.shutdown(socket.SHUT_RDWR)
            watcher.join()


def _receive(connection: socket.socket) -> tuple[Call | None, list[int]]:
    head, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    for descriptor in descriptors:
        fcntl.fcntl(descriptor, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    size, data = int.from_bytes(head, "big"), b""
    while len(head) == 8 and len(data) < size and (block := connection.recv(min(1 << 16, size - len(data)))):
        data += block
    try:
        fields = json.loads(data.decode("utf-8", "surrogateescape"))
        return Call(int(fields["run"]), tuple(fields["argv"]), fields["cwd"], fields["env"]), list(descriptors)
    except (ValueError, KeyError, TypeError):
        return None, list(descriptors)


def _watch(connection: socket.socket, cancelled: threading.Event) -> None:
    with contextlib.suppress(OSError):  # reset: the client is gone as well
        connection.recv(1)
    cancelled.set()


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
