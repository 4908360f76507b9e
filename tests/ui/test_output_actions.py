"""c, o and r in the panes: what is copied, what the pager gets, what runs again."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.selection import Selection

from agentclip.errors import ConfigError
from agentclip.ui.pager import pager_words, reading
from agentclip.ui.rawpane import COPIED
from agentclip.ui.spool_index import END
from tests.ui.pty_session import on_terminal
from tests.ui.screens import drawn, make_app, pane_rows, screen_text, send, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)
EVIL = b"\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07\x1b[?1049l\x1b[2J\xc2\x9b end\n"


async def test_c_copies_the_line_pointed_at_the_source_of_a_message_and_the_command_of_a_run(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.say("some **bold** words")
        agent.run("printf 'a\\nb'", b"\x1b[31ma\x1b[0m line\nb line\n")
        await drawn(pilot)
        app.board.raw.focus()
        await pilot.press("c")
        assert app.clipboard == "a line"
        assert "copied the line, 6 characters" in screen_text(app)
        await pilot.click("#raw", offset=(5, 2))
        await pilot.press("c")
        assert app.clipboard == "b line"
        app.board.chat.focus()
        await pilot.press("c")
        assert app.clipboard == "printf 'a\\nb'"
        assert "copied the command" in screen_text(app)
        await pilot.click("#chat", offset=(3, 1))
        await pilot.press("c")
        assert app.clipboard == "some **bold** words"
        app.board.model.focus()
        await pilot.press("c")
        assert app.clipboard == "a line" or app.clipboard.endswith("line")


async def test_c_copies_a_long_line_itself_and_says_when_it_was_cut(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        line = "\x1b[1m日本語\x1b[0m\t" + "x" * 20_000 + "FARAWAY"
        agent.run("cat", f"{line}\n".encode() + b"y" * 3_000_000 + b"\nlast\n")
        await until(pilot, lambda: raw.total_rows() == 3)
        raw.focus()
        await pilot.press("c")
        assert app.clipboard == "日本語\t" + "x" * 20_000 + "FARAWAY"
        assert "copied the line, 20,011 characters" in screen_text(app)
        raw.point(1)
        await pilot.press("c")
        assert app.clipboard == "y" * COPIED
        await drawn(pilot)
        assert "copied the first 1.0MB of the line (2.9MB), 1,048,576 characters" in screen_text(app)


async def test_a_selection_across_our_mark_is_the_line_itself(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        raw = app.board.raw
        line = "日" + "x" * 20_000 + "end"
        agent.run("cat", f"{line}\n{line}\n{line}\n".encode() + b"y" * 2 * COPIED + b"\n")
        await until(pilot, lambda: raw.total_rows() == 4)
        first, last = re.search(r"… \+\d+,\d+ bytes …", raw.whole_at(0).text).span()  # type: ignore[union-attr]
        cell = 1  # 日 has two
        for start, end, expected in (
            ((4, 0), (4, 1), line[1:] + "\n日"),
            ((2, 0), (last + 4 + cell, 0), line[: 1 - END + 3]),
            ((first - 1 + cell, 1), (first + 2 + cell, 1), line[first - 3 : len(line) - END]),
            ((last + cell, 2), (last + 3 + cell, 2), "xxx"),
            ((2, 3), (1_000_000, 3), "y" * COPIED),
        ):
            app.screen.selections = {raw: Selection(Offset(*start), Offset(*end))}
            await pilot.press("ctrl+c")
            assert app.clipboard == expected


async def test_c_copies_what_is_selected_first_and_foreign_text_without_escapes(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.say("evil \x1b]52;c;aGk=\x07\ud800 text")
        await drawn(pilot)
        app.board.chat.focus()
        await pilot.press("c")
        assert app.clipboard == "evil ␛]52;c;aGk=␇\\ud800 text"
        await pilot.mouse_down("#chat", offset=(1, 1))
        await pilot.hover("#chat", offset=(4, 1))
        await pilot.mouse_up("#chat", offset=(4, 1))
        await pilot.press("c")
        assert app.clipboard == "evil"
        app.board.prompt.focus()
        await send(pilot, "/copy")
        assert app.clipboard == "evil ␛]52;c;aGk=␇\\ud800 text"


async def test_r_runs_the_chosen_command_again_also_one_of_the_model(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        app.board.raw.focus()
        await pilot.press("r")
        await drawn(pilot)
        assert "no run yet" in screen_text(app)
        agent.run("make first", b"1\n")
        agent.run("make second", b"2\n")
        await until(pilot, lambda: pane_rows(app.board.raw) == ["= 2"])
        await pilot.press("r")
        await pilot.press("alt+up", "alt+up")
        await drawn(pilot)
        await pilot.press("r")
        assert agent.calls == ["shell make second", "shell make first"]
        await drawn(pilot)
        assert "run 1 again: make first" in screen_text(app)


async def test_o_without_a_pager_is_one_clear_line(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager -x")
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        app.board.raw.focus()
        await pilot.press("o")
        await drawn(pilot)
        assert "nothing to open here yet" in screen_text(app)
        agent.run("seq", b"1\n")
        await drawn(pilot)
        await pilot.press("o")
        await drawn(pilot)
        assert "no program `no-such-pager -x` to read long texts" in screen_text(app)


@pytest.mark.parametrize(
    ("setting", "words"), [("", ["less"]), ("  ", ["less"]), ("less -iX", ["less", "-iX"]), ("cat '-s'", ["cat", "-s"])]
)
def test_the_pager_is_what_the_person_set(setting: str, words: list[str], tmp_path: Path) -> None:
    for name in ("less", "cat"):
        (tmp_path / name).touch(mode=0o700)
    assert pager_words({"PAGER": setting, "PATH": str(tmp_path)}) == words


@pytest.mark.parametrize("setting", ["'less", "nonesuch", "/nonesuch/less", "''"])
def test_a_pager_that_cannot_run_is_refused(setting: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        pager_words({"PAGER": setting, "PATH": str(tmp_path)})


def test_less_gets_the_files_as_they_are_and_passes_colours_only(tmp_path: Path) -> None:
    file = tmp_path / "cmd-1.txt"
    file.write_bytes(EVIL)
    assert reading(["/usr/bin/less", "-r"], [file], tmp_path) == ["/usr/bin/less", "-r", "-R", "--", str(file)]


def test_any_other_pager_gets_copies_in_which_nothing_acts(tmp_path: Path) -> None:
    source, folder = tmp_path / "cmd-1.txt", tmp_path / "copies"
    folder.mkdir()
    source.write_bytes(EVIL + b"tab\there\xff\nlast line")
    _, copy = reading(["most"], [source], folder)
    text = Path(copy).read_text(encoding="utf-8")
    assert text == "red ␛]52;c;aGk=␇␛[?1049l␛[2J\\x9b end\ntab\there\\xff\nlast line"


def pager_at(folder: Path, *lines: str) -> dict[str, str]:
    pager = folder / "pager"
    pager.write_text("\n".join(["#!/bin/sh", f"cd {shlex.quote(str(folder))}", *lines, ""]), encoding="utf-8")
    pager.chmod(0o700)
    return {"PAGER": str(pager)}


def replay(folder: Path) -> list[str]:
    recording = folder / "recording.jsonl"
    recording.write_text(json.dumps({"text": "unused"}) + "\n", encoding="utf-8")
    return ["-m", "agentclip", "--model", f"replay:{recording}"]


@pytest.mark.parametrize("pane", [1, 2, 3])
def test_the_pager_has_the_terminal_with_ctrl_c_and_gives_it_back(tmp_path: Path, pane: int) -> None:
    """F6 once: Layer 1; twice: Layer 2; three times: Chat."""
    interrupted, typed = tmp_path / "interrupted", tmp_path / "typed"
    environment = pager_at(
        tmp_path,
        "trap 'touch interrupted' INT",
        'cat "$1"',
        "echo in-the-pager",
        "while ! read line; do :; done",
        'printf %s "$line" >part && mv part typed',
    )
    with on_terminal(*replay(tmp_path), environment=environment) as session:
        session.wait_for("type here")
        session.type("!echo first-$((40+2)); printf '\\033]0;owned\\007\\n'\r")
        session.wait_for("[exit:0")
        for _ in range(pane):
            session.type("\x1b[17~")
        session.type("o")
        session.wait_for("in-the-pager")
        assert "first-42" in session.text
        session.type("\x03")
        session.wait_for(interrupted.exists)
        session.type("typed line\r")
        session.wait_for(typed.exists)
        assert typed.read_text() == "typed line"
        session.wait_for(lambda: session.sent.count(b"\x1b[?1049h") == 2)
        for _ in range(4 - pane):
            session.type("\x1b[17~")
        session.type("kept")
        session.wait_for("kept")
        assert b"\x1b]0;owned" not in session.sent
        session.process.send_signal(signal.SIGTERM)
        assert session.wait_for_end() == 128 + signal.SIGTERM


def test_an_end_while_the_pager_is_up_ends_the_pager_and_restores_the_terminal(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    environment = pager_at(tmp_path, "echo $$ >part && mv part pid", "exec sleep 1000")
    with on_terminal(*replay(tmp_path), environment=environment) as session:
        session.wait_for("type here")
        session.type("!echo first-$((40+2))\r")
        session.wait_for("[exit:0")
        session.type("\x1b[17~o")
        session.wait_for(started.exists)
        session.process.send_signal(signal.SIGTERM)
        assert session.wait_for_end() == 128 + signal.SIGTERM
        assert session.mode() == session.mode_before
        number = int(started.read_text())
        session.wait_for(lambda: not os.path.exists(f"/proc/{number}"))


def test_keys_that_ask_for_the_terminal_again_while_it_is_lent_are_for_the_other_program(tmp_path: Path) -> None:
    environment = {**pager_at(tmp_path, "echo x >>begun", "sleep 1"), "VISUAL": "true"}
    with on_terminal(*replay(tmp_path), environment=environment) as session:
        session.wait_for("type here")
        session.type("!echo first-$((40+2))\r")
        session.wait_for("[exit:0")
        session.wait_for(" idle ")
        session.type("\x1b[17~")
        session.wait_for("┏━ Layer 1")
        session.type("oo\x07o" * 20)
        session.wait_for((tmp_path / "begun").exists)
        session.wait_for(lambda: session.sent.count(b"\x1b[?1049h") == 2)
        session.type("\x1b[17~" * 3)
        session.wait_for("┏━━━━")
        session.type("still here")
        session.wait_for("still here")
        assert (tmp_path / "begun").read_text() == "x\n"
        session.process.send_signal(signal.SIGTERM)
        assert session.wait_for_end() == 128 + signal.SIGTERM
        assert session.mode() == session.mode_before


def test_a_pager_that_was_killed_in_its_own_mode_leaves_nothing_of_it(tmp_path: Path) -> None:
    environment = pager_at(tmp_path, "stty raw -echo", "printf '\\033[?1h\\033=\\033[5;10r\\033(0'", "kill -9 $$")
    with on_terminal(*replay(tmp_path), environment=environment) as session:
        session.wait_for("type here")
        session.type("!seq 12\r")
        session.wait_for("= 12")
        session.wait_for(" idle ")
        session.type("\x1b[17~")
        session.wait_for("┏━ Layer 1")
        while session.read(0.3):
            pass
        shown = session.text.splitlines()[:-1]
        session.type("o")
        session.wait_for("exit -9")
        session.wait_for(lambda: session.text.splitlines()[:-1] == shown)
        assert session.screen.margins is None or (session.screen.margins.top, session.screen.margins.bottom) == (0, 39)
        session.type("\x04")
        assert session.wait_for_end() == 0
        assert session.mode() == session.mode_before
