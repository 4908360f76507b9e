"""docs/extending.md: its very example, installed and used as it says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.program import agentclip, document_of
from tests.commands.plugged import documented, install, install_documented


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    folder = tmp_path / "site"
    folder.mkdir()
    install_documented(folder)
    return {"PYTHONPATH": str(folder)}


def test_the_lines_of_the_page_print_what_it_says(tmp_path: Path, env: Mapping[str, str]) -> None:
    said = re.split(r"^\$ agentclip exec '(.*)'$\n", documented()["console"], flags=re.MULTILINE)
    assert len(said) == 5
    for line, shown in zip(said[1::2], said[2::2], strict=True):
        done = agentclip("exec", line, cwd=tmp_path, env=env)
        assert re.sub(r"\d+ms", "Nms", done.stdout.decode()) == re.sub(r"\d+ms", "Nms", shown)


def test_it_is_listed_helped_piped_and_looped_like_ours(tmp_path: Path, env: Mapping[str, str]) -> None:
    described = agentclip("exec", "--print-tool-description", cwd=tmp_path, env=env)
    assert b"\nroll \xe2\x80\x94 Roll dice: roll 2d6\n" in described.stdout
    line = "help roll | head 1; help | grep -c '^  roll '; roll -n 50 2d6 | sort -n | head -1"
    shown = agentclip("exec", line, cwd=tmp_path, env=env).stdout.decode().splitlines()
    assert shown[:2] == ["roll — Roll dice: roll 2d6", "1"]
    assert 2 <= int(shown[2]) <= 12
    looped = agentclip("exec", "for i in 1 2 3; do roll ${i}d1; done | xargs -I{} roll {}d1", cwd=tmp_path, env=env)
    assert looped.stdout.startswith(b"1\n2\n3\n[exit:0 | ")
    said = document_of("exec", "--json", "rol 2d6", cwd=tmp_path, env=env)
    assert said["error"]["details"]["near"].split()[0] == "roll"


def test_a_broken_one_is_a_warning_beside_the_result(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "broken", {"bad": "ac_plug_bad:Bad"})
    env = {"PYTHONPATH": str(folder)}
    done = agentclip("exec", "echo fine", cwd=tmp_path, env=env)
    assert done.stdout.startswith(b"fine\n[exit:0 | ")
    assert done.stderr.decode().splitlines() == [
        "agentclip: plug-in bad (ac_plug_bad:Bad) is left out: ModuleNotFoundError: No module named 'ac_plug_bad'"
    ]
    said = document_of("exec", "--json", "echo fine", cwd=tmp_path, env=env)
    assert [row["code"] for row in said["warnings"]] == ["PLUGIN"]


@pytest.mark.slow
def test_pip_installs_it_from_the_page(tmp_path: Path) -> None:
    """With pip and hatchling as they are here; nothing is downloaded."""
    pytest.importorskip("hatchling")
    if shutil.which("pip") is None:
        pytest.skip("needs pip")
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    (source / "pyproject.toml").write_text(documented()["toml"])
    (source / "agentclip_dice.py").write_text(documented()["python"])
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(source)], check=True)
    done = agentclip("exec", "roll 1d1", cwd=tmp_path, env={"PYTHONPATH": str(site)})
    assert done.stdout.startswith(b"1\n[exit:0 | ")
