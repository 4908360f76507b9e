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

SHFMT = shutil.which("shfmt", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}") or "shfmt"
BASH = ["bash", "--norc", "--noprofile"]

_JOINS = {"&&": "success", "||": "failure"}


@dataclass(frozen=True, slots=True)
class Tree:
    """A line as shfmt reads it."""

    pipelines: tuple[tuple[str, bool, tuple[tuple[int, str, bool], ...]], ...]
    """Join, negated, stages; a stage is offset, text and whether its stderr is piped too."""
    simple: bool
    """Every stage is a simple command, and nothing runs in the background."""
    nodes: frozenset[str]
    """Types of all syntax nodes."""


def shfmt_tree(line: str) -> Tree | None:
    """The tree of a line; None when shfmt calls it a syntax error."""
    answer = subprocess.run([SHFMT, "-tojson", "-ln=bash"], input=line.encode(), capture_output=True, check=False)
    if answer.returncode:
        return None
    file = json.loads(answer.stdout)
    reader = _Reader(line.encode())
    pipelines = [pipeline for statement in file.get("Stmts", ()) for pipeline in reader.chain(statement, "always")]
    return Tree(tuple(pipelines), reader.simple, frozenset(_types(file)))


def bash_accepts(line: str) -> bool:
    """Whether bash can parse the line."""
    return not subprocess.run([*BASH, "-n", "-c", "--", line], capture_output=True, check=False).stderr


def bash_words(sources: list[str]) -> list[tuple[str, ...]]:
    """Each text of words as bash expands it."""
    script = "\n".join(f"printf '%s\\0' {source}; printf '\\1\\0'" for source in sources)
    answer = subprocess.run([*BASH, "-c", "--", script], capture_output=True, check=True, cwd="/proc/self")
    groups = answer.stdout.decode().split("\1\0")[:-1]
    return [tuple(group.split("\0")[:-1]) for group in groups]


class _Reader:
    """Flattens shfmt's binary tree; offsets there count bytes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.simple = True

    def chain(self, statement: dict[str, Any], join: str) -> list[tuple[str, bool, tuple[tuple[int, str, bool], ...]]]:
        self.simple = self.simple and not statement.get("Background") and not statement.get("Coprocess")
        command = statement.get("Cmd") or {}
        if command.get("Type") == "BinaryCmd" and command["Op"] in _JOINS and not statement.get("Negated"):
            return [*self.chain(command["X"], join), *self.chain(command["Y"], _JOINS[command["Op"]])]
        return [(join, bool(statement.get("Negated")), tuple(self.stages(statement, piped="")))]

    def stages(self, statement: dict[str, Any], piped: str) -> list[tuple[int, str, bool]]:
        command = statement.get("Cmd") or {}
        if command.get("Type") == "BinaryCmd" and command["Op"] in {"|", "|&"}:
            return [*self.stages(command["X"], command["Op"]), *self.stages(command["Y"], piped)]
        self.simple = self.simple and command.get("Type") == "CallExpr" and "Args" in command
        parts = [part for part in (statement.get("Cmd"), *statement.get("Redirs", ())) if part]
        start = min(part["Pos"]["Offset"] for part in parts)
        end = max(part["End"]["Offset"] for part in parts)
        return [(len(self.source[:start].decode()), self.source[start:end].decode(), piped == "|&")]


def _types(node: object) -> list[str]:
    if isinstance(node, list):
        return [name for item in node for name in _types(item)]
    if not isinstance(node, dict):
        return []
    own = [node["Type"]] if "Type" in node else []
    return own + [name for item in node.values() for name in _types(item)]
