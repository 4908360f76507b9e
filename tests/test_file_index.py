from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.file_index import FileIndex, Names, find_files, with_folders


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def test_git_says_which_files_there_are(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*.o\nbuild/\n")
    make(tmp_path, "a.c", "a.o", "build/x", "sub/new.c", "sub/.env")
    git(tmp_path, "add", "a.c")
    assert set(find_files(str(tmp_path))) == {".gitignore", "a.c", "sub/new.c", "sub/.env"}
    assert set(find_files(str(tmp_path / "sub"))) == {"new.c", ".env"}, "paths begin at the folder itself"


def test_a_repository_cannot_have_a_program_run(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(hook))
    assert set(find_files(str(tmp_path))) == {"hook"}
    assert not (tmp_path / "ran").exists()


def test_without_git_the_folder_is_walked_but_for_what_nobody_means(tmp_path: Path) -> None:
    make(tmp_path, "a", "d/b", "d/e/c", "node_modules/x/y", ".hidden")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert list(find_files(str(tmp_path)))[-1] == "d/e/c"
    assert set(find_files(str(tmp_path))) == {"a", ".hidden", "d/b", "d/e/c", "loop"}


@pytest.mark.parametrize("repository", [False, True])
def test_names_that_are_no_text_or_act_on_a_terminal_are_left_out(tmp_path: Path, *, repository: bool) -> None:
    if repository:
        git(tmp_path, "init", "-q")
    make(tmp_path, "good 日本語")
    for name in (b"\xff\xfe", b"a\x1b[31m", b"a\nb", b"a\tb", "a\u202eb".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).touch()
    assert list(find_files(str(tmp_path))) == ["good 日本語"]


def test_a_folder_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert list(find_files(str(tmp_path / "nothing"))) == []


def test_every_folder_is_named_once() -> None:
    assert list(with_folders(["a/b/c", "a/b/d", "e"])) == ["a/b/c", "a/b/", "a/", "a/b/d", "e"]


def test_the_last_part_counts_most_and_what_is_near_comes_first() -> None:
    names = Names(["lib/prompt/other.py", "deep/er/prompt.py", "ui/prompt.py", "ui/test_prompt.py", "p/r/o/m/p/t", "prompt"])
    assert names.search("prompt", 9) == [
        "prompt",
        "ui/prompt.py",
        "deep/er/prompt.py",
        "ui/test_prompt.py",
        "lib/prompt/other.py",
        "p/r/o/m/p/t",
    ]
    assert names.search("uip", 9) == ["ui/prompt.py", "ui/test_prompt.py"]
    assert names.search("UI/P", 1) == ["ui/prompt.py"]
    assert names.search("", 2) == ["prompt", "ui/prompt.py"]
    assert names.search("zzz", 9) == names.search("a\nb", 9) == Names([]).search("a", 9) == []


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)), st.text(max_size=4))
def test_what_is_found_holds_the_letters_in_order(names: list[str], query: str) -> None:
    for found in Names(names).search(query, 50):
        assert found in names
        letters = iter(found.lower())
        assert all(letter in letters for letter in query.lower())


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1), max_size=20), st.data())
def test_whatever_a_name_holds_together_finds_it(names: list[str], data: st.DataObject) -> None:
    if not names:
        return
    name = data.draw(st.sampled_from(names))
    begin = data.draw(st.integers(0, len(name) - 1))
    query = name[begin : data.draw(st.integers(begin + 1, len(name)))]
    if query.lower() in name.lower():
        assert name in Names(names).search(query, 100)


def test_the_index_is_made_in_the_background_and_again_when_it_is_old(tmp_path: Path) -> None:
    make(tmp_path, "one")
    found = threading.Semaphore(0)
    index = FileIndex(found.release, stale_s=0.0)
    assert index.names(str(tmp_path)) is None
    assert found.acquire(timeout=60)
    make(tmp_path, "two")
    deadline = time.monotonic() + 60
    while (names := index.names(str(tmp_path))) is None or names.search("two", 9) != ["two"]:
        assert names is not None, "the old ones are known meanwhile"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_another_folder_has_its_own_files(tmp_path: Path) -> None:
    make(tmp_path, "a/one", "b/two")
    index = FileIndex()
    for folder, name in (("a", "one"), ("b", "two"), ("a", "one")):
        names = index.names(str(tmp_path / folder), wait_s=60)
        assert names is not None
        assert names.search("", 9) == [name]


def test_a_hundred_thousand_files_are_found_and_searched_in_time() -> None:
    from tests.benchmarks.prompt import TYPED, prefixes, times

    names = Names(
        f"{first}/{second}/file_{third}.py" for first in "abcdefghij" for second in range(100) for third in range(100)
    )
    assert len(names) == 100_000
    assert times(prefixes(TYPED), lambda query: names.search(query, 200))["p95"] < 500, "a guard; the benchmark measures"
