from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentclip.commands.dialects import CAT, DIALECTS, HEAD, TAIL
from tests.commands.pictures import png


def run(argv: Sequence[str], cwd: Path, stdin: bytes = b"") -> bytes:
    """What Layer 1 does with a rewritten argv: start the program itself."""
    return subprocess.run(argv, cwd=cwd, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout


LINES = b"".join(b"%d\n" % number for number in range(1, 101))


def test_a_bare_number_is_a_number_of_lines(tmp_path: Path) -> None:
    assert run(HEAD.rewrite(["head", "3"], str(tmp_path)), tmp_path, LINES) == b"1\n2\n3\n"
    assert run(TAIL.rewrite(["tail", "2"], str(tmp_path)), tmp_path, LINES) == b"99\n100\n"


def test_a_bare_number_goes_with_files(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(LINES)
    assert run(HEAD.rewrite(["head", "2", "log"], str(tmp_path)), tmp_path) == b"1\n2\n"


def test_a_file_of_that_name_wins(tmp_path: Path) -> None:
    (tmp_path / "5").write_text("five\n")
    assert run(HEAD.rewrite(["head", "5"], str(tmp_path)), tmp_path, LINES) == b"five\n"


@pytest.mark.parametrize(
    "words",
    [[], ["-n", "3"], ["-3"], ["-c", "4"], ["log"], ["log", "3"], ["--", "3"], ["3x"], ["-n3", "3"], ["٣"], [""], ["+3"]],
)
def test_all_other_words_stay_as_they_are(tmp_path: Path, words: list[str]) -> None:
    for dialect in (HEAD, TAIL):
        assert dialect.rewrite([dialect.name, *words], str(tmp_path)) == [dialect.name, *words]


BINARY = {
    "png": png(4, 3),
    "nul": b"\0",
    "all bytes": bytes(range(256)),
    "utf-16": "text".encode("utf-16"),
    "controls": b"\x01\x02\x03abc",
    "no utf-8": b"\xff" * 9,
}
TEXT = {
    "empty": b"",
    "blank lines": b"one\n\ntwo\n",
    "any script": "ünï 😀\n".encode(),
    "colours": b"\x1b[31mred\x1b[0m\n",
    "long": ("é" * 40_000).encode(),
    "one stray byte": b"caf\xe9 is one stray byte\n",
}


@pytest.mark.parametrize("data", BINARY.values(), ids=BINARY)
@pytest.mark.parametrize("name", ["file.bin", "-dash", "with space"])
def test_cat_b_of_a_binary_file_is_its_base64(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    argv = CAT.rewrite(["cat", "-b", *(["--"] if name.startswith("-") else []), name], str(tmp_path))
    assert base64.b64decode(run(argv, tmp_path)) == data


@pytest.mark.parametrize("data", TEXT.values(), ids=TEXT)
def test_cat_b_of_a_text_file_numbers_its_lines(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "text").write_bytes(data)
    argv = CAT.rewrite(["cat", "-b", "text"], str(tmp_path))
    assert run(argv, tmp_path) == run(["cat", "-b", "text"], tmp_path)


@pytest.mark.parametrize(
    "line", ["file", "-n file", "-b", "-b file file", "-bE file", "-b missing", "-b folder", "-b fifo", "file -b file", "-b -b"]
)
def test_cat_is_left_alone_otherwise(tmp_path: Path, line: str) -> None:
    """The named pipe has no writer: looking into it would hang."""
    (tmp_path / "file").write_bytes(b"\0")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    argv = ["cat", *line.split()]
    assert CAT.rewrite(argv, str(tmp_path)) == argv


@pytest.mark.parametrize("word", ["nul\0", "half\ud83d", "x" * 5000], ids=["nul", "half", "long"])
def test_no_word_breaks_a_rewrite(tmp_path: Path, word: str) -> None:
    for dialect in DIALECTS:
        assert dialect.rewrite([dialect.name, "-b", word], str(tmp_path)) == [dialect.name, "-b", word]
        assert dialect.rewrite([dialect.name, word], str(tmp_path)) == [dialect.name, word]
