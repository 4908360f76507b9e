from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentclip.command import CommandTable
from agentclip.commands.plugins import add_plugins
from agentclip.commands.usage import LEVEL_0_CHARACTERS, LEVEL_0_LINES, tool_description_lines
from tests.commands.namespace import built_in
from tests.commands.plugged import install

COMMAND = """
from agentclip.command import Declaration

class Plug:
    declaration = Declaration({name!r}, "Does what plug-ins do", examples=("a", "b", "c"))

    def run(self, argv, io):
        return 0
"""


def with_plugins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> CommandTable:
    """The built-in commands and what is installed in the folder. Modules are forgotten afterwards: names may return."""
    monkeypatch.syspath_prepend(str(folder))
    table = built_in()
    before = set(sys.modules)
    add_plugins(table)
    for name in set(sys.modules) - before:
        if name.startswith("ac_plug"):
            del sys.modules[name]
    return table


def test_a_class_a_function_and_an_object_are_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = COMMAND.format(name="one")
    install(tmp_path, "a", {"one": "ac_plug_a:Plug"}, ac_plug_a=text)
    install(
        tmp_path, "b", {"two": "ac_plug_b:make"}, ac_plug_b=COMMAND.format(name="two") + "\ndef make():\n    return Plug()\n"
    )
    install(tmp_path, "c", {"three": "ac_plug_c:plug"}, ac_plug_c=COMMAND.format(name="three") + "\nplug = Plug()\n")
    table = with_plugins(tmp_path, monkeypatch)
    assert table.names()[-3:] == ("one", "three", "two")
    assert table.warnings == []


@pytest.mark.parametrize(
    ("point", "text", "why"),
    [
        ("ac_plug_x:Plug", "raise RuntimeError('no \\x1b[2J\\nluck')", r"RuntimeError: no \x1b[2J\nluck"),
        ("ac_plug_x:Plug", "this is no Python", "SyntaxError: "),
        ("ac_plug_x:Plug", "import ac_no_such_module", "ModuleNotFoundError: "),
        ("ac_plug_x:Nothing", COMMAND.format(name="x"), "AttributeError: "),
        ("ac_plug_y", COMMAND.format(name="x"), "ModuleNotFoundError: "),
        ("ac_plug_x:Plug", "Plug = 7", "TypeError: no command: it needs `declaration` and `run`"),
        ("ac_plug_x:Plug", "class Plug:\n    declaration = 'x'", "TypeError: no command"),
        ("ac_plug_x:Plug", "class Plug:\n    def __init__(self, needed): pass", "TypeError: "),
        ("ac_plug_x:Plug", COMMAND.format(name="see"), "ValueError: command 'see' is registered twice"),
        ("ac_plug_x:Plug", COMMAND.format(name="cat"), "ValueError: command 'cat' is registered twice"),
        ("ac_plug_x:Plug", COMMAND.format(name="../x"), "ValueError: '../x' is no name for a command"),
        ("ac_plug_x:Plug", COMMAND.format(name="x").replace('"Does', 'parameters=(7,), summary="'), "Error: "),
    ],
)
def test_a_broken_plug_in_is_one_warning_and_the_others_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, text: str, why: str
) -> None:
    install(tmp_path, "broken", {"a": point}, ac_plug_x=text)
    install(tmp_path, "whole", {"b": "ac_plug_w:Plug"}, ac_plug_w=COMMAND.format(name="whole"))
    table = with_plugins(tmp_path, monkeypatch)
    (warning,) = table.warnings
    assert warning.startswith(f"plug-in a ({point}) is left out: ")
    assert why in warning
    assert warning.isprintable()
    assert table.names() == (*built_in().names(), "whole")


def test_level_0_stays_within_its_budget_with_60_plug_ins_and_the_used_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {f"ac_plug_{number}": COMMAND.format(name=f"plug{number}") for number in range(60)}
    install(tmp_path, "many", {name: f"{name}:Plug" for name in modules}, **modules)
    table = with_plugins(tmp_path, monkeypatch)
    assert len(table.names()) == 60 + len(built_in().names())
    lines = tool_description_lines(table, {"plug59": 3})
    assert len(lines) <= LEVEL_0_LINES
    assert len("\n".join(lines)) <= LEVEL_0_CHARACTERS
    assert "plug59 — Does what plug-ins do" in lines
    assert lines[-1].startswith("help — ")


def test_who_has_no_plug_ins_does_not_pay_for_them() -> None:
    code = (
        "import sys, agentclip.runtime as r\n"
        "from agentclip.shell.jobs import JobTable\n"
        "sys.path = [p for p in sys.path if p]\n"
        "assert r.command_table(JobTable()).names()[-1] == 'help'\n"
        "print('importlib.metadata' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
