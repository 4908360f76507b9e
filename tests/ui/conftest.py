"""Every test of the screen has folders of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.scripted import ScriptedAgent


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        folder = tmp_path / "own" / name
        folder.mkdir(parents=True)
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def agent(tmp_path: Path) -> ScriptedAgent:
    folder = tmp_path / "cmd-output"
    folder.mkdir()
    return ScriptedAgent(folder)
