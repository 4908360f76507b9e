"""Layer 1 against bash in the same run, as ratios: `python -m tests.benchmarks.layer1 [--quick]` prints one JSON document.

Machines are noisy: medians, both sides in turn, on the same disk.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentclip.command import CommandTable
from agentclip.events import Event, OutputGrew
from agentclip.results import ChainResult
from agentclip.shell.execute import Executor, Place, RunRequest

BASH = ("bash", "--norc", "--noprofile", "-c")
GIGABYTE = 1 << 30
MEGABYTE = 1 << 20


class Bench:
    """An executor in a folder, and bash beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        place = Place(folder / "session", str(folder), dict(os.environ), spool_limit_bytes=8 * GIGABYTE)
        self.executor = Executor(CommandTable(), place)

    def ours(self, line: str, on_event: Callable[[Event], None] = lambda _: None) -> ChainResult:
        handle = self.executor.prepare(line, RunRequest(timeout_s=None, on_event=on_event))
        handle.begin()
        result = handle.result()
        os.unlink(result.stdout.path)
        return result

    def bash(self, line: str) -> None:
        subprocess.run([*BASH, line], cwd=self.folder, check=False, stdin=subprocess.DEVNULL)

    def compare(self, ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> dict[str, float]:
        """Medians in seconds, taken in turn."""
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for work, taken in zip((ours, theirs), times, strict=True):
                began = time.perf_counter()
                work()
                taken.append(time.perf_counter() - began)
        mine, other = (statistics.median(taken) for taken in times)
        return {"ours_s": round(mine, 5), "bash_s": round(other, 5), "speed_ratio": round(other / mine, 3)}


def short_command(bench: Bench, rounds: int) -> dict[str, float]:
    """What one `true` costs beyond `bash -c true`."""
    found = bench.compare(lambda: bench.ours("true"), lambda: bench.bash("true"), rounds)
    return {**found, "added_ms": round((found["ours_s"] - found["bash_s"]) * 1000, 3)}


def three_stages(bench: Bench, size: int, rounds: int) -> dict[str, float]:
    """A large file through `cat f | grep x | wc -c`, and what it costs us in memory."""
    make = f"yes 'a line with an x in it and some more text' | head -c {size} > big"
    bench.bash(make)
    before = resident_mb()
    found = bench.compare(
        lambda: bench.ours("cat big | grep x | wc -c"), lambda: bench.bash("cat big | grep x | wc -c >count"), rounds
    )
    return {**found, "bytes": size, "memory_mb": round(resident_mb() - before, 1)}


def into_the_spool(bench: Bench, size: int, rounds: int) -> dict[str, float]:
    """Printed output into the spool, against the shell's own redirect into a new file."""
    line = f"head -c {size} /dev/zero | tr '\\0' x"

    def theirs() -> None:
        bench.bash(f"{line} > plain")
        (bench.folder / "plain").unlink()

    return {**bench.compare(lambda: bench.ours(line), theirs, rounds), "bytes": size}


def first_byte(bench: Bench, rounds: int) -> dict[str, float]:
    """From the start to the first byte in the spool, in milliseconds."""
    waits: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        seen: list[float] = []

        def grew(event: Event, began: float = began, seen: list[float] = seen) -> None:
            if isinstance(event, OutputGrew) and not seen:
                seen.append(time.perf_counter() - began)

        bench.ours("echo first; sleep 0.3", grew)
        waits.extend(seen)
    return {"median_ms": round(statistics.median(waits) * 1000, 2)}


def many(bench: Bench, count: int) -> dict[str, float]:
    """Short commands one after the other."""
    began = time.perf_counter()
    for number in range(count):
        bench.ours(f"echo {number}")
    return {"count": count, "per_command_ms": round((time.perf_counter() - began) / count * 1000, 3)}


def resident_mb() -> float:
    """Peak resident memory of this process so far, in MB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes and rounds")
    part = 10 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory(dir=os.getcwd(), prefix=".bench-") as folder:
        bench = Bench(Path(folder))
        results = {
            "true": short_command(bench, 200 // part),
            "three_stages": three_stages(bench, GIGABYTE // part, 3),
            "spool": into_the_spool(bench, 200 * MEGABYTE // part, 5),
            "first_byte": first_byte(bench, 20 // part),
            "short_commands": many(bench, 1000 // part),
        }
        bench.executor.close()
    sys.stdout.write(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
