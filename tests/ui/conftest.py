"""Every test of the screen has an agent that it can tell what happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.scripted import ScriptedAgent


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORFGBG", raising=False)


@pytest.fixture
def agent(tmp_path: Path) -> ScriptedAgent:
    folder = tmp_path / "cmd-output"
    folder.mkdir()
    return ScriptedAgent(folder)
