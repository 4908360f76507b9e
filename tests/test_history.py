from __future__ import annotations

import stat
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.history import FileHistory

from agentclip.history import read_history, remember

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
