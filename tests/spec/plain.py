"""Which lines are plain chains of simple commands, by shfmt's tree and the words of layer1.md alone.

This is the yardstick for what our parser should split; it shares no code with it.
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator
from typing import Any

_Node = dict[str, Any]

_DYNAMIC = re.compile(
    r"_|BASH.*|EPOCH.*|FUNCNAME|LINENO|OLDPWD|PIPESTATUS|PPID|S?RANDOM|SECONDS|SHLVL|E?UID|SHELLOPTS|POSIXLY_CORRECT|[^A-Za-z_].*"
)
_EXPANDED = re.compile(r"[*?\[~]|\{.*[,.].*\}")
_NAME = re.compile(r"(?!PATH$|HOME$)[A-Za-z_][A-Za-z0-9_]*")


def is_plain(file: _Node) -> bool:
    """Whether a parsed file is a chain that can be split by the page's rule."""
    return all(map(_is_plain_node, _nodes(file))) and all(map(_is_plain_statement, file.get("Stmts", ())))


@functools.cache
def _bound_to_the_shell() -> frozenset[str]:
    """Keywords and builtins, but for the harmless ones that the page names."""
    argv = ["bash", "--norc", "--noprofile", "-c", "compgen -bk"]
    names = subprocess.run(argv, capture_output=True, check=True, text=True).stdout.split()
    return frozenset(names) - {"cd", "export", "unset", "echo", "printf", "test", "[", "true", "false", "pwd"}


def _is_plain_node(node: _Node) -> bool:
    """Anywhere, also within substitutions."""
    match node.get("Type"):
        case "ParamExp":
            return bool(node.get("Short")) and not _DYNAMIC.fullmatch(node["Param"]["Value"])
        case "CallExpr":
            return "Args" in node
        case "DeclClause":
            return bool(node["Variant"]["Value"] == "export")
        case None | "File" | "BinaryCmd" | "Lit" | "SglQuoted" | "DblQuoted" | "CmdSubst":
            return not node.get("Background") and node.get("Op") not in {"<<", "<<-"}
        case _:
            return False


def _is_plain_statement(statement: _Node) -> bool:
    """A statement of the line itself."""
    command = statement.get("Cmd", {"Type": None})
    redirects = statement.get("Redirs", ())
    if any(_literal(redirect["Word"]) is None for redirect in redirects):
        return False
    if any(_DYNAMIC.fullmatch(each["Name"]["Value"]) or each.get("Append") for each in command.get("Assigns", ())):
        return False
    match command["Type"]:
        case "BinaryCmd":
            return _is_plain_statement(command["X"]) and _is_plain_statement(command["Y"])
        case "DeclClause":
            return not redirects and all(map(_is_plain_export, command.get("Args", [{}])))
        case "CallExpr":
            words = [_literal(word) for word in command["Args"]]
            return _is_plain_command(words, bare=not redirects and "Assigns" not in command)
        case _:
            return False


def _is_plain_command(words: list[str | None], *, bare: bool) -> bool:
    name, *operands = words
    match name:
        case "cd":
            return bare and len(operands) < 2 and all(word is not None and word[:1] not in {"", "-"} for word in operands)
        case "unset":
            return bare and all(word is not None and _NAME.fullmatch(word) for word in operands)
        case "printf":
            return operands[:1] != ["-v"]
        case None:
            return False
        case _:
            return name not in _bound_to_the_shell()


def _is_plain_export(argument: _Node) -> bool:
    value = argument.get("Value")
    name = argument.get("Name", {}).get("Value", "")
    return bool(_NAME.fullmatch(name)) and not argument.get("Append") and (value is None or _literal(value) is not None)


def _literal(word: _Node) -> str | None:
    """A word's text when nothing in it is expanded (escapes left as they are)."""
    values: list[str] = []
    for part in word.get("Parts", ()):
        inner = [part] if part["Type"] != "DblQuoted" else part.get("Parts", [])
        if part.get("Dollar") or any(each["Type"] not in {"Lit", "SglQuoted"} for each in inner):
            return None
        if part["Type"] == "Lit" and part["Value"] != "[" and _EXPANDED.search(part["Value"]):
            return None
        values += [each.get("Value", "") for each in inner]
    return "".join(values)


def _nodes(node: object) -> Iterator[_Node]:
    if isinstance(node, list):
        for item in node:
            yield from _nodes(item)
    elif isinstance(node, dict):
        yield node
        for item in node.values():
            yield from _nodes(item)
