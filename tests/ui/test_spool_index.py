from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentclip.ui.spool_index import BLOCK, CLIP, END, SpoolIndex

PIECES = st.sampled_from([b"", b"a", b"line", b"x" * 50, b"y" * (CLIP + 10), b"w" * (CLIP + END + 1), b"z" * (2 * BLOCK + 3)])


def indexed(path: Path, budget: int = 10**9) -> SpoolIndex:
    index = SpoolIndex(str(path))
    while index.extend(path.stat().st_size, budget):
        pass
    return index


def expected(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


@settings(deadline=None, max_examples=40)
@given(st.lists(PIECES, max_size=30), st.binary(max_size=3), st.integers(1, 40_000), st.data())
def test_lines_and_offsets_agree_with_the_file(pieces: list[bytes], tail: bytes, budget: int, choose: st.DataObject) -> None:
    data = b"".join(piece + b"\n" for piece in pieces) + tail
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cmd-1.txt"
        path.write_bytes(data)
        check(data, indexed(path, budget), choose)


def check(data: bytes, index: SpoolIndex, choose: st.DataObject) -> None:
    lines = expected(data)
    assert index.lines == len(lines)
    first = choose.draw(st.integers(0, len(lines) + 1))
    count = choose.draw(st.integers(0, 5))
    found = index.read(first, count)
    for line, whole in zip(found, lines[first : first + count], strict=True):
        if len(whole) <= CLIP + END:
            assert (line.data, line.left_out, line.end) == (whole, 0, b"")
        else:
            assert (line.data, line.end) == (whole[:CLIP], whole[-END:])
            assert line.left_out == len(whole) - CLIP - END
    offset = choose.draw(st.integers(0, len(data)))
    partial = bool(offset) and data[offset - 1 : offset] != b"\n"
    assert index.line_of(offset) == data[:offset].count(b"\n") + partial


def test_a_long_line_is_never_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "cmd-1.txt"
    path.write_bytes(b"x" * 10_000_000 + b"\nshort\n")
    found = indexed(path).read(0, 2)
    assert len(found[0].data) == CLIP
    assert found[0].left_out == 10_000_000 - CLIP - END
    assert found[0].end == b"x" * END
    assert found[1].data == b"short"


@pytest.mark.parametrize("shift", range(4))
def test_no_character_is_cut_in_two(tmp_path: Path, shift: int) -> None:
    path = tmp_path / "cmd-1.txt"
    data = b"x" * shift + "日😀é".encode() * 5_000 + b"y" * shift
    path.write_bytes(data)
    (line,) = indexed(path).read(0, 1)
    assert data == line.data + data[len(line.data) : -len(line.end)] + line.end
    assert line.left_out == len(data) - len(line.data) - len(line.end)
    assert set(line.data.decode() + line.end.decode()) <= set("xy日😀é")


def test_the_index_grows_with_the_file_and_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "cmd-1.txt"
    path.write_bytes(b"1\n" * 4_000_000)
    index = indexed(path)
    assert index.lines == 4_000_000
    assert len(index._before) == 8_000_000 // BLOCK + 1  # noqa: SLF001  the memory is the point
    with path.open("ab") as file:
        file.write(b"last")
    index.extend(path.stat().st_size)
    assert index.lines == 4_000_001
    assert index.tail(1)[0].data == b"last"


def test_a_file_that_is_gone_is_empty(tmp_path: Path) -> None:
    index = SpoolIndex(str(tmp_path / "none"))
    assert not index.extend(100)
    assert index.read(0, 5) == []
