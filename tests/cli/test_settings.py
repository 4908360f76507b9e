"""`agentclip config`: showing and changing settings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentclip import paths
from tests.cli.program import agentclip


def test_a_value_is_set_shown_and_taken_out(tmp_path: Path) -> None:
    done = agentclip("config", "set", "run.timeout_s", "7", cwd=tmp_path)
    assert (done.returncode, done.stdout.decode()) == (0, f"run.timeout_s = 7  ({paths.config_file()})\n")
    shown = json.loads(agentclip("config", "show", "run.timeout_s", "--json", cwd=tmp_path).stdout)
    assert shown == {"run.timeout_s": {"value": 7, "source": str(paths.config_file())}}
    assert agentclip("config", "unset", "run.timeout_s", cwd=tmp_path).stdout == b"run.timeout_s = 120  (default)\n"


def test_a_variable_that_goes_before_the_file_is_named(tmp_path: Path) -> None:
    done = agentclip("config", "set", "screen.theme", "paper", cwd=tmp_path, env={"AGENTCLIP_THEME": "night"})
    assert done.stdout.splitlines()[0] == b"screen.theme = night  (AGENTCLIP_THEME)"
    assert b"AGENTCLIP_THEME goes before" in done.stdout


def test_what_cannot_be_set_is_refused_with_what_is_allowed(tmp_path: Path) -> None:
    done = agentclip("config", "set", "model.tool_protocol", "xml", cwd=tmp_path)
    assert (done.returncode, b"Allowed: native, text" in done.stderr) == (78, True)
    done = agentclip("config", "set", "run.timeout", "7", cwd=tmp_path)
    assert (done.returncode, b"`run.timeout_s`" in done.stderr) == (78, True)


@pytest.mark.parametrize("words", ["config show", "exec pwd", "run x", "sessions list --here", "--line", ""])
def test_without_a_directory_nothing_begins(tmp_path: Path, words: str) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    line = f"cd {folder} && rmdir {folder} && exec {sys.executable} -P -m agentclip {words}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (78, "")
    assert "agentclip: the working directory is gone. Next: cd to one that exists" in done.stderr
    assert "Traceback" not in done.stderr
