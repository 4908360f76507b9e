"""Lines on real processes: streams, statuses, routing."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from agentclip.errors import CommandError
from agentclip.results import Ended
from agentclip.shell.execute import RunRequest
from tests.shell.conftest import MakeLines
from tests.shell.runs import Lines, wait_until


def test_a_line_that_reopens_stdout_loses_nothing(lines: Lines) -> None:
    assert lines.text("echo one; echo two >/dev/stdout; echo three") == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("line", "statuses", "status"),
    [
        ("true", (0,), 0),
        ("false || true", (0,), 0),
        ("! true", (0,), 1),
        ("sh -c 'echo boom; exit 3' | tail -n 1", (3, 0), 0),
        ("seq 1 1000000 | head -n 3", (141, 0), 0),
        ("(exit 4) || (exit 5)", (5,), 5),
        ("kill -9 $$", (137,), 137),
        ("sh -c 'kill -SEGV $$'", (139,), 139),
        ("./no_such_file", (127,), 127),
        ("/etc", (126,), 126),
        ("echo 'unbalanced", (2,), 2),
        ("", (), 0),
        ("# only a comment", (), 0),
    ],
)
def test_statuses_are_those_of_sh(lines: Lines, line: str, statuses: tuple[int, ...], status: int) -> None:
    ran = lines.run(line)
    assert (ran.result.last_statuses, ran.status) == (statuses, status)


def test_a_signal_has_its_name(lines: Lines) -> None:
    assert lines.run("sh -c 'kill -SEGV $$'").result.stages[-1].signal == "SIGSEGV"


def test_a_stage_that_could_not_start_fails_its_pipeline(lines: Lines) -> None:
    ran = lines.run("ac_no_such_command | cat")
    assert ran.status == 127
    assert ran.result.last_statuses == (127, 0)
    assert b"unknown command: ac_no_such_command" in ran.err
    assert b"Available: " in ran.err


def test_an_unknown_word_keeps_to_its_redirects(lines: Lines) -> None:
    ran = lines.run("ac_no_such_command 2>seen.txt || echo next")
    assert ran.out == b"next\n"
    assert ran.err == b""
    assert "unknown command" in (lines.work / "seen.txt").read_text()


def test_each_stage_keeps_its_own_stderr(lines: Lines) -> None:
    ran = lines.run("ls /ac_nope_1 | ls /ac_nope_2 | wc -l")
    texts = [Path(stage.stderr.path).read_text() if stage.stderr else "" for stage in ran.result.stages]
    assert ["ac_nope_1" in texts[0], "ac_nope_2" in texts[1], texts[2]] == [True, True, ""]


def test_stderr_goes_into_the_pipe_where_the_line_says_so(lines: Lines) -> None:
    assert lines.text("ls /ac_nope |& wc -l") == "1\n"
    assert lines.text("echo a >&2 |& cat") == ""
    assert lines.text("ls /ac_nope 2>&1 | wc -l") == "1\n"


@pytest.mark.parametrize(
    "line",
    [
        "ls /ac_nope >out.txt 2>&1; cat out.txt",
        "ls /ac_nope 2>&1 >out.txt; cat out.txt",
        "cat <in.txt >out.txt; cat out.txt",
        "cat in.txt >>out.txt; cat in.txt >>out.txt; cat out.txt",
        "ls /ac_nope &>out.txt; cat out.txt",
        "cat <missing.txt || echo no",
        "cat in.txt >/dev/null; echo $?",
        "cat 0<in.txt 1>out.txt; wc -l out.txt",
        "wc -c <<< 'abc'",
        "{ echo o1; echo e1 >&2; echo o2; echo e2 >&2; } 2>&1",
        "{ echo o1; echo e1 >&2; echo o2; } 2>dup.txt 1>&2; cat dup.txt",
    ],
)
def test_redirects_do_what_bash_does(lines: Lines, line: str, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for folder in (lines.work, theirs):
        (folder / "in.txt").write_text("a\nb\n")
    reference = subprocess.run(["bash", "-c", line], cwd=theirs, capture_output=True, check=False)
    ran = lines.run(line)
    assert (ran.out, ran.status) == (reference.stdout, reference.returncode)
    assert {f.name: f.read_bytes() for f in lines.work.iterdir()} == {f.name: f.read_bytes() for f in theirs.iterdir()}


def test_standard_input_is_empty_unless_given(lines: Lines) -> None:
    assert lines.run("cat").out == b""
    assert lines.run('read -p "name? " n; echo "got=$n rc=$?"').out == b"got= rc=1\n"
    assert lines.run("cat; cat", stdin="given\n").out == b"given\n"
    assert lines.run("head -n 1; cat", stdin="").out == b""


def test_nothing_can_ask_on_a_terminal(lines: Lines) -> None:
    assert lines.run("sh -c 'printf AC_INJECT > /dev/tty'").status != 0
    assert lines.run("stty -F /dev/tty echo").status != 0


def test_both_streams_are_drained_at_once(lines: Lines) -> None:
    assert lines.run("head -c 5000000 /dev/zero | tr '\\0' x >&2; echo done").out == b"done\n"
    both = "(head -c 3000000 /dev/zero | tr '\\0' o) & (head -c 3000000 /dev/zero | tr '\\0' e >&2) & wait; echo both"
    assert lines.run(both).out.endswith(b"both\n")


def test_output_goes_on_to_the_limit_exactly_and_the_run_ends(make_lines: MakeLines) -> None:
    ran = make_lines(spool_limit_bytes=1_000_000).run("yes; echo not reached")
    assert (ran.status, ran.result.ended, ran.result.limit) == (153, Ended.OUTPUT_LIMIT, 1_000_000)
    assert len(ran.out) == os.path.getsize(ran.result.stdout.path) == 1_000_000


def test_a_command_above_the_argument_limit_runs(lines: Lines) -> None:
    body = "x" * 300_000
    ran = lines.run(f"cat > big.txt <<'EOF'\n{body}\nEOF\nwc -c < big.txt")
    assert ran.out == b"300001\n"


def test_a_nul_in_a_command_is_a_clear_error(lines: Lines) -> None:
    with pytest.raises(CommandError, match="NUL"):
        lines.executor.prepare("echo a\0b", RunRequest())


def test_a_script_without_an_interpreter_line_runs_as_in_bash(lines: Lines) -> None:
    script = lines.work / "plain"
    script.write_text("echo $0 $1\n")
    script.chmod(0o755)
    assert lines.text("./plain one") == "./plain one\n"


def test_a_program_made_by_an_earlier_stage_is_found(lines: Lines) -> None:
    assert lines.text("printf '#!/bin/sh\\necho made' > made && chmod +x made && ./made") == "made\n"
    assert lines.text("mkdir bin && cp made bin/ac_made && export PATH=$PWD/bin:$PATH && ac_made") == "made\n"


@pytest.mark.parametrize("name", ["日本語.txt", "我的 图片.txt", "a'b.txt", "-n"])
def test_names_of_any_script_arrive_as_they_are(lines: Lines, name: str) -> None:
    (lines.work / name).write_text("found\n")
    assert lines.text(f"cat {shlex.quote('./' + name)}") == "found\n"


def test_numbers_go_on_behind_what_is_there(lines: Lines, make_lines: MakeLines) -> None:
    first = lines.run("echo a").result.number
    assert make_lines().run("echo b").result.number == first + 1


def test_descriptors_and_threads_do_not_grow_with_runs(lines: Lines) -> None:
    lines.run("true | cat")
    descriptors, threads = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
    for _ in range(100):
        lines.run("echo a | cat >/dev/null && ac_unknown || cd .")
    # What earlier tests left may end meanwhile: fewer is no fault.
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors and len(os.listdir("/proc/self/task")) <= threads)


def test_growth_is_told_while_it_runs_and_the_index_keeps_the_order(lines: Lines) -> None:
    ran = lines.run("echo one; sleep 0.3; echo two >&2; sleep 0.3; echo three")
    index = Path(ran.result.stdout.path).with_suffix(".idx").read_text().splitlines()
    assert [line.split()[1] for line in index] == ["4", "4", "10"]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("echo 'abc", "column 6: the '"),
        ("&& ls", "column 1: a command is expected before `&&`"),
        ("ls |", "column 4: a command is expected after `|`"),
        ("a ;; b", "column 3: a command is expected inside `;;`"),
        ("echo b)", "column 7: `)` closes nothing"),
        ("if true; then echo", "column 1: `if` needs its `fi`"),
    ],
)
def test_a_syntax_error_is_2_with_bashs_message_the_column_and_what_was_expected(lines: Lines, line: str, place: str) -> None:
    ran = lines.run(line)
    assert (ran.status, ran.out) == (2, b"")
    assert b"bash: " in ran.err
    assert place in ran.result.notes[0]


def test_a_syntax_error_on_a_later_line_is_found_where_bash_finds_it(lines: Lines) -> None:
    ran = lines.run("echo a\necho b)")
    assert (ran.status, ran.out) == (2, b"a\n")
    assert "line 2, column 7" in ran.result.notes[0]


def test_a_cut_here_document_runs_nothing(lines: Lines) -> None:
    with pytest.raises(CommandError, match="no line `EOF`"):
        lines.executor.prepare("touch ran; cat <<EOF\nhalf a text", RunRequest())
    assert lines.text("echo $((1<<2)); n=3; echo $((1<<n)); echo '<<EOF'") == "4\n8\n<<EOF\n"


@pytest.mark.parametrize("line", ["kill -TERM $PPID", "kill {pid}", "sleep 0; kill -9 -{group}", "kill '{pid}'"])
def test_a_literal_kill_of_agentclip_is_refused(lines: Lines, line: str) -> None:
    with pytest.raises(CommandError, match="would end agentclip"):
        lines.executor.prepare(line.format(pid=os.getpid(), group=os.getpgrp()), RunRequest())
    assert lines.text("echo 'kill $PPID'") == "kill $PPID\n"


def test_a_full_disk_ends_the_run_with_the_reason(lines: Lines, tmp_path: Path) -> None:
    folder = tmp_path / "session" / "cmd-output"
    folder.mkdir(parents=True)
    (folder / "cmd-1.txt").symlink_to("/dev/full")
    ran = lines.run("yes")
    assert ran.result.ended is Ended.OUTPUT_LIMIT
    assert "No space left on device" in ran.result.notes[0]


def test_resource_limits_hold_for_every_stage(make_lines: MakeLines) -> None:
    lines = make_lines(ulimit="ulimit -v 400000")
    assert lines.text("ulimit -v | cat; bash -c 'ulimit -v'") == "400000\n400000\n"


def test_a_name_that_is_not_utf8_arrives_as_it_is(lines: Lines) -> None:
    name = os.fsdecode(b"caf\xe9")
    (lines.work / name).write_text("found\n")
    assert lines.text(f"cat '{name}' && cat caf*") == "found\nfound\n"


def test_a_line_of_two_megabytes_runs(lines: Lines) -> None:
    assert lines.text("x='" + "a" * 2_500_000 + "'; echo ${#x}") == "2500000\n"


@pytest.mark.slow
def test_descriptors_threads_and_zombies_do_not_grow_over_two_thousand_runs(lines: Lines) -> None:
    mixed = "echo a | cat >/dev/null; (exit 3); ls /ac_nope | wc -l; true && cd ."
    for number in range(2000):
        lines.run(mixed if number % 2 else "sleep 0 & echo b | cat")
        if number == 10:
            before = len(os.listdir("/proc/self/fd"))
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before + 2)
    assert len(os.listdir("/proc/self/task")) < 12


def test_a_stage_is_shown_as_it_was_written_and_bash_names_its_line(lines: Lines) -> None:
    ran = lines.run("echo a\n[ 1 -eq x ] |& cat")
    assert [stage.text for stage in ran.result.stages] == ["echo a", "[ 1 -eq x ]", "cat"]
    assert ran.out == b"a\nbash: line 2: [: x: integer expression expected\n"
