"""Old output goes by age and by size, oldest first; nothing that is open, no log, nothing outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from agentclip.events import TurnStarted
from agentclip.messages import UserMessage
from agentclip.store.retention import Keep, Swept, held, sweep, sweep_if_due
from agentclip.store.session import Session
from tests.agent.scripted import ScriptedModel, reply
from tests.agent.workbench import asked, bench

NOW = 1_800_000_000.0
DAY = 86400.0
MEGABYTE = 1024 * 1024


def written(path: Path, age_days: float, size: int = 1) -> Path:
    """A file with real blocks, last written so long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (NOW - age_days * DAY, NOW - age_days * DAY))
    return path


def run_files(folder: Path, number: int, age_days: float, size: int = 1) -> list[Path]:
    """All that one run may leave."""
    names = (f"cmd-{number}.txt", f"cmd-{number}.0.err", f"cmd-{number}.idx", f"cmd-{number}.image-1.png")
    files = [written(folder / "cmd-output" / name, age_days, size) for name in names]
    second = folder / "cmd-output" / f"cmd-{number}.gz"
    second.hardlink_to(files[0])
    return [*files, second]


def session(state: Path, name: str) -> Path:
    folder = state / "sessions" / name
    for kept in ("events.jsonl", "meta.json", "lock"):
        written(folder / kept, 400)
    return folder


def clean(state: Path, keep: Keep) -> Swept:
    return sweep(state / "sessions", state / "exec", keep, NOW)


def test_runs_older_than_the_days_go_with_all_their_files_and_the_log_stays(tmp_path: Path) -> None:
    folder = session(tmp_path, "260101-a")
    old, young = run_files(folder, 1, 31), run_files(folder, 2, 29)
    notes = written(folder / "cmd-output" / "notes.txt", 400)
    assert clean(tmp_path, Keep(days=30)).removed == 1
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in [*young, notes])
    assert {path.name for path in folder.iterdir()} == {"events.jsonl", "meta.json", "lock", "cmd-output"}


def test_a_run_is_as_old_as_its_newest_file(tmp_path: Path) -> None:
    folder = session(tmp_path, "260101-a")
    files = run_files(folder, 1, 31)
    written(folder / "cmd-output" / "cmd-1.1.err", 1)
    assert clean(tmp_path, Keep(days=30)) == Swept()
    assert files[0].exists()


def test_exec_folders_go_whole(tmp_path: Path) -> None:
    old, young = tmp_path / "exec" / "a", tmp_path / "exec" / "b"
    for folder, age in ((old, 31), (young, 29)):
        run_files(folder, 1, age)
        written(folder / "start.bash", age)
    empty = tmp_path / "exec" / "empty"
    empty.mkdir()
    os.utime(empty, (NOW - 99 * DAY, NOW - 99 * DAY))
    assert clean(tmp_path, Keep(days=30)).removed == 2
    assert [path.name for path in (tmp_path / "exec").iterdir()] == ["b"]


def test_above_the_size_the_oldest_go_until_the_rest_fits(tmp_path: Path) -> None:
    first, second = session(tmp_path, "260101-a"), session(tmp_path, "260102-b")
    spools = {
        "oldest": written(first / "cmd-output" / "cmd-1.txt", 5, MEGABYTE),
        "middle": written(second / "cmd-output" / "cmd-1.txt", 4, MEGABYTE),
        "exec": written(tmp_path / "exec" / "x" / "cmd-output" / "cmd-1.txt", 3, MEGABYTE),
        "newest": written(first / "cmd-output" / "cmd-2.txt", 2, MEGABYTE),
    }
    assert clean(tmp_path, Keep(days=30, total_mb=2)).removed == 2
    assert [name for name, path in spools.items() if path.exists()] == ["exec", "newest"]
    assert clean(tmp_path, Keep(days=30, total_mb=2)) == Swept()


def test_a_file_with_two_names_counts_once_and_loses_both(tmp_path: Path) -> None:
    folder = session(tmp_path, "260101-a")
    spool = written(folder / "cmd-output" / "cmd-1.txt", 5, 2 * MEGABYTE)
    (folder / "cmd-output" / "cmd-1.gz").hardlink_to(spool)
    assert clean(tmp_path, Keep(total_mb=3)) == Swept()
    assert clean(tmp_path, Keep(total_mb=1)).removed == 1
    assert list((folder / "cmd-output").iterdir()) == []


def test_zero_means_no_limit(tmp_path: Path) -> None:
    folder = session(tmp_path, "260101-a")
    run_files(folder, 1, 4000, MEGABYTE)
    assert clean(tmp_path, Keep(days=0, total_mb=0)) == Swept()


LOCKER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_session_that_another_program_has_open_is_left_alone(tmp_path: Path) -> None:
    busy, free = session(tmp_path, "260101-a"), session(tmp_path, "260102-b")
    theirs, ours = run_files(busy, 1, 99, MEGABYTE), run_files(free, 1, 31, MEGABYTE)
    locker = [sys.executable, "-c", LOCKER, str(busy / "lock")]
    with subprocess.Popen(locker, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        assert clean(tmp_path, Keep(days=30, total_mb=1)).removed == 1
        assert all(path.exists() for path in theirs)
        assert not any(path.exists() for path in ours)
        process.communicate(b"")
    assert clean(tmp_path, Keep(days=30)).removed == 1
    assert not any(path.exists() for path in theirs)


def test_our_own_open_session_is_left_alone(tmp_path: Path) -> None:
    mine = Session.create(tmp_path / "sessions", "/", "m", "0")
    mine.append(TurnStarted(UserMessage("hello")))
    files = run_files(mine.folder, 1, 99)
    assert clean(tmp_path, Keep(days=30)) == Swept()
    mine.close()
    assert all(path.exists() for path in files)
    assert clean(tmp_path, Keep(days=30)).removed == 1


def test_an_exec_at_work_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "exec" / "a"
    with held(folder):
        files = run_files(folder, 1, 99)
        assert clean(tmp_path, Keep(days=30)) == Swept()
        assert all(path.exists() for path in files)
    assert clean(tmp_path, Keep(days=0, total_mb=1)) == Swept()
    os.utime(folder / "lock", (0, 0))
    assert clean(tmp_path, Keep(days=30)).removed == 1
    assert not folder.exists()


def test_no_link_leads_out(tmp_path: Path) -> None:
    outside = [written(tmp_path / "out" / "cmd-output" / "cmd-1.txt", 99), written(tmp_path / "out" / "cmd-2.txt", 99)]
    (tmp_path / "sessions").mkdir()
    (tmp_path / "exec").mkdir()
    (tmp_path / "sessions" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "exec" / "link").symlink_to(tmp_path / "out")
    real = session(tmp_path, "260101-a")
    (real / "cmd-output").symlink_to(tmp_path / "out")
    inner = session(tmp_path, "260102-b") / "cmd-output"
    inner.mkdir()
    (inner / "cmd-1.txt").symlink_to(outside[1])
    clean(tmp_path, Keep(days=30))
    assert all(path.exists() for path in outside)


def test_it_is_due_once_an_hour(tmp_path: Path) -> None:
    assert sweep_if_due(tmp_path / "nothing", Keep(), NOW) is None
    assert not (tmp_path / "nothing").exists()
    run_files(session(tmp_path, "260101-a"), 1, 99)
    first = sweep_if_due(tmp_path, Keep(), NOW)
    assert first is not None
    assert (first.removed, first.finished) == (1, True)
    assert first.bytes >= 4
    run_files(tmp_path / "sessions" / "260101-a", 2, 99)
    assert sweep_if_due(tmp_path, Keep(), NOW + 3599) is None
    again = sweep_if_due(tmp_path, Keep(), NOW + 3601)
    assert again is not None
    assert again.removed == 1


def test_when_time_is_up_the_next_sweep_goes_on(tmp_path: Path) -> None:
    for number in range(30):
        run_files(session(tmp_path, f"2601{number:02}-a"), 1, 99)
    assert sweep_if_due(tmp_path, Keep(), NOW, max_seconds=-1) == Swept(finished=False)
    done = sweep_if_due(tmp_path, Keep(), NOW + 1)
    assert done is not None
    assert done.removed == 30


def test_a_folder_that_cannot_be_read_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("no folder")
    run_files(tmp_path / "exec" / "a", 1, 99)
    assert clean(tmp_path, Keep()).removed == 1


async def test_a_session_without_its_spools_goes_on_and_counts_on(tmp_path: Path) -> None:
    first = ScriptedModel([reply("", "echo one; echo err >&2", "printf 'a\\0b'"), reply("done")])
    async with bench(tmp_path, first) as it:
        await asked(it, "go", "done")
        name, spools = it.session.id, it.session.cmd_output
    for file in spools.iterdir():
        os.utime(file, (1, 1))
    assert sweep(tmp_path / "sessions", tmp_path / "exec", Keep(), time.time()).removed == 2
    assert list(spools.iterdir()) == []
    async with bench(tmp_path, ScriptedModel([reply("pong")]), resume=name) as it:
        assert it.session.last_number == 2
        await asked(it, "ping", "pong")
