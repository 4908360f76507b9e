"""Variables that commands exported come back with the session."""

from __future__ import annotations

import os
from pathlib import Path

from agentclip.command import CommandTable
from agentclip.results import ChainResult
from agentclip.shell.execute import Executor, Place, RunRequest
from agentclip.shell.state import command_environment
from tests.cases.program import home


def result_of(executor: Executor, line: str) -> ChainResult:
    handle = executor.prepare(line, RunRequest())
    handle.begin()
    return handle.result()


def test_a_result_has_all_exports_when_it_changed_one(tmp_path: Path) -> None:
    environment = {**command_environment(os.environ), "GONE": "1"}
    executor = Executor(CommandTable(), Place(tmp_path, str(tmp_path), environment))
    try:
        assert result_of(executor, "echo nothing").exports is None
        assert result_of(executor, "export A=1").exports == (("A", "1"),)
        assert result_of(executor, "if true; then export B='x y\n文'; unset GONE; fi").exports == (
            ("A", "1"),
            ("B", "x y\n文"),
            ("GONE", None),
        )
        assert result_of(executor, "export A=1; C=no_export").exports is None
        assert "BAD" not in dict(result_of(executor, r"export BAD=$'\xff' D=2").exports or ())
    finally:
        executor.close()


def test_a_resumed_session_has_its_variables_and_its_directory(tmp_path: Path) -> None:
    here = home(tmp_path, SET_BEFORE="yes")
    calls = [{"command": "mkdir sub; cd sub; export MARK='a b'; unset SET_BEFORE"}, {"command": "echo other"}]
    begun, _ = here.replay([{"calls": calls}, {"text": "ok"}])
    line = 'echo "$MARK|${SET_BEFORE-unset}|${PWD##*/}|${OLDPWD##*/}"'
    _, runs = here.replay([{"calls": [{"command": line}]}, {"text": "ok"}], "--resume", begun["session"])
    assert Path(runs[-1].result.stdout.path).read_text() == "a b|unset|sub|work\n"
