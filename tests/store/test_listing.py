from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentclip.errors import SessionError
from agentclip.events import TurnStarted
from agentclip.messages import UserMessage
from agentclip.store.facts import SessionFacts, write_facts
from agentclip.store.listing import find, list_sessions, newest
from agentclip.store.session import Session

FACTS = SessionFacts("", "t", "/a", "m", "0.1", 1.0, 1.0)


def save(sessions_dir: Path, name: str, *, updated_s: float = 1.0, cwd: str = "/a") -> None:
    folder = sessions_dir / name
    folder.mkdir(parents=True)
    write_facts(folder, replace(FACTS, id=name, updated_s=updated_s, cwd=cwd))


def test_sessions_come_newest_first_and_by_directory(tmp_path: Path) -> None:
    save(tmp_path, "one", updated_s=3.0)
    save(tmp_path, "two", updated_s=9.0, cwd="/b")
    save(tmp_path, "three", updated_s=5.0)
    assert [facts.id for facts in list_sessions(tmp_path)] == ["two", "three", "one"]
    assert [facts.id for facts in list_sessions(tmp_path, "/a")] == ["three", "one"]
    newest_of_a = newest(tmp_path, "/a")
    assert newest_of_a is not None
    assert newest_of_a.id == "three"
    assert newest(tmp_path, "/c") is None


def test_no_folder_means_no_sessions(tmp_path: Path) -> None:
    assert list_sessions(tmp_path / "none") == ()


def test_what_is_no_session_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / ".hidden").mkdir()
    save(tmp_path / "real", "one")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "one")
    assert list_sessions(tmp_path) == ()


def test_a_thousand_sessions_are_listed_without_reading_their_logs(tmp_path: Path) -> None:
    for number in range(1000):
        save(tmp_path, f"s{number:04}", updated_s=float(number))
        (tmp_path / f"s{number:04}" / "events.jsonl").mkdir()  # reading it would fail
    best = min(_seconds(tmp_path) for _ in range(5))
    assert best < 0.15


def _seconds(sessions_dir: Path) -> float:
    began = time.perf_counter()
    assert len(list_sessions(sessions_dir)) == 1000
    return time.perf_counter() - began


def test_a_unique_beginning_finds_a_session(tmp_path: Path) -> None:
    for name in ("260101-abc", "260101-abd", "260102-x", "260102-xy"):
        save(tmp_path, name)
    assert find(tmp_path, "260101-abc").name == "260101-abc"
    assert find(tmp_path, "260101-abd").name == "260101-abd"
    assert find(tmp_path, "260102-x").name == "260102-x"
    with pytest.raises(SessionError, match="fits 2 sessions: 260101-abc, 260101-abd"):
        find(tmp_path, "260101-ab")


@pytest.mark.parametrize("typed", ["", "..", "../x", "nope", "/etc", "a\0b", "\ud800"])
def test_what_fits_no_session_is_said_so(tmp_path: Path, typed: str) -> None:
    save(tmp_path, "260101-abc")
    with pytest.raises(SessionError, match="no session"):
        find(tmp_path, typed)


def test_a_session_being_written_is_listed_with_its_title(tmp_path: Path) -> None:
    session = Session.create(tmp_path, "/a", "m", "0.1")
    session.append(TurnStarted(UserMessage("fix it")))
    (facts,) = list_sessions(tmp_path)
    assert (facts.id, facts.title, facts.turns) == (session.id, "fix it", 1)
    session.close()
