"""`--json`: one document, whatever happens."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agentclip.cli.document import document
from agentclip.errors import ErrorCode
from agentclip.results import Presented
from tests.cli.program import agentclip, document_of
from tests.commands.pictures import png
from tests.present.runs import Ran, Run

KEYS = {
    "ok", "exit_code", "class", "ran", "stdout", "stderr", "presented", "duration_ms", "stages", "artifacts", "facts",
    "warnings", "truncated", "spool",
}  # fmt: skip


def test_a_failure_of_a_command_says_its_code_and_what_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(png(4, 3))
    said = document_of("exec", "--json", "true; see photo.pgn", cwd=tmp_path)
    assert set(said) >= KEYS
    assert (said["ok"], said["exit_code"], said["class"]) == (False, 2, "invalid")
    assert said["error"] == {
        "code": "INPUT_NOT_FOUND",
        "message": "no such file: photo.pgn",
        "hint": "see photo.png",
        "input": "photo.pgn",
        "retryable": False,
        "details": {"nearest": "photo.png"},
    }
    assert [stage["failure"] and stage["failure"]["code"] for stage in said["stages"]] == [None, "INPUT_NOT_FOUND"]
    assert said["spool"] is None


def test_a_failure_inside_bash_is_known_as_well(tmp_path: Path) -> None:
    said = document_of("exec", "--json", "for n in 1 2; do edit nofile$n --old a --new b; done", cwd=tmp_path)
    assert (said["error"]["code"], said["error"]["input"], said["class"]) == ("INPUT_NOT_FOUND", "nofile2", "invalid")
    assert said["stages"][0]["kind"] == "shell"


def test_a_failure_that_was_caught_is_no_error_of_the_line(tmp_path: Path) -> None:
    said = document_of("exec", "--json", "see nofile || echo fine", cwd=tmp_path)
    assert (said["ok"], said["class"], said["stdout"]) == (True, "ok", "fine\n")
    assert "error" not in said
    assert said["stages"][0]["failure"]["code"] == "INPUT_NOT_FOUND"


def test_an_unknown_command_names_the_near_ones_of_ours_and_of_path(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ac_tool_one").write_text("#!/bin/sh\n")
    (folder / "ac_tool_one").chmod(0o755)
    (folder / "ac_tool_two").write_text("no program\n")
    said = document_of("exec", "--json", "ac_tool_on x", cwd=tmp_path, env={"PATH": f"{folder}:/usr/bin:/bin"})
    assert (said["error"]["code"], said["class"]) == ("UNKNOWN_COMMAND", "environment")
    assert said["error"]["details"] == {"near": "ac_tool_one"}
    assert said["error"]["hint"] == "help ac_tool_one"
    assert said["stderr"].startswith("[error] unknown command: ac_tool_on. Did you mean: ac_tool_one? Available: ")


def test_files_that_commands_made_are_named_with_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(png(4, 3))
    (tmp_path / "old.txt").write_text("old\n")
    line = (
        "write new.json '{}'; edit old.txt --old old --new new; see photo.png; printf x | write gone; rm gone;"
        " for n in 1; do write -b loop$n.bin AAECAwT/; done; touch not_ours"
    )
    said = document_of("exec", "--json", line, cwd=tmp_path)
    rows = [(Path(row["path"]).name, row["kind"], row["mime"], row["change"], row["bytes"]) for row in said["artifacts"]]
    assert rows == [
        ("new.json", "text", "application/json", "created", 2),
        ("old.txt", "text", "text/plain", "modified", 4),
        ("cmd-1.image-1.png", "image", "image/png", "created", len(png(4, 3))),
        ("loop1.bin", "binary", "application/octet-stream", "created", 6),
    ]
    for row in said["artifacts"]:
        path = Path(row["path"])
        assert path == path.resolve()
        assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("exec", "--json"), "USAGE"),
        (("exec", "--json", "--nonsense", "ls"), "USAGE"),
        (("exec", "--json", "cat <<E"), "SYNTAX"),
        (("exec", "--json", "--dry-run", "cat <<E"), "SYNTAX"),
        (("run", "--json", "--resume", "nosuch", "--model", "replay:demo", "hello"), "SESSION_NOT_FOUND"),
        (("run", "--json", "--model", "replay:nofile", "hello"), "CONFIG"),
    ],
)
def test_what_never_ran_is_one_document_too(tmp_path: Path, words: tuple[str, ...], code: str) -> None:
    said = document_of(*words, cwd=tmp_path)
    assert (said["ok"], said["ran"], said["error"]["code"]) == (False, False, code)
    assert said["class"] == ErrorCode[code].category
    assert said["error"]["hint"]


def test_without_json_a_person_is_told_on_stderr_with_the_next_step(tmp_path: Path) -> None:
    done = agentclip("run", "--resume", "nosuch", "--model", "replay:demo", "hello", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"agentclip: no session 'nosuch'. Next: ")
    assert b".." not in done.stderr


@pytest.mark.parametrize(
    ("line", "code"), [("x=$(true); ac_nope", "UNKNOWN_COMMAND"), ("x=$(true); ./plain", "NOT_EXECUTABLE")]
)
def test_what_bash_could_not_start_has_a_code(tmp_path: Path, line: str, code: str) -> None:
    (tmp_path / "plain").write_text("text")
    said = document_of("exec", "--json", line, cwd=tmp_path)
    assert (said["error"]["code"], said["class"]) == (code, "environment")


def test_limits_of_ours_are_errors_with_a_code(tmp_path: Path) -> None:
    said = document_of("exec", "--json", "--timeout", "1", "echo kept; sleep 60", cwd=tmp_path)
    assert (said["error"]["code"], said["class"], said["stdout"]) == ("TIMEOUT", "timeout", "kept\n")


def test_programs_keep_their_statuses_and_have_no_error(tmp_path: Path) -> None:
    run = Run(stdout=b"x" * 100, pipelines=((Ran("grep x y", 2, stderr=b"e" * 30),),), notes=("a note",))
    said = document(run.result(tmp_path), Presented("shown"), 50, ["a plug-in"])
    assert (said["exit_code"], said["class"], "error" in said) == (2, "invalid", False)
    assert (said["stdout"], said["stderr"], said["truncated"]) == ("x" * 50, "e" * 30, True)
    assert said["warnings"] == [{"code": "PLUGIN", "message": "a plug-in"}, {"code": "NOTE", "message": "a note"}]
