"""Lines with words in files of any size, against a plain count."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from agentclip.ui.find import Words
from agentclip.ui.find_spool import BLOCK, StreamHits


def looked(path: Path, words: str) -> StreamHits:
    hits = StreamHits(str(path), path.stat().st_size, Words(words))
    hits.look(lambda: False)
    return hits


def numbers(data: bytes, words: str) -> list[int]:
    lines = data.decode().removesuffix("\n").split("\n")
    if words != words.lower():
        return [number for number, line in enumerate(lines) if words in line]
    return [number for number, line in enumerate(lines) if words in line.lower()]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("words", ["needle", "Needle", "été", "x"])
def test_hits_agree_with_a_plain_search(tmp_path: Path, seed: int, words: str) -> None:
    chance = random.Random(seed)
    pieces = ["needle", "Needle", "NEEDLE", "été", "ÉTÉ", "x", "y" * 50, "z" * chance.choice([10, 5000]), "中文"]
    parts: list[str] = []
    for _ in range(3000):
        parts.append(" ".join(chance.choices(pieces, k=chance.randrange(4))))
        if chance.random() < 0.002:
            parts[-1] += "w" * (2 * BLOCK) + chance.choice(["", "needle", "ÉTÉ"]) + "v" * BLOCK
    data = ("\n".join(parts) + chance.choice(["", "\n"])).encode()
    path = tmp_path / "spool"
    path.write_bytes(data)
    hits = looked(path, words)
    expected = numbers(data, words)
    assert hits.total == len(expected)
    assert [hits.line(number) for number in range(hits.total)] == expected
    for line in chance.choices(range(len(parts) + 2), k=50):
        assert hits.before(line) == sum(each < line for each in expected)


@pytest.mark.parametrize("seed", range(4))
def test_a_file_that_grows_is_looked_at_from_where_it_ended(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "spool"
    hits = StreamHits(str(path), 0, Words("hit"))
    data = b""
    for _ in range(30):
        more = b"".join(chance.choices([b"hit", b"no", b"\n", b" ", b"w" * BLOCK, b"h", b"it\n"], k=chance.randrange(1, 8)))
        data += more
        path.write_bytes(data)
        hits.grow(len(data))
        hits.look(lambda: False)
        lines = data.removesuffix(b"\n").split(b"\n")
        assert hits.total == sum(b"hit" in line for line in lines)
        assert hits.lines == data.count(b"\n") + (not data.endswith(b"\n"))


def test_words_over_the_edge_of_a_block_of_a_long_line_are_found(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    for offset in range(BLOCK - 8, BLOCK + 2):
        path.write_bytes(b"first\n" + b"w" * offset + b"nee\x1b[31mdle" + b"v" * 3 * BLOCK + b"\nlast needle\n")
        hits = looked(path, "needle")
        assert [hits.line(number) for number in range(hits.total)] == [1, 2]


def test_a_look_that_is_stopped_keeps_what_it_knows_and_says_that_more_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    path.write_bytes(b"hit\n" * BLOCK)
    hits = StreamHits(str(path), path.stat().st_size, Words("hit"))
    hits.look(lambda: hits.lines > 0)
    assert not hits.finished
    assert hits.before(10) == 10
    assert hits.before(hits.lines + 1) is None


def test_a_file_that_is_gone_has_no_hits(tmp_path: Path) -> None:
    hits = StreamHits(str(tmp_path / "nowhere"), 1000, Words("hit"))
    hits.look(lambda: False)
    assert (hits.finished, hits.total, hits.before(5)) == (True, 0, 0)
