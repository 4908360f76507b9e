"""Our commands inside bash: through the socket, on the caller's own descriptors."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.shell.runs import Lines, wait_until


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("for i in 1 2 3; do write f$i text$i >/dev/null; done; cat f1 f2 f3", "text1text2text3"),
        ("printf 'a\\nb\\n' | xargs -I{} write {}.txt {} >/dev/null; cat a.txt b.txt", "ab"),
        ("x=$(write g.txt hello); echo ${x%% *}; cat g.txt", "Written\nhello"),
        ("write h.txt <<'EOF' >/dev/null\n$HOME `date` 'q'\nEOF\ncat h.txt", "$HOME `date` 'q'\n"),
        ('name=k.txt; write "$name" v >/dev/null && cat k.txt', "v"),
        ("find . -name '*.none' -exec write x y \\; ; { write m.txt z; } 2>&1 | wc -l", "1\n"),
        ("write --nope 2>/dev/null; for i in 1; do write --nope 2>/dev/null; echo $?; done", "2\n"),
    ],
)
def test_a_command_works_wherever_bash_may_call_one(lines: Lines, line: str, out: str) -> None:
    ran = lines.run(line)
    assert ran.out.decode() == out, ran.err


def test_a_stream_through_a_client_ends_with_its_writer(lines: Lines) -> None:
    ran = lines.run("for i in 1; do timeout 0.2 yes | write big.txt; done; echo end")
    assert re.fullmatch(rb"Written \S+ -> \S+/big.txt\nend\n", ran.out), ran


def test_a_killed_pipe_through_a_client_holds_nothing_up(lines: Lines) -> None:
    """Whether the client or its writer dies first is the kernel's choice, so the file may be there, and told of late."""
    ran = lines.run("for i in 1; do yes | write big.txt & sleep 0.2; kill %1; wait; done; echo end")
    assert b"end" in ran.out.splitlines(), ran
    wait_until(lambda: [f.name for f in lines.work.iterdir()] in ([], ["big.txt"]))


def test_a_cancel_ends_a_command_behind_a_client(lines: Lines) -> None:
    handle = lines.start("touch begun; for i in 1; do tail -f /dev/null | write never.txt; done")
    wait_until((lines.work / "begun").exists)
    handle.cancel()
    handle.result()
    wait_until(lambda: [f.name for f in lines.work.iterdir()] == ["begun"])


DEAF = "tail -f /dev/null | (trap '' INT TERM; touch begun; write never.txt)"
"""Of the two the writer always dies first."""


def test_a_cancel_that_kills_the_writer_first_is_no_end_of_file(lines: Lines) -> None:
    handle = lines.start(f"for i in 1; do {DEAF}; done")
    wait_until((lines.work / "begun").exists)
    time.sleep(0.3)  # the client is a Python that starts
    handle.cancel()
    assert handle.result().status == 130
    assert [f.name for f in lines.work.iterdir()] == ["begun"]


def test_a_killed_job_whose_writer_dies_first_stores_nothing(lines: Lines) -> None:
    lines.run(f"for i in 1; do {DEAF} & done")
    wait_until((lines.work / "begun").exists)
    time.sleep(0.3)
    lines.executor.jobs.kill(lines.executor.jobs.all())
    assert [f.name for f in lines.work.iterdir()] == ["begun"]


WAIT = "while [ ! -e go ]; do sleep 0.02; done"


def test_a_cancel_leaves_the_commands_of_earlier_jobs_alone(lines: Lines) -> None:
    lines.run(f"for i in 1; do {WAIT} | write late.txt >/dev/null & done")
    handle = lines.start("for i in 1; do tail -f /dev/null | write never.txt; done")
    time.sleep(0.3)
    handle.cancel()
    handle.result()
    lines.run("touch go")
    wait_until((lines.work / "late.txt").exists)


def test_what_a_job_makes_is_not_told_of_a_later_run(lines: Lines) -> None:
    lines.run(f"for i in 1; do ({WAIT}; write late.txt x >/dev/null) & done")
    ran = lines.run("for i in 1; do write other.txt x; touch go; done; while [ ! -e late.txt ]; do sleep 0.02; done; sleep 0.2")
    assert [Path(each.path).name for each in ran.result.artifacts] == ["other.txt"]


def test_the_folder_of_clients_stays_out_of_the_session(lines: Lines) -> None:
    path = lines.executor.state.env["PATH"]
    lines.run("for i in 1; do write a b >/dev/null; done")
    assert lines.executor.state.env["PATH"] == path
    lines.run("export PATH=/first:$PATH:/last; for i in 1; do write a b >/dev/null; done")
    assert lines.executor.state.env["PATH"] == f"/first:{path}:/last"


def test_the_environment_is_untouched_unless_the_line_names_a_command(lines: Lines) -> None:
    path = lines.executor.state.env["PATH"]
    assert lines.text("for i in 1; do echo $PATH; done") == path + "\n"
    assert lines.text("for i in 1; do write a b >/dev/null; echo $PATH; done").endswith(":" + path + "\n")


def test_closing_leaves_no_client_behind(lines: Lines) -> None:
    lines.run("for i in 1; do write a b; done")
    folder = lines.executor._place.folder / "clients"  # noqa: SLF001  where the clients are is nobody else's business
    assert folder.is_dir()
    lines.executor.close()
    assert not folder.exists()
