"""How long Layer 2 takes for a large output, beside `wc -l` on the same file (both from the page cache).

`python -m tests.benchmarks.present_speed [MEGABYTES]` writes seconds, their ratio, and what was needed beyond counting lines.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from agentclip.present.excerpt import count_raw_lines
from agentclip.present.presenter import present
from agentclip.results import Limits, StreamFile
from tests.present.runs import Run

PIECES = {
    "log": b"2026-01-01T00:00:00 INFO a line of a log of the usual length\n",
    "short lines": b"12345\n",
    "empty lines": b"\n",
    "one line": b"x",
    "progress": "\rloading 漢 42%".encode(),
}


def best_of_three(work: Callable[[], object]) -> float:
    """Seconds of the fastest run."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def row(name: str, path: Path, size: int) -> str:
    """Measure one file."""
    stream = StreamFile(str(path), size)
    result = replace(Run().result(path.parent), stdout=stream)
    theirs = best_of_three(lambda: subprocess.run(["wc", "-l", str(path)], stdout=subprocess.DEVNULL, check=True))
    counting = best_of_three(lambda: count_raw_lines(stream))
    ours = best_of_three(lambda: present(result, Limits()))
    return f"{name:12} {theirs:7.3f} s {ours:7.3f} s {ours / theirs:6.1f}x {ours - counting:8.3f} s\n"


def main(megabytes: int) -> None:
    """Write one row for each kind of output."""
    sys.stdout.write(f"{megabytes} MB       wc -l    present   ratio   beyond counting\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.txt"
        for name, piece in PIECES.items():
            block = (piece * (1 + (1 << 20) // len(piece)))[: 1 << 20]
            with path.open("wb") as file:
                for _ in range(megabytes):
                    file.write(block)
            sys.stdout.write(row(name, path, megabytes << 20))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1024)
