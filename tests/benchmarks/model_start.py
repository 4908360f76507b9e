"""How fast the provider's process answers: from its start to the first token, and from the second request to its first token.

`python -m tests.benchmarks.model_start [RUNS]` prints medians beside `python -c pass` and `python -c 'import httpx'`.
Against the fake server, so the model itself costs nothing.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

from agentclip.messages import Conversation, UserMessage
from agentclip.model.catalog import ModelChoice, make_model
from agentclip.model.remote import WorkerModel
from tests.fake_model.server import FakeModel, text

CONVERSATION = Conversation("You are a test.", (UserMessage("hi"),), ())


async def first_token_s(model: WorkerModel) -> float:
    """Seconds until the first part; the rest of the reply is read too."""
    began = time.perf_counter()
    first = 0.0
    async with aclosing(model.reply(CONVERSATION)) as parts:
        async for _ in parts:
            first = first or time.perf_counter() - began
    return first


async def one_life(url: str, log: Path) -> tuple[float, float, float]:
    """From start to first token, the same for a second request, and the worker's peak memory in MB."""
    model = make_model(ModelChoice("fake-model", url), {}, log)
    assert isinstance(model, WorkerModel)
    cold = await first_token_s(model)
    warm = await first_token_s(model)
    peak = peak_mb(model.worker_pid)
    await model.aclose()
    return cold, warm, peak


def peak_mb(pid: int | None) -> float:
    """Most memory that a process has held."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def program_s(code: str) -> float:
    """Seconds of `python -c CODE`."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with FakeModel(lambda _: text("hello")) as server, tempfile.TemporaryDirectory() as folder:
        lives = [asyncio.run(one_life(server.url, Path(folder) / "worker.log")) for _ in range(runs)]
    cold, warm, peak = (statistics.median(column) for column in zip(*lives, strict=True))
    rows = [
        ("python -c pass", statistics.median(program_s("pass") for _ in range(runs))),
        ("python -c 'import httpx'", statistics.median(program_s("import httpx") for _ in range(runs))),
        ("start of the worker to first token", cold),
        ("second request to first token", warm),
    ]
    for name, seconds in rows:
        sys.stdout.write(f"{name:36} {seconds * 1000:7.1f} ms\n")
    sys.stdout.write(f"{'peak memory of the worker':36} {peak:7.1f} MB\n")


if __name__ == "__main__":
    main()
