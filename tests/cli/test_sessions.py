"""`agentclip sessions`: what a person or a script does with what is saved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentclip.events import CommandFinished, Notice, TurnStarted
from agentclip.messages import AssistantMessage, UserMessage
from agentclip.store.listing import list_sessions
from agentclip.store.session import Session
from agentclip.ui.first_picture import NORMAL
from tests.cases.program import Home, home
from tests.store.samples import CHAIN, finished, one_of_each
from tests.ui.pty_session import on_terminal

EVIL = "a\x1b]0;title\x07b ```\n``` \u202ereversed\u2066 \x9b31m \u2028 <script>\n# no heading\r\x00 `x` </details>"


@pytest.fixture
def here(tmp_path: Path) -> Home:
    return home(tmp_path)


def save(here: Home, prompt: str = "fix the parser", cwd: str | None = None) -> Session:
    """A closed session with one of each event and one real spool."""
    session = Session.create(here.state / "sessions", cwd or str(here.work), "m", "0.1")
    session.append(TurnStarted(UserMessage(prompt)))
    for event in one_of_each(str(session.cmd_output))[2:]:
        session.append(event)
    (session.cmd_output / "cmd-1.txt").write_text("2\n")
    session.close()
    return session


def document(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_list_and_show(here: Home) -> None:
    session = save(here, "fix\x1b[31m the parser 文件")
    listed = here.call("sessions", "list").stdout.decode()
    assert listed.startswith(f"{session.id}  ")
    assert "1 turn  fix [31m the parser 文件  (" in listed
    assert [each["id"] for each in document(here.call("sessions", "list", "--json"))["sessions"]] == [session.id]
    shown = here.call("sessions", "show", session.id[:10]).stdout.decode()
    assert "exit 0  ls 2>&1 | wc -l" in shown
    found = document(here.call("sessions", "show", session.id, "--json"))
    assert (found["session"]["title"], found["session"]["turns"]) == ("fix [31m the parser 文件", 1)
    (run,) = found["runs"]
    assert (run["number"], run["command"], run["exit_code"]) == (1, CHAIN.source, 0)
    assert Path(run["spool"]).read_text() == "2\n"


def test_list_here_leaves_other_directories_out(here: Home) -> None:
    save(here, cwd="/elsewhere")
    session = save(here)
    found = document(here.call("sessions", "list", "--here", "--json"))["sessions"]
    assert [each["id"] for each in found] == [session.id]


def test_show_snapshot_prints_the_newest_file(here: Home) -> None:
    session = save(here)
    done = here.call("sessions", "show", session.id, "--snapshot")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"has no snapshot yet" in done.stderr
    for number in (1, 2, 10):
        (session.folder / f"snapshot-{number:04}.xml").write_text(f"<state_snapshot>{number}\x1b[2J</state_snapshot>\n")
    done = here.call("sessions", "show", session.id, "--snapshot")
    assert done.stdout.decode() == "<state_snapshot>10␛[2J</state_snapshot>\n"


def test_rename(here: Home) -> None:
    session = save(here)
    assert here.call("sessions", "rename", session.id, "日本語 title").returncode == 0
    assert list_sessions(here.state / "sessions")[0].title == "日本語 title"
    assert here.call("sessions", "rename", session.id, "").returncode == 0
    assert list_sessions(here.state / "sessions")[0].title == "fix the parser"


def test_delete_asks_or_wants_yes_and_removes_everything(here: Home) -> None:
    first, second = save(here), save(here)
    done = here.call("sessions", "delete", first.id)
    assert done.returncode == 2
    assert b"nobody can be asked here. Use: --yes" in done.stderr
    assert first.folder.exists()
    assert here.call("sessions", "delete", "--yes", first.id).returncode == 0
    assert os.listdir(here.state / "sessions") == [second.id]
    assert here.call("sessions", "delete", "--yes", first.id).returncode == 2


def test_a_session_that_is_open_is_neither_deleted_nor_renamed_but_can_be_copied(here: Home) -> None:
    session = Session.open(here.state / "sessions", save(here).id)
    try:
        for words in (("delete", "--yes", session.id), ("rename", session.id, "x")):
            done = here.call("sessions", *words)
            assert done.returncode == 69
            assert f"open in another agentclip (pid {os.getpid()})".encode() in done.stderr
        assert here.call("sessions", "fork", session.id).returncode == 0
        session.append(Notice("still at work"))
    finally:
        session.close()
    assert len(list_sessions(here.state / "sessions")) == 2


def test_a_copy_is_a_session_of_its_own(here: Home) -> None:
    session = save(here, f"look at /x/{'y' * 3} and prose")
    (session.folder / "snapshot-0001.xml").write_text(f"<file>{session.cmd_output}/cmd-1.txt</file>")
    (session.cmd_output / "link").symlink_to("/etc/passwd")
    with (session.folder / "events.jsonl").open("ab") as file:
        file.write(b'{"v":1,"seq":99,"ti')  # another program is in the middle of a line
    found = document(here.call("sessions", "fork", session.id, "--title", "the other way", "--json"))["session"]
    assert found["title"] == "the other way"
    shutil.rmtree(session.folder)
    copy = Session.open(here.state / "sessions", found["id"])
    try:
        assert copy.notices == ()
        assert len(copy.events) == len(one_of_each())
        assert session.id not in (copy.folder / "events.jsonl").read_text()
        assert copy.id in (copy.folder / "snapshot-0001.xml").read_text()
        assert sorted(os.listdir(copy.cmd_output)) == ["cmd-1.txt"]
        assert [path for path in copy.folder.rglob("*") if path.stat().st_mode & 0o077] == []
        copy.append(TurnStarted(UserMessage("go on")))
    finally:
        copy.close()


def test_a_copy_that_fails_leaves_nothing(here: Home) -> None:
    session = save(here)
    shutil.rmtree(session.cmd_output)
    done = here.call("sessions", "fork", session.id)
    assert done.returncode == 69
    assert os.listdir(here.state / "sessions") == [session.id]


def test_export_as_markdown_holds_everything_and_nothing_gets_out_of_its_fence(here: Home) -> None:
    session = save(here, EVIL)
    session = Session.open(here.state / "sessions", session.id)
    session.append(finished(str(session.cmd_output), 2, text=EVIL))
    session.append(Notice("note `with` ticks\x1b[0m"))
    session.close()
    text = here.call("sessions", "export", session.id).stdout.decode("utf-8", "strict")
    outside = outside_of_fences(text)
    assert next(line for line in outside if line.startswith("#")) == f"# agentclip session {session.id}"
    assert not [line for line in outside if "script" in line.lower() and not line.startswith("- title: `")]
    assert not [line for line in outside if "no heading" in line and not line.startswith("- title: `")]
    assert not set("\x1b\x07\x9b\u202e\u2066\u2028\r\x00") & set(text)
    assert "a␛]0;title␇b" in text
    assert "<U+202E>reversed<U+2066>" in text
    assert "Note: `` note `with` ticks␛[0m ``" in text
    for words in ("looking", CHAIN.source, "[exit:0 | 3ms]", "[cancelled: not run]", "Prompt, "):
        assert words in text


def outside_of_fences(text: str) -> list[str]:
    """By CommonMark: a fence closes with as many ticks as it opened with, or more."""
    lines, fence = [], ""
    for line in text.split("\n"):
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            if len(ticks) >= len(fence) and line == ticks:
                fence = ""
        elif len(ticks) >= 3:
            fence = ticks
        else:
            lines.append(line)
    assert not fence, "a fence is open at the end"
    return lines


def test_export_as_json_is_one_document_of_ascii(here: Home) -> None:
    session = save(here, EVIL)
    done = here.call("sessions", "export", session.id, "--format", "json")
    assert done.stdout.isascii()
    found = json.loads(done.stdout)
    assert [event["type"] for event in found["events"]][:3] == ["SessionStarted", "TurnStarted", "AssistantReplied"]
    assert found["events"][1]["message"]["text"] == EVIL
    assert found["session"]["id"] == session.id


def test_export_to_a_file_is_private_and_whole_or_not_at_all(here: Home) -> None:
    session = save(here)
    for _ in range(2):
        assert here.call("sessions", "export", session.id, "-o", "talk.md").returncode == 0
    target = here.work / "talk.md"
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_text().startswith("# agentclip session")
    assert os.listdir(here.work) == ["talk.md"]
    assert here.call("sessions", "export", session.id, "-o", "none/talk.md").returncode == 2


def test_a_session_whose_facts_or_log_are_damaged_can_be_shown_and_exported(here: Home) -> None:
    session = save(here)
    (session.folder / "meta.json").write_bytes(b"\xff")
    with (session.folder / "events.jsonl").open("ab") as file:
        file.write(b"rubbish\n" + b'{"v":1,"seq":50,"time":1.0,"type":"TurnStarted","message":7}\n')
    assert here.call("sessions", "show", session.id).returncode == 0
    done = here.call("sessions", "export", session.id)
    assert done.returncode == 0
    assert b"an event of this session is damaged and could not be read" in done.stdout


@pytest.mark.parametrize("words", [("show",), ("export",), ("fork",), ("rename", "x"), ("delete", "--yes")])
def test_an_unknown_session_is_said_so(here: Home, words: tuple[str, ...]) -> None:
    done = here.call("sessions", words[0], "nope", *words[1:])
    assert done.returncode == 2
    assert b"no session 'nope'" in done.stderr


def test_a_missing_directory_is_said_before_anything_runs(here: Home, tmp_path: Path) -> None:
    """Case B59, its last part, without a terminal."""
    gone = tmp_path / "gone"
    gone.mkdir()
    recording = tmp_path / "r.jsonl"
    recording.write_text(json.dumps({"calls": [{"command": "touch ran; pwd"}]}) + '\n{"text": "ok"}\n')
    session = Session.create(here.state / "sessions", str(gone), "m", "0.1")
    session.append(TurnStarted(UserMessage("go")))
    session.close()
    resume = ("run", "go on", "--resume", session.id, "--model", f"replay:{recording}", "--json")
    assert here.call(*resume).returncode == 0
    assert (gone / "ran").exists()
    shutil.rmtree(gone)
    done = here.call(*resume)
    found = document(done)
    assert (done.returncode, found["error"]["code"]) == (2, "INPUT_NOT_FOUND")
    assert f"the directory of session {session.id} is gone: {gone}" in found["error"]["message"]
    assert not (here.work / "ran").exists()


def test_only_the_last_directory_is_gone_so_it_goes_on_in_the_first(here: Home, tmp_path: Path) -> None:
    recording = tmp_path / "r.jsonl"
    calls = [{"command": "mkdir deep; cd deep"}]
    recording.write_text(json.dumps({"calls": calls}) + '\n{"text": "ok"}\n')
    begun = document(here.call("run", "go", "--model", f"replay:{recording}", "--json"))
    (here.work / "deep").rmdir()
    recording.write_text(json.dumps({"calls": [{"command": "touch ran"}]}) + '\n{"text": "ok"}\n')
    done = here.call("run", "on", "--resume", begun["session"], "--model", f"replay:{recording}")
    assert done.returncode == 0
    assert b"deep is gone: back in " in done.stderr
    assert (here.work / "ran").exists()


def test_b59_on_a_terminal_a_missing_directory_is_asked_about(here: Home, tmp_path: Path) -> None:
    session = save(here, cwd=str(tmp_path / "gone" / "deep"))
    events = Session.open(here.state / "sessions", session.id)
    events.append(replace_cwd(str(tmp_path / "gone" / "deep"), str(events.cmd_output)))
    events.close()
    words = ("-m", "agentclip", "--resume", session.id, "--model", "replay:demo")
    with on_terminal(*words, size=(240, 40), environment=dict(here.env)) as terminal:
        terminal.wait_for("Directory [1]:")
        asked = terminal.sent[terminal.sent.rindex(NORMAL.encode()) :]  # below the first picture
        assert f"The directory of this session is gone: {tmp_path}/gone/deep".encode() in asked
        assert f"1  go on in {tmp_path}".encode() in asked
        assert terminal.mode() == terminal.mode_before
        terminal.type("1\r")
        terminal.wait_for("fix the parser")
        assert b"no run yet" not in terminal.sent
        terminal.process.terminate()
        terminal.wait_for_end()
    assert list_sessions(here.state / "sessions")[0].cwd == str(tmp_path)


def test_line_by_line_a_session_is_chosen_by_its_number_from_a_plain_list(here: Home, tmp_path: Path) -> None:
    save(here, "an older task")
    elsewhere = save(here, "task of another place", cwd=str(tmp_path))
    words = ("-m", "agentclip", "--line", "--resume", "--model", "replay:demo")
    with on_terminal(*words, size=(240, 40), environment=dict(here.env)) as terminal:
        terminal.wait_for("Session [1]:")
        assert "an older task" in terminal.text
        assert f"task of another place  ({tmp_path})  {elsewhere.id}" in terminal.text
        number = next(line for line in terminal.text.splitlines() if elsewhere.id in line).split()[0]
        terminal.type(f"{number}\r")
        terminal.wait_for("> ")
        terminal.type("\x04")
        assert terminal.wait_for_end() == 0
        assert f"To come back: agentclip --resume {elsewhere.id}".encode() in terminal.sent


def replace_cwd(cwd: str, folder: str) -> CommandFinished:
    event = finished(folder, 2)
    return replace(event, result=replace(event.result, cwd=cwd))


def test_empty_and_missing_state_is_an_empty_list(here: Home) -> None:
    assert document(here.call("sessions", "list", "--json")) == {"ok": True, "sessions": []}


def test_an_answer_without_text_makes_no_empty_part() -> None:
    from agentclip.cli.export import as_markdown
    from agentclip.events import AssistantReplied, Recorded
    from agentclip.store.facts import SessionFacts

    facts = SessionFacts("id", "", "", "", "", 0.0, 0.0)
    text = "".join(as_markdown(facts, [Recorded(1, 0.0, AssistantReplied(AssistantMessage("")))]))
    assert "Answer" not in text
