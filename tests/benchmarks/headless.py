"""What one answer costs, whole process: `python -m tests.benchmarks.headless [RUNS]`.

Medians of RUNS (10), interleaved with `python -c pass` and `python -c 'import httpx'`, against the fake server, so the model
itself costs nothing. What lies between two steps is the time from the last byte of an answer to the next request, without
the time that the command ran. Memory is the peak of the sum over the program and the provider's process.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.installed import keep_compiled
from tests.fake_model.server import FakeModel, run, text

STEPS = 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def seconds(*command: str, **env: str) -> float:
    """Wall time of a command that must succeed."""
    began = time.perf_counter()
    subprocess.run(command, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def peak_mb(*command: str) -> float:
    """Highest sum of resident memory over a command and all that it started."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(resident(pid) for pid in (process.pid, *children(process.pid))))
            time.sleep(0.002)
    return peak / 1e6


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with FakeModel(lambda _: text("hello")) as server, tempfile.TemporaryDirectory() as home:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            os.environ[name] = home
        keep_compiled(f"{home}/compiled")
        agentclip = (sys.executable, "-m", "agentclip")
        ask = (*agentclip, "run", "hi", "--model", "fake-model", "--api-base", server.url)
        rows: dict[str, Callable[[], float]] = {
            "python -c pass": lambda: seconds(sys.executable, "-c", "pass"),
            "python -c 'import httpx'": lambda: seconds(sys.executable, "-c", "import httpx"),
            "one answer": lambda: seconds(*ask),
            "one answer, a key in the environment": lambda: seconds(*ask, AGENTCLIP_API_KEY="k"),
            "agentclip --version": lambda: seconds(*agentclip, "--version"),
            "agentclip --version, with a key": lambda: seconds(*agentclip, "--version", AGENTCLIP_API_KEY="k"),
        }
        seconds(*ask)
        taken: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(runs):
            for name, measure in rows.items():
                taken[name].append(measure())
        first_bytes = len(server.requests[0].raw)
        memory = peak_mb(*ask)
    for name, all_s in taken.items():
        sys.stdout.write(f"{name:40} {statistics.median(all_s) * 1000:8.1f} ms   (best {min(all_s) * 1000:.1f})\n")
    sys.stdout.write(f"{'peak memory, both processes':40} {memory:8.1f} MB\n{'first request':40} {first_bytes:8} bytes\n")
    for name, values in steps().items():
        sys.stdout.write(f"{name:40} {statistics.median(values) * 1000:8.1f} ms   (best {min(values) * 1000:.1f})\n")


def steps() -> dict[str, list[float]]:
    """Of each step of a turn of short commands: from request to request, and the parts of that."""
    script = [*(run(f"echo {n}") for n in range(STEPS)), text("done")]
    with FakeModel(script) as server, tempfile.TemporaryDirectory() as folder:
        command = (sys.executable, "-m", "agentclip", "run", "go", "--model", "m", "--api-base", server.url)
        seconds(*command, XDG_STATE_HOME=folder)
        (log,) = Path(folder).glob("agentclip/sessions/*/events.jsonl")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        commands = [line["result"]["duration_s"] for line in lines if line["type"] == "CommandFinished"]
        system = server.requests[0].messages[0]  # the judge of progress asks meanwhile, with other words
        pairs = list(itertools.pairwise(request for request in server.requests if request.messages[0] == system))
    whole = [later.time - earlier.time for earlier, later in pairs]
    after = [later.time - (earlier.answered_at or earlier.time) for earlier, later in pairs]
    between = [total - command_s for total, command_s in zip(after, commands, strict=True)]
    return {
        f"a step, of {STEPS}: request to request": whole,
        "  the model's answer": [total - rest for total, rest in zip(whole, after, strict=True)],
        "  the command": commands,
        "  between: neither of the two": between,
    }


if __name__ == "__main__":
    main()
