"""How quick the prompt's files and history are: a JSON object.

    python -m tests.benchmarks.prompt

A tree of 100,000 files is found (in a git repository, and without one) and searched as a person types; a history of 50,000
entries is read and searched. Times in milliseconds.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from agentclip.file_index import FileIndex, Names
from agentclip.history import Entries, read_history, remember

FILES = 100_000
ENTRIES = 50_000
WORDS = ("src", "lib", "test", "main", "parser", "widget", "model", "agent", "history", "index", "config", "shell", "stream")
TYPED = ("parser", "main.py", "src/token", "agent_h", "tsthist", "engconf", "render77", "zzzz", "wdgtmdl", "e", "stream_9")
SEARCHED = ("fix the parser", "src", "zzzz", "token engine", "e", "run tests again", "!git status")


def make_tree(folder: Path, files: int = FILES) -> None:
    """Files with names that a project may have, 100 in each folder."""
    chance = random.Random(7)
    for number in range(files // 100):
        below = folder / chance.choice(WORDS) / f"{chance.choice(WORDS)}{number}"
        below.mkdir(parents=True)
        for each in range(100):
            (below / f"{chance.choice(WORDS)}_{chance.choice(WORDS)}{each}.py").touch()


def make_history(path: Path, entries: int = ENTRIES) -> None:
    """Entries of some words each, written as the program writes them."""
    chance = random.Random(7)
    remember(path, "the first")
    with path.open("a", encoding="utf-8") as file:
        for number in range(entries - 1):
            words = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(2, 20)))
            file.write(f"\n# 2026-01-01 00:00:00\n+{words} {number}\n")


def prefixes(texts: Iterable[str]) -> list[str]:
    """As they are typed, letter by letter."""
    return [text[:length] for text in texts for length in range(1, len(text) + 1)]


def times(queries: Iterable[str], search: Callable[[str], object]) -> dict[str, float]:
    """Median and 95th percentile over the queries; of each one the best of three, so that other programs count less."""
    found = sorted(1000 * min(timeit.repeat(partial(search, query), number=1, repeat=3)) for query in queries)
    return {"p50": round(found[len(found) // 2], 2), "p95": round(found[int(len(found) * 0.95)], 2), "max": round(found[-1], 2)}


def index_of(folder: Path) -> tuple[Names, float]:
    """The index of a folder, and how long it took."""
    began = time.perf_counter()
    names = FileIndex().names(str(folder), wait_s=60)
    assert names is not None
    return names, round(1000 * (time.perf_counter() - began))


def main() -> int:
    """Print the numbers."""
    with tempfile.TemporaryDirectory() as name:
        folder, history = Path(name, "tree"), Path(name, "state", "history")
        make_tree(folder)
        said: dict[str, object] = {}
        names, said["index of a plain folder"] = index_of(folder)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        _, said["index of a git repository, nothing added"] = index_of(folder)
        subprocess.run(["git", "add", "."], cwd=folder, check=True)
        _, said["index of a git repository"] = index_of(folder)
        said["paths"] = len(names)
        said["file query"] = times(prefixes(TYPED), lambda query: names.search(query, 200))
        make_history(history)
        began = time.perf_counter()
        entries = Entries()
        entries.share(read_history(history))
        said["history read"] = round(1000 * (time.perf_counter() - began))
        said["history search"] = times(prefixes(SEARCHED), entries.search)
        said["entries"] = len(entries.newest_first())
    sys.stdout.write(json.dumps(said, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
