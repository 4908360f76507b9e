"""Spools: kernel pipes moved into files, whole and unchanged, by one thread per run.

Programs get the pipe, never the file: `echo one; echo two >/dev/stdout` would truncate a file. Nothing waits for end of file:
a background job may hold a pipe for ever, and its output keeps flowing into the spool.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

BLOCK = 1 << 20
PIPE_BYTES = 1 << 20
REPORT_EVERY_S = 0.1
TRICKLE_BYTES = 1 << 16
GATHER_MS = 1
"""How long a trickle gathers in the pipe before it is moved: a program that writes 4 KB at a time would wake us each time."""
_F_SETPIPE_SZ = 1031
_NO_SPLICE = frozenset({errno.EINVAL, errno.ENOSYS})


class Growth(Protocol):
    """Told when a spool grew, a few times per second at most, from the spool's thread."""

    def __call__(self, stage: int | None, path: str, size: int) -> None:
        """`stage` is None for stdout."""


class Stream:
    """One pipe and the file behind it."""

    def __init__(self, stage: int | None, path: Path) -> None:
        self.stage = stage
        self.path = path
        self.size = 0
        self.reported = 0
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        with contextlib.suppress(OSError):  # a limit of the user's pipes: smaller pipes work as well
            fcntl.fcntl(self.write_end, _F_SETPIPE_SZ, PIPE_BYTES)
        self._file: int | None = None

    def pending(self) -> int:
        """Bytes that are in the pipe now."""
        return int(struct.unpack("i", fcntl.ioctl(self.read_end, termios.FIONREAD, b"\0" * 4))[0])

    def move(self, at_most: int) -> int:
        """Move what is there, at most that many bytes; 0 at end of file. Raises BlockingIOError when there is nothing."""
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        moved = move_bytes(self.read_end, self._file, at_most)
        self.size += moved
        return moved

    def close_write_end(self) -> None:
        """Nobody else will be given this pipe."""
        # Forgotten before it is closed: the close lets the spool's thread see the end of file, and close this too.
        descriptor, self.write_end = self.write_end, -1
        if descriptor >= 0:
            os.close(descriptor)

    def close(self) -> None:
        """The writers are gone, or get SIGPIPE from now on."""
        self.close_write_end()
        for descriptor in (self.read_end, self._file):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self.read_end, self._file = -1, None


def move_bytes(source: int, target: int, at_most: int) -> int:
    """Pipe to file without a copy where the kernel can splice."""
    if hasattr(os, "splice"):
        try:
            return os.splice(source, target, at_most, flags=os.SPLICE_F_NONBLOCK)
        except OSError as error:
            if error.errno not in _NO_SPLICE:
                raise
    data = os.read(source, min(at_most, 1 << 16))
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
    return len(data)


class Spool:
    """The streams of one run and the thread that moves them."""

    def __init__(self, stem: Path, limit_bytes: int, on_growth: Growth, on_limit: Callable[[str], None]) -> None:
        self._stem = stem
        """`<folder>/cmd-N`, without an ending."""
        self._limit = limit_bytes
        self._on_growth = on_growth
        self._on_limit = on_limit
        """Called once, from the spool's thread: with "" at the limit, with the reason when the disk refuses."""
        self._stopped = False
        self._started = time.monotonic()
        self._last_report = 0.0
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._woken = select.poll()
        self._woken.register(self._wake_read, select.POLLIN)
        self._lock = threading.Lock()
        self._new: list[Stream] = []
        self._open: dict[int, Stream] = {}
        self._drain_wanted = False
        self._drained = threading.Event()
        self._closing = False
        self._index = os.open(f"{stem}.idx", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self.streams: list[Stream] = []
        self.stdout = self.add(None)
        # The file is there from the start: panes and the model may name it before the first byte.
        os.close(os.open(self.stdout.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        self._thread = threading.Thread(target=self._pump, name=f"spool {stem.name}", daemon=True)
        self._thread.start()

    def add(self, stage: int | None) -> Stream:
        """A new stream; the caller gives `write_end` away and then calls `close_write_end`."""
        ending = ".txt" if stage is None else f".{stage}.err"
        stream = Stream(stage, self._stem.with_name(self._stem.name + ending))
        with self._lock:
            self._new.append(stream)
        self.streams.append(stream)
        self._wake()
        return stream

    def drain(self) -> None:
        """Return once everything that was in the pipes at the call is in the files."""
        with self._lock:
            if self._wake_write < 0:
                return
            self._drained.clear()
            self._drain_wanted = True
        self._wake()
        self._drained.wait()

    def close(self) -> None:
        """Stop moving; writers that are left get SIGPIPE."""
        with self._lock:
            self._closing = True
        self._wake()
        self._thread.join()

    def finish_when_idle(self) -> bool:
        """After the run: close at once unless somebody still holds a pipe; True when closed."""
        self._wake()
        self._thread.join(0.001 if self._open else None)
        return not self._thread.is_alive()

    def _wake(self) -> None:
        with self._lock:
            if self._wake_write >= 0:
                os.write(self._wake_write, b"w")

    def _pump(self) -> None:
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        try:
            while self._serve(poller):
                pass
        finally:
            self._report()
            for stream in self._open.values():
                stream.close()
            with self._lock:
                for descriptor in (self._wake_read, self._wake_write, self._index):
                    os.close(descriptor)
                self._wake_write = -1
            self._drained.set()

    def _serve(self, poller: select.poll) -> bool:
        moved = 0
        for descriptor, _ in poller.poll(self._poll_timeout_ms()):
            if descriptor == self._wake_read:
                os.read(self._wake_read, 4096)
            else:
                moved += self._move(self._open[descriptor], BLOCK, poller)
        if 0 < moved < TRICKLE_BYTES:
            self._woken.poll(GATHER_MS)
        with self._lock:
            new, self._new = self._new, []
            drain, self._drain_wanted = self._drain_wanted, False
            closing = self._closing
        for stream in new:
            self._open[stream.read_end] = stream
            poller.register(stream.read_end, select.POLLIN)
        if drain:
            self._drain_now(poller)
        if time.monotonic() - self._last_report >= REPORT_EVERY_S:
            self._report()
        return not closing and bool(self._open or self.stdout.write_end >= 0)

    def _poll_timeout_ms(self) -> float | None:
        if all(stream.reported == stream.size for stream in self._open.values()):
            return None
        return max(0.0, self._last_report + REPORT_EVERY_S - time.monotonic()) * 1000 + 1

    def _drain_now(self, poller: select.poll) -> None:
        for stream in list(self._open.values()):
            left = stream.pending()
            # Not until it is empty: a job may print for ever.
            while left > 0 and (moved := self._move(stream, left, poller)) > 0:
                left -= moved
        self._report()
        self._drained.set()

    def _move(self, stream: Stream, at_most: int, poller: select.poll) -> int:
        room = self._limit - stream.size
        try:
            if self._stopped or room <= 0:
                self._stop("")
                # What comes now is not kept, but its writer must be able to end.
                moved = len(os.read(stream.read_end, 1 << 16))
            else:
                moved = stream.move(min(at_most, room))
        except BlockingIOError:
            return 0
        except OSError as error:
            self._stop(f"cannot write {stream.path}: {os.strerror(error.errno or 0)}")
            return 1
        if moved == 0:
            poller.unregister(stream.read_end)
            del self._open[stream.read_end]
            stream.close()
        return moved

    def _stop(self, reason: str) -> None:
        if not self._stopped:
            self._stopped = True
            self._on_limit(reason)

    def _report(self) -> None:
        grown = [stream for stream in self.streams if stream.size != stream.reported]
        if not grown:
            return
        self._last_report = time.monotonic()
        for stream in grown:
            stream.reported = stream.size
            self._on_growth(stream.stage, str(stream.path), stream.size)
        sizes = " ".join(f"{s.stage}:{s.size}" for s in self.streams if s.stage is not None and s.size)
        line = f"{self._last_report - self._started:.3f} {self.stdout.size} {sizes}".rstrip() + "\n"
        with contextlib.suppress(OSError):  # a full disk: the run says so already
            os.write(self._index, line.encode())
