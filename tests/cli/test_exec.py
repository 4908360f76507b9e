"""`agentclip exec`, as a person types it."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.program import agentclip
from tests.commands.pictures import png

FOOTER = re.compile(r"\[exit:0 \| \d+(ms|\.\ds|s)\]")


def test_a_pipeline_counts_and_ends_with_the_footer(tmp_path: Path) -> None:
    lines = [f"{'ERROR' if number < 42 else 'INFO'} line {number}" for number in range(100)]
    (tmp_path / "log.txt").write_text("\n".join(lines))
    done = agentclip("exec", "cat log.txt | grep ERROR | wc -l", cwd=tmp_path)
    body, footer = done.stdout.decode().splitlines()
    assert body == "42"
    assert FOOTER.fullmatch(footer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_fallback_runs_and_the_message_of_the_first_is_kept(tmp_path: Path) -> None:
    done = agentclip("exec", "cat nofile || echo fallback", cwd=tmp_path)
    assert done.returncode == 0
    assert b"fallback\n" in done.stdout
    assert b"cat: nofile: No such file or directory" in done.stdout


def test_an_unknown_command_is_127_and_names_others(tmp_path: Path) -> None:
    done = agentclip("exec", "foo_no_such", cwd=tmp_path)
    assert done.returncode == 127
    assert b"unknown command: foo_no_such" in done.stdout
    assert b"Available: cat, " in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith(b"[exit:127 | ")


def test_a_bare_group_shows_its_usage(tmp_path: Path) -> None:
    done = agentclip("exec", "topic", cwd=tmp_path)
    assert done.returncode == 2
    assert b"[error] topic: usage: topic list|info|runs|run|search|rename" in done.stdout


def test_a_picture_through_cat_names_the_command_that_shows_it(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(png(300, 200))
    done = agentclip("exec", "cat photo.png", cwd=tmp_path)
    assert re.match(rb"\[error\] binary image \([\d.]+(B|KB)\)\. Use: see photo\.png\n", done.stdout)


def test_a_long_output_shows_its_head_exact_totals_and_a_file_that_holds_all(tmp_path: Path) -> None:
    shown = agentclip("exec", "seq 5000", cwd=tmp_path).stdout.decode().splitlines()
    assert shown[:200] == [str(number) for number in range(1, 201)]
    assert shown[200] == "--- output truncated (5000 lines, 23.3KB) ---"
    path = Path(shown[201].removeprefix("Full output: "))
    assert path.read_text().splitlines() == [str(number) for number in range(1, 5001)]
    assert shown[202] == f"Explore: cat {path} | grep <pattern>"
    assert shown[203] == f"         cat {path} | tail 100"
    assert len(shown) == 205
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "line", ["echo a; echo b >&2; exit 3", "if; then", "cat <<E\nx\nE", "echo *.none '*'", "false | true", "! true"]
)
def test_raw_is_bash(tmp_path: Path, line: str) -> None:
    ours = agentclip("exec", "--raw", line, cwd=tmp_path)
    bash = subprocess.run(["bash", "--norc", "--noprofile", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert (ours.stdout, ours.returncode) == (bash.stdout, bash.returncode)


def test_raw_reads_our_own_stdin_and_ends_by_the_signal(tmp_path: Path) -> None:
    assert agentclip("exec", "--raw", "cat | tr a-z A-Z", cwd=tmp_path, stdin=b"text").stdout == b"TEXT"
    assert agentclip("exec", "--raw", "kill -9 $$", cwd=tmp_path).returncode == -signal.SIGKILL


def test_json_is_one_document(tmp_path: Path) -> None:
    done = agentclip("exec", "--json", "ls /ac_nope | wc -l", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert (document["ok"], document["exit_code"], document["class"], document["stdout"]) == (True, 0, "ok", "0\n")
    assert "ac_nope" in document["stderr"]
    assert [stage["status"] for stage in document["stages"]] == [2, 0]


def test_a_dry_run_shows_the_plan_and_runs_nothing(tmp_path: Path) -> None:
    done = agentclip("exec", "--dry-run", "--json", "touch made && cat made | head 5 || see $X", cwd=tmp_path)
    plan = json.loads(done.stdout)["pipelines"]
    assert [(pipeline["join"], [stage["kind"] for stage in pipeline["stages"]]) for pipeline in plan] == [
        ("always", ["program"]),
        ("success", ["program", "program"]),
        ("failure", ["shell"]),
    ]
    assert plan[1]["stages"][1]["argv"] == ["head", "-n", "5"]
    assert not (tmp_path / "made").exists()


def test_a_file_may_hold_the_line(tmp_path: Path) -> None:
    (tmp_path / "line.sh").write_text("x=1\nfor i in 1 2; do\n  echo $x$i\ndone\n")
    assert agentclip("exec", "--raw", "--file", "line.sh", cwd=tmp_path).stdout == b"11\n12\n"
    assert agentclip("exec", "--raw", "--file", "-", cwd=tmp_path, stdin=b"echo in").stdout == b"in\n"
    missing = agentclip("exec", "--file", "missing.sh", cwd=tmp_path)
    assert missing.returncode == 2
    assert b"cannot read missing.sh" in missing.stderr


def test_a_nul_is_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "line.sh").write_bytes(b"echo a\0b")
    done = agentclip("exec", "--file", "line.sh", cwd=tmp_path)
    assert done.returncode == 2
    assert b"NUL" in done.stdout
    assert done.stdout.endswith(b"[exit:2 | 0ms]\n")


def test_ctrl_c_cancels_and_keeps_what_was_printed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "agentclip", "exec", "echo kept; touch begun; sleep 300"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert output.startswith(b"kept\n")
    assert b"cancelled]" in output
    assert process.returncode == 130


@pytest.mark.skipif(sys.platform != "linux", reason="only here a signal can be given to one thread of another process")
def test_ctrl_c_acts_also_when_the_kernel_gives_it_to_another_thread(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "agentclip", "exec", "echo kept; touch begun; sleep 300"], cwd=tmp_path, stdout=subprocess.PIPE
    )
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    time.sleep(0.3)  # now the main thread only waits
    other = next(int(name) for name in os.listdir(f"/proc/{process.pid}/task") if int(name) != process.pid)
    ctypes.CDLL(None).tgkill(process.pid, other, signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert output.startswith(b"kept\n")
    assert process.returncode == 130


def test_a_job_that_was_left_is_ended_and_named(tmp_path: Path) -> None:
    done = agentclip("exec", "sleep 300 & echo started", cwd=tmp_path)
    assert done.stdout.startswith(b"started\n[exit:0 | ")
    assert b"job 1 was ended with agentclip: sleep 300 & echo started" in done.stderr


def test_edit_takes_its_blocks_from_a_here_document(tmp_path: Path) -> None:
    """The very example of its help."""
    (tmp_path / "app.py").write_text("def area(r):\n    return 3 * r\n")
    help_text = agentclip("exec", "edit --help", cwd=tmp_path).stdout.decode()
    example = help_text.partition("Examples:\n  ")[2].partition("\nEND\n")[0] + "\nEND"
    done = agentclip("exec", example, cwd=tmp_path)
    assert (tmp_path / "app.py").read_text() == "def area(r):\n    return math.pi * r ** 2\n"
    assert done.stdout.startswith(b"--- app.py\n+++ app.py\n@@ -1,2 +1,2 @@\n def area(r):\n-    return 3 * r\n")
    again = agentclip("exec", example, cwd=tmp_path)
    assert again.returncode == 2
    assert b"the old text is not in the file; line 1 is the most like it (NO_MATCH)" in again.stdout
