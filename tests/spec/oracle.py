"""What others say about a line: shfmt its tree, bash whether it can be parsed and what its words are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.spec.plain import is_plain

SHFMT = shutil.which("shfmt", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}") or "shfmt"
BASH = ["bash", "--norc", "--noprofile"]

_JOINS = {"&&": "success", "||": "failure"}
_PIPES = {"|", "|&"}


@dataclass(frozen=True, slots=True)
class Tree:
    """A line as shfmt reads it."""

    pipelines: tuple[tuple[str, bool, tuple[tuple[int, str, bool], ...]], ...]
    """Join, negated, stages; a stage is offset, text and whether its stderr is piped too."""
    plain: bool
    """A chain of simple commands as layer1.md calls it, by shfmt's tree alone: what our parser should split."""


def shfmt_tree(line: str) -> Tree | None:
    """The tree of a line; None when shfmt calls it a syntax error."""
    answer = subprocess.run([SHFMT, "-tojson", "-ln=bash"], input=line.encode(), capture_output=True, check=False)
    if answer.returncode:
        return None
    file = json.loads(answer.stdout)
    source = line.encode()
    pipelines = [pipeline for statement in file.get("Stmts", ()) for pipeline in _chain(source, statement, "always")]
    return Tree(tuple(pipelines), is_plain(file))


def bash_accepts(line: str) -> bool:
    """Whether bash can parse the line."""
    return not subprocess.run([*BASH, "-n", "-c", "--", line], capture_output=True, check=False).stderr


def bash_words(sources: list[str]) -> list[tuple[str, ...]]:
    """Each text of words as bash expands it."""
    script = "\n".join(f"printf '%s\\0' {source}; printf '\\1\\0'" for source in sources)
    answer = subprocess.run([*BASH, "-c", "--", script], capture_output=True, check=True, cwd="/proc/self")
    groups = answer.stdout.decode().split("\1\0")[:-1]
    return [tuple(group.split("\0")[:-1]) for group in groups]


_Stage = tuple[int, str, bool]
_Node = dict[str, Any]


def _chain(source: bytes, statement: _Node, join: str) -> list[tuple[str, bool, tuple[_Stage, ...]]]:
    """The binary tree of `&&` and `||`, flat."""
    command = statement.get("Cmd") or {}
    if command.get("Type") == "BinaryCmd" and command["Op"] in _JOINS and not statement.get("Negated"):
        return [*_chain(source, command["X"], join), *_chain(source, command["Y"], _JOINS[command["Op"]])]
    return [(join, bool(statement.get("Negated")), tuple(_stages(source, statement, piped="")))]


def _stages(source: bytes, statement: _Node, piped: str) -> list[_Stage]:
    """The binary tree of pipes, flat; offsets there count bytes."""
    command = statement.get("Cmd") or {}
    if command.get("Type") == "BinaryCmd" and command["Op"] in _PIPES:
        return [*_stages(source, command["X"], command["Op"]), *_stages(source, command["Y"], piped)]
    parts = [part for part in (statement.get("Cmd"), *statement.get("Redirs", ())) if part]
    start = min(part["Pos"]["Offset"] for part in parts)
    end = max(part["End"]["Offset"] for part in parts)
    return [(len(source[:start].decode()), source[start:end].decode(), piped == "|&")]
