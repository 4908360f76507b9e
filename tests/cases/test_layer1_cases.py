"""Cases B01 to B22: what public reports say goes wrong in the layer that runs commands. Ids are those of the log of cases."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from agentclip.errors import CommandError
from agentclip.present.presenter import present
from agentclip.results import ChainResult, Ended, Limits
from agentclip.shell.execute import RunRequest
from agentclip.shell.state import command_environment
from tests.e2e.terminal import Terminal, needs_tmux
from tests.shell.runs import Lines, marked, wait_until

SOON_S = 10.0
"""What must be at once, on a loaded machine."""


def shown(result: ChainResult) -> str:
    return present(result, Limits()).text


def quick(lines: Lines, line: str, stdin: str | None = None) -> tuple[str, ChainResult]:
    """A run that must not wait for anybody."""
    began = time.monotonic()
    ran = lines.run(line, stdin=stdin)
    assert time.monotonic() - began < SOON_S
    return ran.out.decode(), ran.result


def test_b01_a_job_that_inherits_the_pipes_does_not_hold_the_answer(lines: Lines) -> None:
    out, result = quick(lines, "sleep 300 & echo started")
    assert (out, result.status, len(result.jobs)) == ("started\n", 0, 1)
    pid = result.jobs[0].pids[0]
    lines.executor.close()
    assert not Path(f"/proc/{pid}").exists()


def test_b02_an_ampersand_inside_a_list_stays_where_it_is(lines: Lines) -> None:
    out, result = quick(lines, 'cd /tmp && nohup sleep 120 >/dev/null 2>&1 & echo "pid=$!"')
    match = re.fullmatch(r"pid=(\d+)\n", out)
    assert match
    assert Path(f"/proc/{match[1]}").exists()
    assert "syntax" not in shown(result)
    assert quick(lines, 'x=$(printf hi); sleep 1 >/dev/null & echo "$x $((1+1))"')[0] == "hi 2\n"


def test_b03_the_time_limit_reaches_grandchildren(lines: Lines) -> None:
    mark = f"ac_gc_{os.getpid()}"
    ran = lines.run(f"bash -c 'bash -c \"exec -a {mark} sleep 500\" & wait'", timeout_s=1)
    assert ran.result.ended is Ended.TIMEOUT
    assert marked(mark) == []


def test_b04_a_cancel_reaches_what_ignores_sigterm(lines: Lines) -> None:
    mark = f"ac_stub_{os.getpid()}"
    handle = lines.start(f"(trap '' TERM; exec -a {mark} sleep 500) & wait")
    wait_until(lambda: bool(marked(mark)))
    handle.cancel()
    result = handle.result()
    assert marked(mark) == []
    assert "cancelled]" in shown(result)
    assert "[exit:0" not in shown(result)


def test_b05_what_was_printed_before_the_time_limit_stays(lines: Lines) -> None:
    text = shown(lines.run("echo step-1-done; sleep 60; echo step-2", timeout_s=1).result)
    assert "step-1-done" in text
    assert "step-2" not in text
    assert re.search(r"\[exit:124 \| [\d.]+m?s \| timed out after 1s\]$", text)


def test_b06_a_failure_before_the_last_stage_is_in_the_footer(lines: Lines) -> None:
    text = shown(lines.run("sh -c 'echo boom; exit 3' | tail -n 1").result)
    assert re.fullmatch(r"boom\n\[exit:0 \| \d+ms \| pipe 3,0\]", text)


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("seq 1 1000000 | head -n 3", "1\n2\n3\n"),
        ("yes | head -n 2", "y\ny\n"),
        ("python3 -c 'import itertools;[print(i) for i in itertools.count()]' | head -n 1", "0\n"),
    ],
)
def test_b07_a_writer_whose_reader_left_ends_and_is_no_failure(lines: Lines, line: str, out: str) -> None:
    text, result = quick(lines, line)
    assert text == out
    assert result.status == 0
    assert "killed" not in shown(result)


@pytest.mark.parametrize(
    ("line", "status", "name"), [("kill -9 $$", 137, "SIGKILL"), ("sh -c 'kill -SEGV $$'", 139, "SIGSEGV")]
)
def test_b08_a_signal_has_its_number_and_its_name(lines: Lines, line: str, status: int, name: str) -> None:
    text = shown(lines.run(line).result)
    assert f"[exit:{status} |" in text
    assert f"killed by {name}" in text


def test_b09_a_child_finds_an_empty_stdin_at_once(lines: Lines) -> None:
    assert quick(lines, "cat")[0] == ""
    assert quick(lines, "python3 -c 'import sys; print(sys.stdin.isatty(), len(sys.stdin.read()))'")[0] == "False 0\n"
    assert quick(lines, 'read -p "name? " n; echo "got=$n rc=$?"')[0] == "got= rc=1\n"


@needs_tmux
def test_b09_keys_go_to_the_prompt_while_a_command_reads(tmp_path: Path) -> None:
    with Terminal(["--model", "replay:demo"], cwd=tmp_path) as terminal:
        terminal.wait_for("type here")
        terminal.type("!touch begun; cat; sleep 2")
        wait_until((tmp_path / "begun").exists)
        terminal.keys("h", "e", "l", "l", "o")
        terminal.wait_for("┃ hello")


@needs_tmux
def test_b10_nothing_reaches_the_terminal_by_its_device(tmp_path: Path) -> None:
    with Terminal(["--model", "replay:demo"], cwd=tmp_path) as terminal:
        terminal.wait_for("type here")
        for line in (
            "sh -c 'printf AC_IN''JECT > /dev/tty'",
            "python3 -c 'import getpass; getpass.getpass()'",
            "stty -F /dev/tty echo",
        ):
            terminal.type(f"!{line}; echo rc-$?")
        terminal.wait_for("rc-1")
        assert "AC_INJECT" not in terminal.screen()
        terminal.keys("o", "k")
        terminal.wait_for("┃ ok")


GIT = (
    "git init -q . && git config user.email dev@example.invalid && git config user.name Dev && "
    'for i in 1 2 3 4 5; do git commit -q --allow-empty -m "c $i"; done; echo x > f; git add f'
)


def test_b11_git_opens_no_editor(lines: Lines) -> None:
    lines.run(GIT)
    _, result = quick(lines, "git commit; echo rc=$?; git rev-list --count HEAD")
    text = shown(result)
    assert "rc=1\n5\n" in text
    assert "-m" in text
    assert "\x1b" not in text
    rebase = lines.run("git commit -q -m six; git rebase -i HEAD~2; echo rc=$?")
    assert "rc=1" in rebase.out.decode()


def test_b12_no_pager_takes_the_output(lines: Lines) -> None:
    lines.executor.state.env.update(
        command_environment({**os.environ, "PAGER": "less", "GIT_PAGER": "less", "MANPAGER": "less"})
    )
    lines.run(GIT)
    out, _ = quick(lines, "git config core.pager less && git log --oneline")
    assert out.count("\n") == 5
    assert "(END)" not in out
    assert "\x1b" not in out
    if shutil.which("man"):
        assert "(END)" not in quick(lines, "man ls | head -n 1")[0]


def test_b13_a_quoted_here_document_arrives_byte_for_byte(lines: Lines) -> None:
    body = 'it\'s $HOME and `date` and \\n and "q"\n'
    assert quick(lines, f"cat <<'END-OF'\n{body}END-OF")[0] == body


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("true | true; { echo in-brace; }; echo $((6*7))", "in-brace\n42\n"),
        ("printf '3\\n1\\n2\\n' | { sort | head -n 1; } && (exit 4) || echo \"rc=$?\"", "1\nrc=4\n"),
        ("printf '%s' '<4:k|t7:x,' | wc -c", "10\n"),
        ('echo "a > b" ; ls /ac_nope 2>&1 | wc -l', "a > b\n1\n"),
        ("wc -c <<< 'abc'", "4\n"),
        ("{ echo o1; echo e1 >&2; echo o2; echo e2 >&2; } 2>&1", "o1\ne1\no2\ne2\n"),
        ("{ echo o1; echo e1 >&2; echo o2; } 2>dup.txt 1>&2; cat dup.txt", "o1\ne1\no2\n"),
        ("x=3; [[ $x -gt 2 ]] && echo ok-$((x+1))", "ok-4\n"),
    ],
    ids=["b14-brace", "b14-status", "b15-quoted", "b15-text", "b15-string", "b16-order", "b16-file", "b18-bash"],
)
def test_b14_b15_b16_b18_a_line_means_what_bash_says(lines: Lines, line: str, out: str) -> None:
    lines.executor.state.env["SHELL"] = "/bin/nosuchshell"
    assert quick(lines, line)[0] == out


def test_b15_a_file_is_read_by_its_redirect(lines: Lines) -> None:
    assert quick(lines, "wc -c < /etc/passwd")[0] == f"{os.path.getsize('/etc/passwd')}\n"


def test_b17_a_deleted_directory_is_left_with_a_note(lines: Lines) -> None:
    lines.run("mkdir -p gone && cd gone && rmdir ../gone")
    out, result = quick(lines, "echo still-here")
    assert (out, result.status) == ("still-here\n", 0)
    assert f"{lines.work}/gone" in shown(result)
    assert str(lines.work) == result.cwd


def test_b17_a_directory_deleted_from_outside(lines: Lines, tmp_path: Path) -> None:
    folder = tmp_path / "gone2"
    folder.mkdir()
    lines.run(f"cd {folder}")
    folder.rmdir()
    out, result = quick(lines, "echo still-here && pwd")
    assert out == f"still-here\n{tmp_path}\n"
    assert str(folder) in shown(result)


def test_b19_the_environment_of_agentclip_itself_does_not_leak(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", system_site_packages=False, with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    clean = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"}}
    line = 'python3 -c "import sys; print(sys.prefix)"; echo "${VIRTUAL_ENV-unset} ${PYTHONHOME-unset} ${PYTHONPATH-unset}"'
    search = ":".join(sys.path)
    start = [
        str(python),
        "-c",
        f"import sys; sys.path[:0] = {search.split(':')!r}; from agentclip.cli import main; sys.exit(main())",
    ]
    ours = subprocess.run([*start, "exec", line], env=clean, capture_output=True, text=True, check=True, cwd=tmp_path)
    plain = subprocess.run(["bash", "-c", line], env=clean, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ours.stdout.splitlines()[:2] == plain.stdout.splitlines()
    assert plain.stdout.splitlines()[1] == "unset unset unset"


def test_b20_a_kill_of_the_own_group_ends_only_the_line(lines: Lines) -> None:
    ran = lines.run("echo before; kill 0; echo after")
    assert (ran.out, ran.status) == (b"before\n", 143)


def test_b20_a_kill_of_agentclip_is_refused_and_the_session_goes_on(lines: Lines) -> None:
    with pytest.raises(CommandError, match="would end agentclip"):
        lines.executor.prepare("kill -TERM $PPID", RunRequest())
    assert lines.text("echo on") == "on\n"


def test_b21_a_command_above_the_argument_limit_runs(lines: Lines) -> None:
    line = "cat > big.txt <<'EOF'\n" + "x" * 300000 + "\nEOF\nwc -c < big.txt"
    assert quick(lines, line)[0] == "300001\n"


def test_b22_both_streams_are_drained(lines: Lines) -> None:
    assert quick(lines, "head -c 5000000 /dev/zero | tr '\\0' x >&2; echo done")[0] == "done\n"
    both = "(head -c 3000000 /dev/zero | tr '\\0' o) & (head -c 3000000 /dev/zero | tr '\\0' e >&2) & wait; echo both"
    assert quick(lines, both)[0].endswith("both\n")


def test_b69_keys_are_not_in_the_environment_of_commands(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "ACKEY_API_KEY": "ac-secret-111",
        "OPENAI_API_KEY": "ac-secret-222",
        "SSH_AUTH_SOCK": "/s",
        "LANG": "C.UTF-8",
    }
    words = [sys.executable, "-m", "agentclip", "exec", "env; printenv ACKEY_API_KEY"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "ac-secret" not in done.stdout
    for kept in ("PATH=", "HOME=", "SSH_AUTH_SOCK=/s", "LANG=C.UTF-8"):
        assert kept in done.stdout
    state = Path(os.environ["XDG_STATE_HOME"])
    assert not any(b"ac-secret-222" in file.read_bytes() for file in state.rglob("*") if file.is_file())
