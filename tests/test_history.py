from __future__ import annotations

import fcntl
import stat
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.history import FileHistory

from agentclip import history
from agentclip.history import Entries, read_history, remember

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5)


@given(TEXTS)
def test_entries_come_back_as_they_were(texts: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "history")
        for text in texts:
            remember(path, text)
        assert read_history(path) == texts


def test_prompt_toolkit_reads_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    for text in ("one", "two\n  lines\n", "+plus", "# no comment"):
        remember(path, text)
    theirs = FileHistory(path)
    assert list(theirs.load_history_strings())[::-1] == read_history(path)
    theirs.store_string("by them")
    assert read_history(path)[-1] == "by them"


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "history"
    remember(path, "secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_file_and_a_damaged_file_are_no_error(tmp_path: Path) -> None:
    path = tmp_path / "history"
    assert read_history(path) == []
    path.write_bytes(b"\xff\n+\xffgood\n\0\n+last")
    assert read_history(path) == ["\ufffdgood", "last"]


def test_a_file_that_grew_too_large_keeps_its_newer_half(tmp_path: Path) -> None:
    path = tmp_path / "history"
    for number in range(2000):
        remember(path, f"entry {number}\nof two lines", 20_000)
    assert path.stat().st_size <= 20_000 + 100
    entries = read_history(path)
    assert entries == [f"entry {number}\nof two lines" for number in range(2000 - len(entries), 2000)]
    assert len(entries) > 100
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["history"]


WRITER = """
import sys
from pathlib import Path
from agentclip import history
for number in range(int(sys.argv[3])):
    history.remember(Path(sys.argv[1]), f"{sys.argv[2]} {number} " + "x" * 100, 10**6)
"""


def test_programs_that_write_and_trim_at_once_lose_nothing_of_the_newer_half(tmp_path: Path) -> None:
    path = tmp_path / "history"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, "3000"]) for name in "abc"]
    assert [each.wait(timeout=100) for each in writers] == [0, 0, 0]
    entries = read_history(path)
    assert path.stat().st_size <= 10**6 + 1000
    assert len(entries) > 1000
    for name in "abc":
        numbers = [int(entry.split()[1]) for entry in entries if entry.startswith(name)]
        assert numbers == list(range(3000 - len(numbers), 3000)), "without a gap up to the last"
    assert all(entry.endswith(" " + "x" * 100) for entry in entries)


def test_a_lock_that_nobody_gives_back_costs_a_moment_and_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "history"
    remember(path, "one")
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remember(path, "two")
    assert read_history(path) == ["one", "two"]


def test_a_text_too_long_to_be_kept_pushes_nothing_out(tmp_path: Path) -> None:
    path = tmp_path / "history"
    remember(path, "one")
    remember(path, "x" * (history.MAX_ENTRY + 1))
    assert read_history(path) == ["one"]


def test_entries_are_newest_first_and_each_only_once() -> None:
    entries = Entries()
    assert (entries.newest_first(), entries.search("a")) == ([], [])
    entries.share(["old", "twice", "old"])
    assert entries.add("mine")
    assert not entries.add("mine")
    assert entries.add("twice")
    entries.put_before(["earlier here"])
    assert entries.newest_first() == ["twice", "mine", "earlier here", "old"]


def test_a_search_finds_entries_with_every_word() -> None:
    entries = Entries()
    entries.share(["Fix the parser", "fix tests", "the end", "parser and\nfix"])
    assert entries.search("FIX") == ["parser and\nfix", "fix tests", "Fix the parser"]
    assert entries.search("parser fix") == ["parser and\nfix", "Fix the parser"]
    assert entries.search("nothing") == []
    assert entries.search(" ") == entries.newest_first()
    entries.add("parser fix again")
    assert entries.search("parser fix")[0] == "parser fix again"
