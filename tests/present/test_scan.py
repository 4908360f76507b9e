from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentclip.present.scan import BLOCK_BYTES, LINE_EDGE_BYTES, Lines, Spool, WideSpool

LENGTHS = st.sampled_from(
    [0, 1, 2, 80, LINE_EDGE_BYTES - 1, LINE_EDGE_BYTES, LINE_EDGE_BYTES + 1, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES + 3]
)
reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)


@given(lengths=st.lists(LENGTHS, max_size=6), ended=st.booleans(), taken=st.integers(0, 7))
@reuse
def test_lines_are_those_of_the_bytes_and_the_rest_is_counted(
    tmp_path: Path,
    lengths: list[int],
    *,
    ended: bool,
    taken: int,
) -> None:
    lines = [bytes([97 + number % 26]) * length for number, length in enumerate(lengths)]
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    whole = data.splitlines()
    path = tmp_path / "spool"
    path.write_bytes(data)
    with Spool(str(path), len(data)) as spool:
        reader = Lines(spool, "utf-8")
        for number, raw in zip(range(taken), reader, strict=False):
            assert raw.head == whole[number][:LINE_EDGE_BYTES]
            assert raw.chars == (len(whole[number]) if len(whole[number]) > LINE_EDGE_BYTES else None)
            if raw.chars is not None:
                assert raw.tail == whole[number][-LINE_EDGE_BYTES:]
            assert raw.ended == (number < len(whole) - 1 or data.endswith(b"\n"))
        assert reader.taken + reader.count_rest() == len(whole)


def test_characters_of_a_long_line_are_counted_over_the_borders_of_blocks(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    path.write_bytes(b"x" + "漢😀é".encode() * 100_000)
    with Spool(str(path), path.stat().st_size) as spool:
        [line] = Lines(spool, "utf-8")
    assert line.chars == 300_001


def test_what_a_job_writes_behind_the_result_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    path.write_bytes(b"mine\nmine\nnot mine\n")
    with Spool(str(path), 10) as spool:
        assert [line.head for line in Lines(spool, "utf-8")] == [b"mine", b"mine"]
        assert spool.end(100) == (b"mine\nmine\n", True)
    with Spool(str(path), 10) as spool:
        assert Lines(spool, "utf-8").count_rest() == 2


def test_a_named_pipe_in_place_of_a_spool_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        Spool(str(path), 10)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_wide_lines_are_counted_in_characters(codec: str, tmp_path: Path) -> None:
    # U+0A0A and U+010A hold the byte of a line end.
    text = "\u0a0a\u010a line\n" * 70_000 + "end"
    path = tmp_path / "spool"
    path.write_bytes(text.encode(codec) + b"\0")
    with WideSpool(str(path), path.stat().st_size, codec) as spool:
        lines = Lines(spool, "utf-8")
        assert next(iter(lines)).head.decode() == "\u0a0a\u010a line"
        assert lines.taken + lines.count_rest() == 70_001
        assert spool.end(64)[0].decode().splitlines()[-2] == "\u0a0a\u010a line"
