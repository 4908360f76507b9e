from __future__ import annotations

from pathlib import Path

import pytest

from agentclip.ui.spool_index import SpoolIndex
from agentclip.ui.spool_rows import SpoolRows


class Spool:
    """Two files that grow."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "cmd-1.txt"
        self.err = folder / "cmd-1.0.err"
        self.rows = SpoolRows(SpoolIndex(str(self.out)))
        self.out.write_bytes(b"")
        self.err.write_bytes(b"")

    def write(self, path: Path, text: str) -> None:
        with path.open("ab") as file:
            file.write(text.encode())
        self.rows.grew(None if path is self.out else 0, str(path), path.stat().st_size)

    def shown(self) -> list[str]:
        while self.rows.advance(7):
            pass
        return read(self.rows)


def test_a_file_that_is_gone_is_named_and_nothing_is_waited_for(tmp_path: Path) -> None:
    rows = SpoolRows(SpoolIndex(str(tmp_path / "cmd-1.txt")))
    (tmp_path / "cmd-1.0.err").write_text("e1\n")
    rows.grew(None, str(tmp_path / "cmd-1.txt"), 9)
    rows.grew(0, str(tmp_path / "cmd-1.0.err"), 3)
    assert not rows.advance(100)
    assert rows.lost == str(tmp_path / "cmd-1.txt")
    assert read(rows) == ["! e1"]
    (tmp_path / "cmd-1.txt").write_text("one\ntwo\nx")
    assert not rows.advance(100)
    assert rows.lost is None


def read(rows: SpoolRows) -> list[str]:
    found = rows.read(0, rows.total + 5)
    assert len(found) == rows.total
    return [("! " if row.stage is not None else "") + row.raw.data.decode() for row in found]


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path)


def test_stderr_stands_where_it_came(spool: Spool) -> None:
    spool.write(spool.out, "one\ntwo\n")
    spool.write(spool.err, "warning\n")
    spool.write(spool.out, "three\n")
    assert spool.shown() == ["one", "two", "! warning", "three"]


def test_a_line_torn_between_two_moments_is_one_row(spool: Spool) -> None:
    spool.write(spool.out, "on")
    spool.write(spool.err, "warning\n")
    spool.write(spool.out, "e\ntwo\n")
    assert spool.shown() == ["one", "! warning", "two"]


def test_rows_are_found_again_by_their_line(spool: Spool) -> None:
    spool.write(spool.out, "one\n")
    spool.write(spool.err, "w1\nw2\n")
    spool.write(spool.out, "two\nthree\n")
    assert spool.shown() == ["one", "! w1", "! w2", "two", "three"]
    assert [spool.rows.row_of(line) for line in range(3)] == [0, 3, 4]
    assert [row.raw.data for row in spool.rows.read(2, 2)] == [b"w2", b"two"]


def test_the_index_file_gives_the_order_back(spool: Spool) -> None:
    spool.write(spool.out, "one\ntwo\n")
    spool.write(spool.err, "w\n")
    spool.write(spool.out, "three\n")
    index = spool.out.with_suffix(".idx")
    index.write_text("0.1 4\nrubbish\n0.2 8 0:2\n0.3 14 0:2\n0.4 x y\n")
    rows = SpoolRows(SpoolIndex(str(spool.out)))
    rows.replay(index)
    rows.grew(None, str(spool.out), 14)
    rows.grew(0, str(spool.err), 2)
    while rows.advance(3):
        pass
    assert read(rows) == ["one", "two", "! w", "three"]


def test_without_an_index_file_stderr_comes_last(spool: Spool) -> None:
    spool.out.write_bytes(b"one\n")
    spool.err.write_bytes(b"w\n")
    spool.rows.replay(spool.out.with_suffix(".idx"))
    spool.rows.grew(None, str(spool.out), 4)
    spool.rows.grew(0, str(spool.err), 2)
    assert spool.shown() == ["one", "! w"]
