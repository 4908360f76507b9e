"""What lasts from one line to the next."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentclip.shell.state import command_environment
from tests.shell.runs import Lines


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("mkdir sub && cd sub && export A=1 B='x y' && unset AC_C", "state"),
        ("mkdir sub; cd sub; export A=1 B='x y'; unset AC_C; :", "shell"),
    ],
)
def test_directory_and_exports_last_whoever_handles_the_line(lines: Lines, line: str, kind: str) -> None:
    ran = lines.run(line)
    assert kind in ran.kinds
    assert ran.result.cwd == str(lines.work / "sub")
    assert ran.result.cwd_changed
    assert lines.text('pwd; echo "$A/$B/${AC_C-unset}"') == f"{lines.work}/sub\n1/x y/unset\n"


def test_a_directory_that_is_changed_in_a_subshell_or_pipe_does_not_last(lines: Lines) -> None:
    lines.run("(cd /usr); cd /tmp | cat; true | cd /")
    assert lines.text("pwd") == f"{lines.work}\n"


def test_the_report_survives_exit_set_e_and_an_error(lines: Lines) -> None:
    for number, end in enumerate(("exit 3", "set -e; false; echo not", "kill -TERM $$", "(exit 4)")):
        lines.run(f"mkdir -p {lines.work}/d{number}; cd {lines.work}/d{number}; {end}")
        assert lines.executor.state.cwd == f"{lines.work}/d{number}"


def test_a_line_that_cannot_report_leaves_the_state_and_says_so(lines: Lines) -> None:
    ran = lines.run("cd /usr; exec true")
    assert lines.executor.state.cwd == str(lines.work)
    assert len(ran.result.notes) == 1


def test_a_line_that_looks_at_traps_sees_none_of_ours(lines: Lines) -> None:
    assert lines.text("trap -p; echo end") == "end\n"
    assert lines.text("env | grep -c -e AGENTCLIP -e BASH_ENV; echo ${!AGENTCLIP*}") == "0\n\n"


def test_the_start_file_of_the_person_is_still_read(lines: Lines, tmp_path: Path) -> None:
    start = tmp_path / "it's.bash"
    start.write_text("from_start=yes\n")
    lines.executor.state.env["BASH_ENV"] = str(start)
    assert lines.text('for i in 1; do echo "$from_start $BASH_ENV"; done') == f"yes {start}\n"
    assert lines.executor.state.env["BASH_ENV"] == str(start)


def test_a_deleted_directory_is_named_and_the_nearest_parent_taken(lines: Lines) -> None:
    lines.run("mkdir -p a/b && cd a/b && rmdir ../b")
    ran = lines.run("pwd")
    assert ran.out.decode() == f"{lines.work}/a\n"
    assert f"{lines.work}/a/b is gone" in ran.result.notes[0]


@pytest.mark.parametrize(
    "line", ["cd missing", "cd a b", "cd ''", "cd missing/..", "cd in.txt", "cd -- .", "cd ./", "cd //tmp", "cd ~"]
)
def test_cd_ends_as_in_bash(lines: Lines, line: str) -> None:
    (lines.work / "in.txt").touch()
    theirs = subprocess.run(
        ["bash", "-c", f"{line}; echo $?; pwd"], cwd=lines.work, capture_output=True, text=True, check=False
    )
    ran = lines.run(line)
    assert f"{ran.status}\n{lines.executor.state.cwd}\n" == theirs.stdout, line


def test_a_link_is_followed_by_its_name(lines: Lines) -> None:
    lines.run("mkdir -p real/deep && ln -s real/deep link && cd link")
    assert lines.text("pwd; cd .. && pwd") == f"{lines.work}/link\n{lines.work}\n"


def test_commands_start_without_our_keys_terminal_and_editors() -> None:
    given = {
        "PATH": "/bin",
        "ACKEY_API_KEY": "s",
        "AGENTCLIP_MODEL": "m",
        "GITHUB_TOKEN": "t",
        "TERM": "xterm",
        "PAGER": "less",
    }
    env = command_environment(given)
    assert "ACKEY_API_KEY" not in env
    assert "AGENTCLIP_MODEL" not in env
    assert (env["GITHUB_TOKEN"], env["TERM"], env["PAGER"], env["PATH"]) == ("t", "dumb", "cat", "/bin")
    assert command_environment(given, ["ACKEY_API_KEY"])["ACKEY_API_KEY"] == "s"


def test_git_cannot_open_an_editor_and_says_what_to_use(lines: Lines) -> None:
    lines.run("git init -q . && git config user.email a@b.invalid && git config user.name A && echo x > f && git add f")
    ran = lines.run("git commit; echo rc=$?")
    assert b"rc=1" in ran.out
    assert b"git commit -m" in ran.err
    assert b"\x1b" not in ran.out + ran.err


def test_a_foreign_login_shell_changes_nothing(lines: Lines) -> None:
    lines.executor.state.env["SHELL"] = "/bin/nosuchshell"
    assert lines.text("x=3; [[ $x -gt 2 ]] && echo ok-$((x+1))") == "ok-4\n"


def test_the_own_directory_of_the_process_never_moves(lines: Lines) -> None:
    before = os.getcwd()
    lines.run("cd / && cd usr")
    assert os.getcwd() == before


def test_a_line_that_removes_its_directory_goes_on_there_as_in_bash(lines: Lines) -> None:
    line = "mkdir deep && cd deep && rmdir ../deep && echo on && ls | wc -l"
    theirs = subprocess.run(["bash", "-c", line], cwd=lines.work, capture_output=True, check=True)
    ran = lines.run(line)
    assert (ran.out, ran.status) == (theirs.stdout, 0)
    assert "state" in ran.kinds
