"""Plug-ins as pip installs them: files in a folder, and a hand-made dist-info that names their entry points."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def documented() -> dict[str, str]:
    """The fenced blocks of docs/extending.md by their language: `python`, `toml`, `console`."""
    text = (DOCS / "extending.md").read_text(encoding="utf-8")
    return {match[1]: match[2] for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)}


def install(folder: Path, package: str, points: dict[str, str], **modules: str) -> None:
    """Put modules into a folder for PYTHONPATH and name their entry points, as an installer does."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[agentclip.commands]\n{lines}")


def install_documented(folder: Path) -> None:
    """The example of docs/extending.md, registered as its pyproject.toml says."""
    blocks = documented()
    project = tomllib.loads(blocks["toml"])["project"]
    install(folder, project["name"], project["entry-points"]["agentclip.commands"], agentclip_dice=blocks["python"])
