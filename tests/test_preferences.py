"""Changing a setting: checked, written to the user's file, which keeps everything else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agentclip import config, paths
from agentclip.errors import ConfigError
from agentclip.preferences import Preferences

MINE = """# my file
[model]   # the model
name = "one"  # the first

# limits
[run]
timeout_s = 5
"""


@pytest.fixture
def preferences(tmp_path: Path) -> Preferences:
    return Preferences({}, tmp_path, {})


def own_file(text: str) -> Path:
    path = paths.config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_every_setting_is_a_row_that_says_where_its_value_came_from(tmp_path: Path) -> None:
    file = own_file('[model]\nname = "one"\n')
    rows = {row.key: row for row in Preferences({"AGENTCLIP_THEME": "paper"}, tmp_path, {"timeout_s": 9}).rows()}
    assert list(rows) == [f.metadata["key"] for f in config.declared()]
    assert all(row.doc for row in rows.values())
    assert (rows["model.name"].value, rows["model.name"].source, rows["model.name"].is_overridden) == ("one", str(file), False)
    assert (rows["screen.theme"].value, rows["screen.theme"].source) == ("paper", "AGENTCLIP_THEME")
    assert (rows["run.timeout_s"].value, rows["run.timeout_s"].source) == ("9", "--timeout")
    assert (rows["run.timeout_s"].default, rows["run.timeout_s"].is_overridden) == ("120", True)
    assert rows["model.stream"].choices == ("true", "false")
    assert rows["model.provider"].choices == ("direct", "litellm")


def test_what_was_typed_at_the_start_still_goes_before_the_file(tmp_path: Path) -> None:
    settings = config.load({}, tmp_path, {"theme": "paper"})
    row = Preferences.of(settings, {}, tmp_path).change("screen.theme", "night")
    assert (row.value, row.source, row.is_overridden) == ("paper", "--theme", True)
    assert config.load({}, tmp_path, {}).theme == "night"


def test_one_value_is_changed_and_every_other_line_stays(preferences: Preferences) -> None:
    file = own_file(MINE)
    preferences.change("model.name", "two")
    assert file.read_text() == MINE.replace('"one"', '"two"')
    preferences.change("run.timeout_s", "")
    assert file.read_text() == MINE.replace('"one"', '"two"').replace("timeout_s = 5\n", "")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("model.name", "a/b", "a/b"),
        ("run.timeout_s", " 7 ", 7),
        ("agent.max_cost_usd", "0.5", 0.5),
        ("loop.detection", "no", False),
        ("run.pass_env", "A, B", ("A", "B")),
        ("model.tool_protocol", "text", "text"),
        ("model.name", 'with "quotes" and \\ and 日本', 'with "quotes" and \\ and 日本'),
    ],
)
def test_what_was_typed_is_what_is_read(
    preferences: Preferences, tmp_path: Path, key: str, text: str, value: config.Value
) -> None:
    row = preferences.change(key, text)
    assert row.source == str(paths.config_file())
    assert getattr(config.load({}, tmp_path, {}), config.named(key).name) == value
    assert stat.S_IMODE(paths.config_file().stat().st_mode) == 0o600
    assert preferences.change(key, "").source == "default"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("run.timeout_s", "soon"),
        ("run.timeout_s", "0"),
        ("loop.detection", "maybe"),
        ("model.tool_protocol", "xml"),
        ("x.y", "1"),
    ],
)
def test_a_value_that_cannot_be_changes_nothing(preferences: Preferences, key: str, text: str) -> None:
    file = own_file(MINE)
    with pytest.raises(ConfigError):
        preferences.change(key, text)
    assert file.read_text() == MINE


@pytest.mark.parametrize("text", ["[run\n", "[run]\nno_such = 1\n", "model = 3\n", "\udcff"])
def test_a_file_that_is_wrong_already_is_left_to_the_person(preferences: Preferences, text: str) -> None:
    file = own_file("")
    file.write_bytes(os.fsencode(text))
    with pytest.raises(ConfigError, match=str(file)):
        preferences.change("run.timeout_s", "7")
    assert file.read_bytes() == os.fsencode(text)


def test_a_linked_file_stays_linked_and_keeps_its_mode(preferences: Preferences, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "agentclip.toml"
    real.parent.mkdir()
    real.write_text(MINE)
    real.chmod(0o640)
    link = paths.config_file()
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    preferences.change("model.name", "two")
    assert link.is_symlink()
    assert '"two"' in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [each.name for each in real.parent.iterdir()] == [real.name]
