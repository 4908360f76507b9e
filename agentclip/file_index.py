"""Which files there are below a folder, for `@`: found on a thread, kept a while, searched by parts of their paths.

In: a folder, what a person typed. Out: paths relative to the folder, the likeliest first; folders end in a slash. In a git
repository what it ignores is left out. Names that no terminal may be sent (control characters, bytes that are no UTF-8) are
left out too. Must not know: prompts, screens.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import time
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from agentclip.foreign import FOREIGN_OR_TAB

MOST_FILES = 300_000
"""More are not looked at; those near the top come first when a folder is walked."""
PATIENCE_S = 10.0
"""What was found by then is all."""
STALE_S = 10.0
"""What is older is found anew when it is asked for; a search that took long counts tenfold."""
MOST_HITS = 1000
"""Lines that are weighed for one query."""
ENOUGH = 30
"""With so many paths that hold the letters together, those that hold them apart are not looked for."""
GIT = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
"""A file system monitor would be a program that the repository's own settings name."""
SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
"""Folders that nobody means, where there is no git to say so."""
_CHUNK = 1 << 18


class Names:
    """Paths, ready to be searched: those near the top and short ones first."""

    def __init__(self, names: Iterable[str]) -> None:
        ordered: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        for name in names:
            ordered[name.rstrip("/").count("/"), len(name)].append(name)
        self._names = [name for key in sorted(ordered) for name in ordered[key]]
        lowered = [name.lower() for name in self._names]
        self._text = "\n" + "\n".join(lowered) + "\n"
        self._starts = list(accumulate((len(name) + 1 for name in lowered), initial=1))

    def __len__(self) -> int:
        return len(self._names)

    def search(self, query: str, most: int) -> list[str]:
        """Paths that hold the letters of the query, at most `most`: together in the last part, together, in order."""
        query = query.lower()
        if not query or "\n" in query:
            return [] if query else self._names[:most]
        hits = dict.fromkeys(self._together(query))
        if len(hits) == MOST_HITS:  # there are more: those that begin with it must not be missed
            hits |= dict.fromkeys([*self._together(f"/{query}"), *self._together(f"\n{query}")])
        if len(hits) < ENOUGH and len(query) > 1:
            hits |= dict.fromkeys(self._apart(query))
        return [self._names[at] for at in sorted(hits, key=lambda at: self._weight(at, query))[:most]]

    def _together(self, query: str) -> Iterator[int]:
        """Indexes of the first lines with these letters."""
        position = 0
        for _ in range(MOST_HITS):
            position = self._text.find(query, position)
            if position < 0:
                return
            at = self._line(position + query.startswith("\n"))
            yield at
            position = self._starts[at + 1] - 1

    def _apart(self, query: str) -> Iterator[int]:
        first, *rest = (re.escape(letter) for letter in query[:64])
        pattern = re.compile(first + "".join(f"[^{letter}\n]*+{letter}" for letter in rest))
        for hit, _ in zip(pattern.finditer(self._text), range(MOST_HITS), strict=False):
            yield self._line(hit.start())

    def _line(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1

    def _weight(self, at: int, query: str) -> tuple[int, int]:
        path = self._names[at].lower()
        last = path.rstrip("/").rpartition("/")[2]
        if query in {path, path.rstrip("/"), last}:
            kind = 0
        elif last.startswith(query) or path.startswith(query):
            kind = 1
        elif query in last:
            kind = 2
        else:
            kind = 3 if query in path else 4
        return kind, at


class FileIndex:
    """Of the folder that was asked for last. May be asked on any thread."""

    def __init__(self, ready: Callable[[], None] = lambda: None, stale_s: float = STALE_S) -> None:
        """`ready` is called on a thread whenever files were found."""
        self._ready = ready
        self._keep_s = stale_s
        self._lock = threading.Lock()
        self._folder = ""
        self._names: Names | None = None
        self._stale_s = 0.0
        """Then it is to be found anew."""
        self._finding: threading.Thread | None = None

    def names(self, folder: str, wait_s: float = 0.0) -> Names | None:
        """What is known of the folder, and see to it that it does not get old; None when nothing is known yet.

        `wait_s`: how long to wait for the first time.
        """
        with self._lock:
            if folder != self._folder:
                self._folder, self._names, self._stale_s, self._finding = folder, None, 0.0, None
            if self._finding is None and time.monotonic() >= self._stale_s:
                self._finding = threading.Thread(target=self._find, args=[folder], name="files", daemon=True)
                self._finding.start()
            names, finding = self._names, self._finding
        if names is None and finding is not None and wait_s > 0:
            finding.join(wait_s)
            return self._names if folder == self._folder else None
        return names

    def _find(self, folder: str) -> None:
        began = time.monotonic()
        names = Names(with_folders(find_files(folder)))
        now = time.monotonic()
        with self._lock:
            if folder != self._folder:
                return
            self._names, self._finding = names, None
            self._stale_s = now + max(self._keep_s, 10 * (now - began))
        self._ready()


def find_files(folder: str) -> Iterator[str]:
    """Files below a folder: what git lists, else a walk. At most MOST_FILES, for at most PATIENCE_S."""
    until_s = time.monotonic() + PATIENCE_S
    listed = list(_listed(folder, until_s))
    found = iter(listed) if listed else _walked(folder, until_s)
    seen: set[str] = set()
    for name in found:
        if name not in seen and FOREIGN_OR_TAB.search(name) is None:
            seen.add(name)
            yield name
            if len(seen) == MOST_FILES:
                return


def with_folders(files: Iterable[str]) -> Iterator[str]:
    """The files, and every folder above them once, with a slash at its end."""
    seen: set[str] = set()
    for name in files:
        yield name
        folder = name.rpartition("/")[0]
        while folder and folder not in seen:
            seen.add(folder)
            yield f"{folder}/"
            folder = folder.rpartition("/")[0]


def _listed(folder: str, until_s: float) -> Iterator[str]:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        process = subprocess.Popen(
            GIT, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return
    assert process.stdout is not None
    # Whatever git is stuck at, it ends: a pipe has no reading with a limit of time.
    watch = threading.Timer(max(0.0, until_s - time.monotonic()), process.kill)
    watch.daemon = True
    watch.start()
    rest = b""
    try:
        while data := process.stdout.read(_CHUNK):
            *names, rest = (rest + data).split(b"\0")
            for name in names:
                yield os.fsdecode(name)
    finally:
        watch.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


def _walked(folder: str, until_s: float) -> Iterator[str]:
    """Level by level, so that a limit cuts off what is deepest; links are not followed."""
    waiting = deque([""])
    while waiting and time.monotonic() < until_s:
        below = waiting.popleft()
        with contextlib.suppress(OSError), os.scandir(os.path.join(folder, below)) as entries:
            for entry in entries:
                path = f"{below}{entry.name}"
                if not entry.is_dir(follow_symlinks=False):
                    yield path
                elif entry.name not in SKIPPED:
                    waiting.append(f"{path}/")
