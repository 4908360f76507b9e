"""The budgets of the architecture that ruff and import-linter do not know."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import agentclip

PACKAGE = Path(agentclip.__file__).parent
MODULE_LINES = 400
FUNCTION_LINES = 40

DEFERRED_IMPORTS = {
    "__main__.py": {"agentclip"},  # the command line, after the process may have been replaced
    "model/worker.py": {"agentclip.model.litellm_route"},  # 5 s, for the providers that need it
    "keys.py": {"tomllib"},  # only when the configuration names a key's variable: this file is loaded twice
    "cli/__init__.py": {"agentclip.cli.document", "agentclip.cli.output"},  # only a refusal needs words for it
    "cli/output.py": {"json"},  # 1 ms, for who asks for a document
    "preferences.py": {"tomlkit", "tomlkit.exceptions"},  # 40 ms, when a setting is changed
    # a new session paints before anything else is loaded
    "cli/chat.py": {"agentclip.cli.begin", "agentclip.cli.saved", "agentclip.cli.talk"},
    "cli/begin.py": {"agentclip.cli.sessions", "agentclip.store.session"},
    "cli/run.py": {"agentclip.cli"},  # the whole program, while the provider's process starts
    "commands/plugins.py": {"importlib.metadata"},  # 10 ms: only who has plug-ins pays
    # store and models, for those who choose something: not before the picture
    "cli/course.py": {"agentclip.cli.setup", "agentclip.cli.shelves"},
    "cli/lines.py": {"agentclip.line.session"},  # prompt_toolkit costs 0.1 s: only the line mode pays
    "cli/screen.py": {"agentclip.ui.app"},  # textual costs 0.3 s: only the screen pays
    "line/terminals.py": {"curses"},  # for terminals that nobody knows
    # what lies over the screen or beside its panes: 15 ms, when the first of it opens
    "ui/choice_actions.py": {"agentclip.ui.help_screen", "agentclip.ui.palette", "agentclip.ui.picker"},
    "ui/find_bar.py": {"textual.widgets"},
    "ui/prompt_actions.py": {"agentclip.ui.queue_screen"},
    "ui/session_actions.py": {"agentclip.ui.model_picker", "agentclip.ui.picker", "agentclip.ui.session_picker"},
    "ui/setup_actions.py": {"agentclip.ui.model_search", "agentclip.ui.settings_screen"},
    "ui/theme_actions.py": {"agentclip.ui.picker"},
    "ui/first_picture.py": {"rich.color"},  # 5 ms, which the line mode does not need
    "ui/half_blocks.py": {"PIL"},  # 40 ms, for the first picture that a run attaches
    "ui/themes.py": {"pygments.styles", "pygments.util"},  # 4 ms before the first frame; code is shown later
    "ui/markdown.py": {"markdown_it", "markdown_it.tree", "pygments.lexers", "pygments.util"},  # 25 ms before the first picture
    "present/encoding.py": {"chardet"},  # 40 ms of tables, for the rare output that nobody declared
}
"""Imports inside functions, each with its reason."""

DATACLASSES = {
    "agent/past.py",  # a field that is made from the others
    "cli/course.py",  # keys in a field that is not in its repr
    "config.py",  # fields that say what they are
    "line/live.py",  # fields that are made from the others
    "model/catalog.py",  # keys again
    "model/protocol.py",
    "ui/setup_api.py",
}
"""All other values are `msgspec.Struct`: making the class takes a hundredth of the time, at every start."""

BROAD_BOUNDARIES = {
    "shell/inprocess.py",  # a command's bug is an exit status
    "agent/loop.py",  # a bug in a turn ends the turn
    "cli/__init__.py",  # a bug of the program is exit status 70
    "commands/plugins.py",  # a plug-in that cannot be loaded is one warning
}


def modules() -> Iterator[tuple[str, str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path.relative_to(PACKAGE).as_posix(), text, ast.parse(text)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_modules_are_short() -> None:
    assert {name: lines for name, text, _ in modules() if (lines := text.count("\n")) > MODULE_LINES} == {}


def test_functions_are_short() -> None:
    long = {
        f"{name}:{function.name}": size
        for name, _, tree in modules()
        for function in functions(tree)
        if (size := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES
    }
    assert long == {}


def test_imports_inside_functions_are_registered() -> None:
    found: dict[str, set[str]] = {}
    for name, _, tree in modules():
        for function in functions(tree):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    found.setdefault(name, set()).add(node.module or "")
                elif isinstance(node, ast.Import):
                    found.setdefault(name, set()).update(alias.name for alias in node.names)
    assert found == DEFERRED_IMPORTS


def test_broad_excepts_stand_at_the_named_boundaries() -> None:
    broad = {
        name
        for name, _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and is_broad(node.type)
    }
    assert broad == BROAD_BOUNDARIES


def is_broad(caught: ast.expr | None) -> bool:
    return caught is None or (isinstance(caught, ast.Name) and caught.id in {"Exception", "BaseException"})


def test_values_are_structs() -> None:
    found = {
        name
        for name, _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and any(each.name == "dataclass" for each in node.names)
    }
    assert found == DATACLASSES
