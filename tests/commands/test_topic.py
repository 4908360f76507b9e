from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentclip.commands.topic import TopicCommand, TopicFacts, TopicMatch, TopicRun, Topics
from agentclip.errors import ErrorCode, SessionError
from agentclip.results import StreamFile
from tests.commands.calls import Desk, Outcome


@dataclass(frozen=True, slots=True)
class Facts:
    id: str
    title: str
    cwd: str
    model: str = "some-model"
    created_s: float = 0.0
    updated_s: float = 0.0
    turns: int = 1


@dataclass(frozen=True, slots=True)
class Folder:
    """Conversations as files: `ID.json` and the raw outputs beside it."""

    path: Path

    def save(self, facts: Facts, *runs: Mapping[str, object]) -> None:
        fields = {name: getattr(facts, name) for name in Facts.__slots__}
        (self.path / f"{facts.id}.json").write_text(json.dumps({"facts": fields, "runs": runs}))

    def list(self, limit: int | None) -> Sequence[TopicFacts]:
        topics = [Facts(**json.loads(file.read_text())["facts"]) for file in self.path.glob("*.json")]
        return sorted(topics, key=lambda topic: topic.updated_s, reverse=True)[:limit]

    def info(self, topic: str) -> TopicFacts:
        found = [facts for facts in self.list(None) if facts.id.startswith(topic)]
        if len(found) != 1:
            raise SessionError(f"no session {topic!r}" if not found else f"{topic!r} fits {len(found)} sessions")
        return found[0]

    def runs(self, topic: str) -> Sequence[TopicRun]:
        runs = json.loads((self.path / f"{topic}.json").read_text())["runs"]
        return tuple(TopicRun(**{**run, "stdout": run["stdout"] and StreamFile(*run["stdout"])}) for run in runs)

    def search(self, words: Sequence[str], stop: Callable[[], None]) -> Iterator[TopicMatch]:
        for facts in self.list(None):
            for run in self.runs(facts.id):
                stop()
                if all(word.lower() in run.command.lower() for word in words):
                    yield TopicMatch(facts.id, facts.updated_s, f"run {run.number}", run.command)

    def rename(self, topic: str, title: str) -> str:
        fields = json.loads((self.path / f"{topic}.json").read_text())
        fields["facts"]["title"] = title
        (self.path / f"{topic}.json").write_text(json.dumps(fields))
        return title


_: type[Topics] = Folder


@pytest.fixture
def topics(tmp_path: Path) -> Folder:
    folder = tmp_path / "topics"
    folder.mkdir()
    return Folder(folder)


@pytest.fixture
def filled(topics: Folder) -> Folder:
    raw = topics.path / "raw"
    raw.write_bytes(b"raw \x00\xff bytes\nand what came later")
    topics.save(Facts("aa-1", "Deploy it", "/srv/app", updated_s=time.time()))
    topics.save(
        Facts("ab-2", "Count the\nerrors\x1b[2J", "/tmp/x\ty", updated_s=1e9, created_s=9e8, turns=3),
        {"number": 1, "command": "ls", "status": 0, "shown": "a\n[exit:0 | 12ms]", "stdout": None},
        {"number": 2, "command": "cat log", "status": 1, "shown": "half\n[exit:1 | 3ms]\n", "stdout": [str(raw), 11]},
        {"number": 3, "command": "sleep 9", "status": None, "shown": "", "stdout": None},
    )
    return topics


def topic(desk: Desk, topics: Topics, *words: str) -> Outcome:
    return desk.call(TopicCommand(topics), "topic", *words)


def test_bare_topic_says_how_it_is_used(desk: Desk, topics: Folder) -> None:
    outcome = topic(desk, topics)
    assert (outcome.status, outcome.out, outcome.error) == (
        2,
        b"",
        "[error] topic: usage: topic list|info|runs|run|search|rename",
    )


def test_conversations_are_listed_newest_first_one_per_line(desk: Desk, filled: Folder) -> None:
    first, second = (line.split("\t") for line in topic(desk, filled, "list").text.splitlines())
    assert (first[0], first[2:]) == ("aa-1", ["Deploy it", "/srv/app"])
    assert (second[0], second[1][:4], second[2:]) == ("ab-2", "2001", [r"Count the\nerrors\x1b[2J", r"/tmp/x\ty"])


def test_an_empty_list_is_no_error_and_no_data(desk: Desk, topics: Folder) -> None:
    outcome = topic(desk, topics, "list")
    assert (outcome.status, outcome.out, outcome.error) == (0, b"", "no conversations yet")


@pytest.mark.parametrize(("words", "count"), [((), 20), (("-n", "3"), 3), (("--all",), 30), (("-n", "99"), 30)])
def test_the_list_is_limited_unless_all_are_wanted(desk: Desk, topics: Folder, words: Sequence[str], count: int) -> None:
    for number in range(30):
        topics.save(Facts(f"id-{number}", "", "/", updated_s=number))
    assert len(topic(desk, topics, "list", *words).text.splitlines()) == count


def test_info_shows_facts_and_runs(desk: Desk, filled: Folder) -> None:
    lines = topic(desk, filled, "info", "ab").text.splitlines()
    assert lines[0] == "id: ab-2"
    assert lines[1] == r"title: Count the\nerrors\x1b[2J"
    assert lines[6:] == ["turns: 3", "runs: 3", "  1  [exit:0]  ls", "  2  [exit:1]  cat log", "  3  [never ended]  sleep 9"]


def test_info_shows_the_latest_runs_of_many_each_on_a_line(desk: Desk, topics: Folder) -> None:
    runs = [{"number": n, "command": f"echo {n}\n" + "x" * 999, "status": 0, "shown": "", "stdout": None} for n in range(1, 41)]
    topics.save(Facts("long", "", "/"), *runs)
    lines = topic(desk, topics, "info", "long").text.splitlines()
    assert lines[7] == "runs: 40, the last 10:"
    assert [line.split()[0] for line in lines[8:]] == [str(number) for number in range(31, 41)]
    assert max(map(len, lines)) < 150


def test_a_run_is_shown_as_the_model_read_it(desk: Desk, filled: Folder) -> None:
    outcome = topic(desk, filled, "run", "ab-2", "2")
    assert outcome.text == "$ cat log\nhalf\n[exit:1 | 3ms]\n"
    assert outcome.error == "raw output: 11 bytes, topic run ab-2 2 --raw"


def test_without_a_number_the_last_run_is_shown(desk: Desk, filled: Folder) -> None:
    assert topic(desk, filled, "run", "ab-2").text == "$ sleep 9\n[it never ended]\n"


def test_raw_is_the_output_byte_for_byte_and_only_what_belongs_to_the_run(desk: Desk, filled: Folder) -> None:
    outcome = topic(desk, filled, "run", "ab-2", "2", "--raw")
    assert (outcome.status, outcome.out, outcome.err) == (0, b"raw \x00\xff bytes\nand"[:11], b"")


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (("run", "ab-2", "1", "--raw"), 1, "the raw output of run 1 is gone (NOT_FOUND). Use: topic run ab-2 1"),
        (("run", "ab-2", "9"), 2, "ab-2 has no run 9, only 1..3 (INPUT_NOT_FOUND). Use: topic info ab-2"),
        (("run", "aa-1"), 1, "nothing ran in aa-1 (NOT_FOUND). Use: topic info aa-1"),
        (("info", "zz"), 2, "no session 'zz' (SESSION_NOT_FOUND). Use: topic list"),
        (("run", "a", "1"), 2, "'a' fits 2 sessions (SESSION_NOT_FOUND). Use: topic list"),
        (("run", "ab-2", "0"), 2, "number is 0, allowed: 1.. (INVALID_VALUE). Use: topic run --help"),
        (("run", "ab-2", "two"), 2, "number must be an integer, got 'two' (INVALID_TYPE). Use: topic run --help"),
    ],
)
def test_what_is_not_there_is_said_with_the_next_step(
    desk: Desk, filled: Folder, words: Sequence[str], status: int, line: str
) -> None:
    outcome = topic(desk, filled, *words)
    assert (outcome.status, outcome.out, outcome.error) == (status, b"", f"[error] topic: {line}")


def test_a_raw_file_that_vanished_is_an_error_and_no_crash(desk: Desk, filled: Folder) -> None:
    (filled.path / "raw").unlink()
    outcome = topic(desk, filled, "run", "ab-2", "2", "--raw")
    assert outcome.status == ErrorCode.FAILED.exit_status
    assert "No such file or directory" in outcome.error


def test_runs_are_listed_one_per_line(desk: Desk, filled: Folder) -> None:
    assert topic(desk, filled, "runs", "ab").text == "1\texit:0\tls\n2\texit:1\tcat log\n3\tnever ended\tsleep 9\n"
    assert topic(desk, filled, "runs", "ab", "-n", "1").text == "3\tnever ended\tsleep 9\n"
    nothing = topic(desk, filled, "runs", "aa")
    assert (nothing.status, nothing.out, nothing.error) == (0, b"", "nothing ran in aa-1 yet")


def test_what_is_found_is_one_line_with_the_word_in_it(desk: Desk, topics: Folder) -> None:
    command = "x" * 500 + " Needle\n" + "y" * 500
    topics.save(Facts("aa", "", "/"), {"number": 1, "command": command, "status": 0, "shown": "", "stdout": None})
    (line,) = topic(desk, topics, "search", "needle").text.splitlines()
    fields = line.split("\t")
    assert (fields[0], fields[2]) == ("aa", "run 1")
    assert "Needle" in fields[3]
    assert len(fields[3]) < 170


def test_a_search_stops_at_its_limit_without_reading_on(desk: Desk, topics: Folder) -> None:
    runs = [{"number": n, "command": f"echo {n}", "status": 0, "shown": "", "stdout": None} for n in range(1, 41)]
    topics.save(Facts("aa", "", "/"), *runs)
    outcome = topic(desk, topics, "search", "echo", "-n", "3")
    assert len(outcome.text.splitlines()) == 3
    assert outcome.error == "there is more: topic search -n 30 echo"
    assert topic(desk, topics, "search", "echo", "-n", "40").err == b""


def test_a_search_that_finds_nothing_is_a_finding(desk: Desk, filled: Folder) -> None:
    outcome = topic(desk, filled, "search", "no", "such thing")
    assert (outcome.status, outcome.out) == (1, b"")
    assert outcome.error == "[error] topic: no conversation holds no 'such thing' (NOT_FOUND). Use: topic list"


def test_a_conversation_gets_another_title(desk: Desk, filled: Folder) -> None:
    assert topic(desk, filled, "rename", "ab", "Errors of May").text == "ab-2 is now: Errors of May\n"
    assert filled.info("ab-2").title == "Errors of May"
    assert topic(desk, filled, "rename", "zz", "x").error.endswith("(SESSION_NOT_FOUND). Use: topic list")
