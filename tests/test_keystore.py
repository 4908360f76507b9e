"""Stored keys: files that only their owner reads, found by variable."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agentclip.errors import ConfigError
from agentclip.keystore import KeyFile, check, put, remove, stored

SECRET = "ac-secret-222"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_is_stored_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "keys"
    before = os.umask(0)
    try:
        path = put(folder, "OPENAI_API_KEY", f"  {SECRET}\n")
    finally:
        os.umask(before)
    assert (mode(folder), mode(path)) == (0o700, 0o600)
    assert path.read_text() == f"{SECRET}\n"
    check(str(path))
    assert stored(folder) == {"OPENAI_API_KEY": KeyFile(path)}
    assert [each.name for each in folder.iterdir()] == ["OPENAI_API_KEY"]


def test_another_key_takes_the_place_of_one_that_was_open_to_others(tmp_path: Path) -> None:
    path = put(tmp_path, "XAI_API_KEY", "old")
    path.chmod(0o644)
    tmp_path.chmod(0o755)
    put(tmp_path, "XAI_API_KEY", "new")
    assert (mode(tmp_path), mode(path), path.read_text()) == (0o700, 0o600, "new\n")


@pytest.mark.parametrize("key", ["", "  \n", "two words", "two\nlines", "schlüssel", "a\x1b[31mb", "k" * 9000])
def test_what_cannot_be_a_key_is_refused_without_repeating_it(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        put(tmp_path / "keys", "XAI_API_KEY", key)
    assert not key.strip() or key.strip()[:3] not in str(refused.value)
    assert stored(tmp_path / "keys") == {}


@pytest.mark.parametrize("variable", ["", "../X", "x", "A B", ".X", "A" * 200])
def test_only_the_name_of_a_variable_becomes_a_file(tmp_path: Path, variable: str) -> None:
    with pytest.raises(ConfigError):
        put(tmp_path, variable, SECRET)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_may_touch_is_refused_with_the_remedy(tmp_path: Path, bits: int) -> None:
    path = put(tmp_path, "XAI_API_KEY", SECRET)
    path.chmod(bits)
    with pytest.raises(ConfigError, match=f"chmod 600 {path}"):
        check(str(path))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "XAI_API_KEY", 0o600)
    with pytest.raises(ConfigError, match="is no file"):
        check(str(tmp_path / "XAI_API_KEY"))
    with pytest.raises(ConfigError, match="cannot be read"):
        check(str(tmp_path / "NONE_API_KEY"))


def test_a_key_is_removed_once(tmp_path: Path) -> None:
    put(tmp_path, "XAI_API_KEY", SECRET)
    assert remove(tmp_path, "XAI_API_KEY")
    assert not remove(tmp_path, "XAI_API_KEY")
    assert not remove(tmp_path, "../XAI_API_KEY")


def test_without_a_folder_nothing_is_stored(tmp_path: Path) -> None:
    assert stored(tmp_path / "none") == {}
    (tmp_path / "file").touch()
    assert stored(tmp_path / "file") == {}
