"""A gigabyte is presented in constant memory, in the time that counting its lines takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentclip.present.presenter import present
from agentclip.results import Limits, StreamFile
from tests.present.runs import Run

GIGABYTE = 1 << 30
LOG = b"a line of a log, of the usual length and then some\n"
MEASURE = """
import resource, sys, time
from pathlib import Path
from msgspec.structs import replace
from agentclip.present.presenter import present
from agentclip.results import Limits, StreamFile
from tests.present.runs import Ran, Run
folder = Path(sys.argv[1])
result = Run(b"", [[Ran(status=1)]], number=1).result(folder)
present(result, Limits())
big = StreamFile(str(folder / "big.txt"), int(sys.argv[2]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.perf_counter()
shown = present(replace(result, stdout=big, stages=(replace(result.stages[0], stderr=big),)), Limits())
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, len(shown.text))
"""


def measured(folder: Path, size: int) -> tuple[float, int, int]:
    """Seconds, more memory in KB, and characters of the text, with the file as stdout and as stderr."""
    command = [sys.executable, "-c", MEASURE, str(folder), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    seconds, memory, length = done.stdout.split()
    return float(seconds), int(memory), int(length)


def fill(path: Path, piece: bytes, size: int) -> None:
    block = (piece * (1 + (1 << 20) // len(piece)))[: 1 << 20]
    with path.open("wb") as file:
        for _ in range(size >> 20):
            file.write(block)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("piece", [LOG, b"\n", b"x", "漢\r".encode(), b"\x1b]0;"])
def test_a_gigabyte_takes_no_memory(piece: bytes, tmp_path: Path) -> None:
    fill(tmp_path / "big.txt", piece, GIGABYTE)
    seconds, memory, length = measured(tmp_path, GIGABYTE)
    assert memory < 50 * 1024
    assert seconds < 60
    assert length < 100_000


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_gigabyte_of_zeros_is_one_line_of_advice(tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    big.touch()
    os.truncate(big, GIGABYTE)
    seconds, memory, length = measured(tmp_path, GIGABYTE)
    assert memory < 50 * 1024
    assert seconds < 60
    assert length < 1000


def test_fifty_megabytes_take_no_memory(tmp_path: Path) -> None:
    fill(tmp_path / "big.txt", LOG, 50 << 20)
    _, memory, length = measured(tmp_path, 50 << 20)
    assert memory < 20 * 1024
    assert length < 20_000


def test_no_line_of_the_middle_is_looked_at_by_itself(tmp_path: Path) -> None:
    """Measured against reading the same file and counting its lines, in the same process."""
    path = tmp_path / "big.txt"
    fill(path, LOG, 100 << 20)
    result = replace(Run().result(tmp_path), stdout=StreamFile(str(path), 100 << 20))
    counting, presenting = [], []
    for _ in range(3):
        began = time.perf_counter()
        with path.open("rb", buffering=0) as file:
            while block := file.read(1 << 20):
                block.count(b"\n")
        between = time.perf_counter()
        present(result, Limits())
        counting.append(between - began)
        presenting.append(time.perf_counter() - between)
    assert min(presenting) < 3 * min(counting) + 0.05
