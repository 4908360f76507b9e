from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from agentclip.errors import ErrorCode, SessionError
from agentclip.events import CommandFinished, CommandStarted, Event, Notice, SessionStarted, TurnEnd, TurnFinished, TurnStarted
from agentclip.messages import UserMessage
from agentclip.store.listing import list_sessions
from agentclip.store.session import Session, new_id
from tests.store.samples import lines_of, one_of_each


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The folder of a closed session with one of each event."""
    session = new_session(tmp_path)
    for event in one_of_each(str(session.cmd_output))[1:]:
        session.append(event)
    session.close()
    return session.folder


def new_session(sessions_dir: Path, cwd: str = "/project") -> Session:
    return Session.create(sessions_dir, cwd, "m", "0.1")


def prompt(text: str) -> TurnStarted:
    return TurnStarted(UserMessage(text))


def events_of(session: Session) -> list[Event]:
    return [recorded.event for recorded in session.events]


def test_a_session_without_an_event_leaves_nothing(tmp_path: Path) -> None:
    session = new_session(tmp_path / "sessions")
    session.rename("a name")
    session.close()
    assert not (tmp_path / "sessions").exists()


def test_everything_comes_back_in_order_and_numbered_without_gaps(saved: Path) -> None:
    session = Session.open(saved.parent, saved.name)
    expected = one_of_each(str(saved / "cmd-output"))
    assert events_of(session) == [SessionStarted(saved.name, "/project", "m", "0.1"), *expected[1:]]
    assert [recorded.seq for recorded in session.events] == list(range(1, len(expected) + 1))
    assert session.notices == ()
    assert (session.meta.title, session.meta.turns, session.meta.commands) == ("list 文件 \N{PILE OF POO}", 1, 1)
    assert (session.last_number, session.last_cwd) == (1, "/project/sub")
    session.close()


def test_appending_after_opening_goes_on_with_the_next_number(saved: Path) -> None:
    before = len(lines_of(saved))
    session = Session.open(saved.parent, saved.name)
    recorded = session.append(prompt("again"))
    session.close()
    assert recorded.seq == before + 1
    assert len(lines_of(saved)) == before + 1
    assert Session.open(saved.parent, saved.name).meta.turns == 2


def test_every_cut_of_the_last_line_loses_at_most_that_line(saved: Path, tmp_path: Path) -> None:
    """Case B58: nothing is glued to a torn line; one notice."""
    whole = (saved / "events.jsonl").read_bytes()
    last = len(lines_of(saved)[-1])
    kept = len(lines_of(saved)) - 1
    for cut in range(1, last + 1):
        copy = tmp_path / f"cut{cut}" / saved.name
        shutil.copytree(saved, copy)
        (copy / "events.jsonl").write_bytes(whole[: len(whole) - cut])
        session = Session.open(copy.parent, saved.name)
        assert len(session.events) == (kept + 1 if cut == 1 else kept)
        assert len(session.notices) == (0 if cut == last else 1)
        session.append(prompt("after-cut"))
        session.close()
        again = Session.open(copy.parent, saved.name)
        assert events_of(again)[-1] == prompt("after-cut")
        assert len(again.events) == len(session.events)
        assert again.notices == ()
        again.close()
        shutil.rmtree(copy.parent)


def test_lines_that_cannot_be_read_are_left_out_with_one_notice(saved: Path) -> None:
    lines = lines_of(saved)
    lines[2:2] = [b"\0" * 300 + b"\n", b'{"v":1,"seq":3,"time":1.0,"type":"FromTheFuture"}\n', b"\xff\xfe\n"]
    (saved / "events.jsonl").write_bytes(b"".join(lines))
    session = Session.open(saved.parent, saved.name)
    assert len(session.events) == len(one_of_each())
    assert session.notices == ("3 lines of the session could not be read and were left out",)
    assert session.append(prompt("x")).seq > session.events[-2].seq


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 4096, b"garbage", b'{"v":1,"seq":1,"ti'], ids=["empty", "NUL", "text", "torn"]
)
def test_a_log_without_any_whole_line_opens_as_an_empty_session(saved: Path, content: bytes) -> None:
    (saved / "events.jsonl").write_bytes(content)
    session = Session.open(saved.parent, saved.name)
    assert events_of(session) == []
    session.append(prompt("x"))
    assert [type(event) for event in events_of(session)] == [SessionStarted, TurnStarted]
    session.close()


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"id": 3}', b"\xff"])
def test_lost_facts_come_back_from_the_log(saved: Path, content: bytes | None) -> None:
    (saved / "meta.json").unlink()
    if content is not None:
        (saved / "meta.json").write_bytes(content)
    listed = list_sessions(saved.parent)
    assert [facts.id for facts in listed] == [saved.name]
    Session.open(saved.parent, saved.name).close()
    (facts,) = list_sessions(saved.parent)
    assert (facts.cwd, facts.model, facts.title, facts.turns) == ("/project", "m", "list 文件 \N{PILE OF POO}", 1)


def test_a_second_program_is_refused_with_the_pid_and_the_lock_dies_with_the_first(tmp_path: Path) -> None:
    """Case B57."""
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from agentclip.events import TurnStarted
        from agentclip.messages import UserMessage
        from agentclip.store.session import Session
        session = Session.create(Path(sys.argv[1]), "/project", "m", "0.1")
        session.append(TurnStarted(UserMessage("held")))
        print(session.id, flush=True)
        time.sleep(600)
    """)
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        name = holder.stdout.readline().strip()
        before = (tmp_path / name / "events.jsonl").read_bytes()
        try:
            with pytest.raises(SessionError, match=rf"\(pid {holder.pid}\)") as refusal:
                Session.open(tmp_path, name)
        finally:
            holder.kill()
            holder.wait()
        assert refusal.value.code is ErrorCode.SESSION_BUSY
        assert (tmp_path / name / "events.jsonl").read_bytes() == before
        session = Session.open(tmp_path, name)
        session.append(prompt("mine"))
        session.close()


def test_a_lock_that_a_child_of_the_dead_holder_still_has_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import os, signal, sys, time
        from pathlib import Path
        from agentclip.events import Notice
        from agentclip.store.session import Session
        session = Session.create(Path(sys.argv[1]), "/project", "m", "0.1")
        session.append(Notice("held"))
        print(session.id, flush=True)
        if os.fork() == 0:
            time.sleep(0.3)  # a child between fork and exec
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == -signal.SIGKILL
    (facts,) = list_sessions(tmp_path)
    Session.open(tmp_path, facts.id).close()


def test_a_child_process_does_not_hold_the_lock(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    session.append(prompt("x"))
    with subprocess.Popen(["sleep", "600"], close_fds=False) as child:
        session.close()
        Session.open(tmp_path, session.id).close()
        child.kill()


def test_nobody_else_can_read_it_also_when_the_files_were_wide_before(saved: Path) -> None:
    """Case B56."""
    sessions_dir = saved.parent
    (saved / "cmd-output" / "cmd-1.txt").write_text("secret")
    for path in [sessions_dir, saved, *saved.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    old = os.umask(0o002)
    try:
        Session.open(sessions_dir, saved.name).close()
        fresh = new_session(sessions_dir / "deep" / "er")
        fresh.append(prompt("x"))
        fresh.close()
    finally:
        os.umask(old)
    for path in [sessions_dir, *sessions_dir.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_a_link_in_the_folder_is_left_alone(saved: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    for folder in (saved, saved / "cmd-output"):
        (folder / "link").symlink_to(outside)
    Session.open(saved.parent, saved.name).close()
    assert outside.stat().st_mode & 0o777 == 0o644


def test_a_moved_folder_finds_its_spools(saved: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / saved.name
    moved.parent.mkdir()
    saved.rename(moved)
    session = Session.open(moved.parent, saved.name)
    spools = str(moved / "cmd-output")
    started = next(event for event in events_of(session) if isinstance(event, CommandStarted))
    finished = next(event for event in events_of(session) if isinstance(event, CommandFinished))
    assert started.stdout_path == f"{spools}/cmd-1.txt"
    assert finished.result.stdout.path == f"{spools}/cmd-1.txt"
    assert finished.result.stages[0].stderr is not None
    assert finished.result.stages[0].stderr.path == f"{spools}/cmd-1.0.err"
    assert finished.result.images[0].path == finished.shown.images[0].path == f"{spools}/see-1.png"


def test_a_full_disk_is_an_error_and_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    session.append(prompt("x"))
    before = (session.folder / "events.jsonl").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(SessionError, match="cannot be written"):
            session.append(Notice("y" * 5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert (session.folder / "events.jsonl").read_bytes() == before
    assert events_of(session)[-1] == prompt("x")
    session.append(Notice("fits"))
    session.close()
    again = Session.open(tmp_path, session.id)
    assert events_of(again)[-1] == Notice("fits")
    assert again.notices == ()


def test_half_surrogates_and_nul_are_stored(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    session.append(prompt("a\ud800b\0c"))
    session.close()
    assert events_of(Session.open(tmp_path, session.id))[-1] == prompt("a\ufffdb\0c")


def test_a_title_is_one_line_of_any_script_and_can_be_changed(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    session.append(prompt("修正\n解析器\t\x1b[31m " + "long " * 50))
    assert session.meta.title.startswith("修正 解析器 [31m long long")
    assert len(session.meta.title) <= 80
    session.rename("日本語 title")
    session.append(TurnFinished(TurnEnd.ANSWERED))
    session.close()
    (facts,) = list_sessions(tmp_path)
    assert facts.title == "日本語 title"
    session = Session.open(tmp_path, session.id)
    session.rename(" ")
    session.close()
    assert list_sessions(tmp_path)[0].title.startswith("修正")


def test_killed_at_any_moment_it_opens_with_all_that_was_appended(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        from agentclip.events import Notice, TurnStarted
        from agentclip.messages import UserMessage
        from agentclip.store.session import Session
        session = Session.create(Path(sys.argv[1]), "/project", "m", "0.1")
        print(session.id, flush=True)
        for number in range(1_000_000):
            recorded = session.append(TurnStarted(UserMessage("x" * (number % 977))))
            sys.stdout.write(f"{recorded.seq}\\n")
            sys.stdout.flush()
    """)
    for lines in (1, 2, 3, 5, 50, 300):
        with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            name = writer.stdout.readline().strip()
            said = [int(writer.stdout.readline()) for _ in range(lines)]
            writer.kill()
            said += [int(line) for line in writer.stdout.read().splitlines() if line]
        session = Session.open(tmp_path, name)
        assert len(session.events) >= said[-1]
        assert [recorded.seq for recorded in session.events] == list(range(1, len(session.events) + 1))
        session.append(Notice("alive"))
        session.close()


def test_ids_sort_by_time_and_do_not_repeat() -> None:
    at = [1770000000 + step * 0.1 for step in range(1000)]
    ids = [new_id(now_s) for now_s in at]
    assert ids == sorted(ids)
    assert len({new_id(at[0]) for _ in range(20)}) > 10
    assert new_id(at[0]).startswith("260202-")


def test_a_closed_session_takes_no_more_events(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    session.append(prompt("x"))
    session.close()
    session.close()
    with pytest.raises(SessionError):
        session.append(prompt("y"))
