"""The whole program on a real pseudo-terminal: keys, pastes, floods, foreign escapes, and every way to end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentclip.shell.descendants import process_table
from agentclip.ui.terminal import SAME_S, EndingSignals
from tests.fake_model.server import FakeModel
from tests.ui.pty_session import PtySession, on_terminal

ROOT = Path(__file__).parents[2]
RESTORING = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1004l", b"\x1b[?2004l", b"\x1b[?25h")
"""Alternate screen, mouse twice, focus reports, paste marks, cursor."""
PASTE_START, PASTE_END = b"\x1b[200~", b"\x1b[201~"


@contextlib.contextmanager
def chat(
    folder: Path, *commands: str, size: tuple[int, int] = (120, 40), environment: dict[str, str] | None = None
) -> Iterator[PtySession]:
    """The real program with a recorded model that runs one command a turn; ready for typing."""
    recording = folder / "recording.jsonl"
    replies = [reply for command in commands for reply in ({"calls": [{"command": command}]}, {"text": "turn over"})]
    recording.write_text("".join(json.dumps(reply) + "\n" for reply in replies or [{"text": "nothing"}]), encoding="utf-8")
    with on_terminal("-m", "agentclip", "--model", f"replay:{recording}", size=size, environment=environment) as session:
        if size[1] >= 8:
            session.wait_for("idle")
        yield session


def restored(session: PtySession, since: int) -> bool:
    sent = session.sent[since:]
    return all(code in sent for code in RESTORING) and session.mode() == session.mode_before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_terminal_is_restored_after_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with chat(tmp_path, "sleep 100") as session:
        session.type("go\r")
        session.wait_for("running")
        before = len(session.sent)
        session.process.send_signal(number)
        assert session.wait_for_end() == 128 + number
        assert restored(session, before)


def test_no_colour_reaches_the_terminal_under_no_color_and_states_are_signs(tmp_path: Path) -> None:
    with chat(tmp_path, r"printf '\\033[31mred\\033[0m\\n'; exit 3", environment={"NO_COLOR": "1"}) as session:
        session.type("go\r")
        session.wait_for("turn over")
        session.wait_for("exit 3")
        codes = {code for sent in re.findall(rb"\x1b\[([0-9;]*)m", session.sent) for code in sent.split(b";") if code}
        assert codes <= {b"0", b"1", b"3", b"4", b"7", b"9"}, "bold, italic, underlined, reversed, struck through"


def test_the_terminal_is_restored_by_force_when_the_program_hangs() -> None:
    with on_terminal("-m", "tests.ui.failing_screen", "hang", environment={"PYTHONPATH": str(ROOT)}) as session:
        session.wait_for("type here")
        echoed = True
        while echoed:  # until nothing is echoed any more: then the loop hangs
            session.type("x")
            echoed = session.read(2.0)
        before = len(session.sent)
        session.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        session.wait_for(lambda: time.monotonic() - began > SAME_S)
        session.process.send_signal(signal.SIGHUP)
        assert session.wait_for_end() == 128 + signal.SIGTERM
        assert restored(session, before)


def test_the_terminal_is_restored_after_a_bug_and_noise_on_stderr_never_touched_the_screen() -> None:
    with on_terminal("-m", "tests.ui.failing_screen", "bug", environment={"PYTHONPATH": str(ROOT)}) as session:
        session.wait_for("type here")
        before = len(session.sent)
        session.wait_for_end()
        assert restored(session, before)
        after_screen = session.sent[session.sent.rindex(b"\x1b[?1049l") :]
        assert b"native noise" in after_screen
        assert b"native noise" not in session.sent[: -len(after_screen)]
        assert b"[broken] on purpose" in after_screen


def test_a_stop_from_outside_and_a_continue_lose_nothing(tmp_path: Path) -> None:
    with chat(tmp_path, "true") as session:
        os.kill(session.process.pid, signal.SIGSTOP)
        os.kill(session.process.pid, signal.SIGCONT)
        session.type("still here")
        session.wait_for("still here")
        before = len(session.sent)
        session.type("\x03\x04")
        assert session.wait_for_end() == 0
        assert restored(session, before)


def test_many_stops_and_continues_at_once_leave_one_reader_and_a_terminal_that_is_given_back(tmp_path: Path) -> None:
    with chat(tmp_path, "true") as session:
        for _ in range(20):
            os.kill(session.process.pid, signal.SIGSTOP)
            os.kill(session.process.pid, signal.SIGCONT)
            session.read(0.01)
        session.type("every letter once")
        session.wait_for("every letter once")
        session.process.send_signal(signal.SIGTERM)
        assert session.wait_for_end() == 128 + signal.SIGTERM
        assert restored(session, 0)
        assert b"Traceback" not in session.sent


def test_ctrl_z_from_a_shell_gives_the_terminal_back_and_fg_takes_it_again(tmp_path: Path) -> None:
    with chat(tmp_path, "true") as session:
        before = len(session.sent)
        os.kill(session.process.pid, signal.SIGTSTP)
        session.wait_for(lambda: restored(session, before))
        session.wait_for(lambda: process_table()[session.process.pid].state in "tT")
        resumed = len(session.sent)
        os.kill(session.process.pid, signal.SIGCONT)
        session.wait_for(lambda: b"\x1b[?1049h" in session.sent[resumed:])
        session.wait_for(lambda: session.mode() != session.mode_before)  # else the terminal echoes, and takes Ctrl+C itself
        session.type("back again")
        session.wait_for("back again")
        session.type("\x03\x04")
        assert session.wait_for_end() == 0
        assert restored(session, resumed)


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
@pytest.mark.parametrize("then", ["", "; sleep 100"], ids=["idle", "running"])
def test_whatever_the_shell_has_drawn_meanwhile_the_screen_is_drawn_whole(
    tmp_path: Path, number: signal.Signals, then: str
) -> None:
    with chat(tmp_path, "true") as session:
        session.type(f"!seq 9{then}\r")
        session.wait_for(" running " if then else "[exit:0")
        session.wait_for(lambda: session.text.count("9  ") >= 2)
        while session.read(0.1):
            pass
        os.kill(session.process.pid, number)
        session.wait_for(lambda: process_table()[session.process.pid].state in "tT")
        while session.read(0.1):
            pass
        shown = [row for row in session.text.splitlines() if " Cancel " not in row and "seq 9" not in row]
        session.take(b"\x1b[H\x1b[2J[1]+  Stopped")
        os.kill(session.process.pid, signal.SIGCONT)
        session.wait_for("[ Cancel   Esc ]")
        session.wait_for(lambda: set(shown) <= set(session.text.splitlines()))
        assert "Stopped" not in session.text
        session.process.send_signal(signal.SIGTERM)
        assert session.wait_for_end() == 128 + signal.SIGTERM


def test_a_provider_process_that_is_killed_leaves_a_screen_that_works_and_is_given_back() -> None:
    script: list[dict[str, Any]] = [{"text": "half an ans", "hang": True}, {"text": "whole again"}, {"text": "and once more"}]
    with FakeModel(script) as server, on_terminal("-m", "agentclip", "--api-base", server.url, "--model", "fake-1") as session:
        session.wait_for("type here")
        session.type("first\r")
        session.wait_for("half an ans")
        workers = [row.pid for row in process_table().values() if row.parent == session.process.pid]
        assert len(workers) == 1
        os.kill(workers[0], signal.SIGKILL)
        session.wait_for("whole again")
        session.wait_for(" idle ")
        session.type("second\r")
        session.wait_for("and once more")
        before = len(session.sent)
        session.type("\x04")
        assert session.wait_for_end() == 0
        assert restored(session, before)
        assert b"Traceback" not in session.sent


def test_a_vanished_terminal_ends_the_program(tmp_path: Path) -> None:
    with chat(tmp_path, "sleep 100") as session:
        session.type("go\r")
        session.wait_for("running")
        session.hang_up()
        assert session.process.wait(timeout=30) == 128 + signal.SIGHUP


def test_a_terminal_that_hangs_up_twice_at_once_ends_the_program_in_order(tmp_path: Path) -> None:
    with chat(tmp_path, "sleep 100") as session:
        session.type("go\r")
        session.wait_for("running")
        for _ in range(2):
            session.process.send_signal(signal.SIGHUP)
        assert session.wait_for_end() == 128 + signal.SIGHUP
        assert b"agentclip --resume" in session.sent, "an end by force would not have said this"


def test_quitting_restores_the_terminal_and_says_how_to_come_back(tmp_path: Path) -> None:
    with chat(tmp_path, "echo hello") as session:
        session.type("go\r")
        session.wait_for("turn over")
        before = len(session.sent)
        session.type("\x04")
        assert session.wait_for_end() == 0
        assert restored(session, before)
        assert re.search(rb"agentclip --resume \S+", session.sent[before:])


LIGHT_GROUND = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"


def test_the_screen_becomes_light_when_the_terminal_says_it_is_and_the_answer_is_never_typed(tmp_path: Path) -> None:
    with chat(tmp_path, "true") as session:
        assert b"\x1b]11;?" in session.sent
        before = len(session.sent)
        for byte in LIGHT_GROUND:
            session.type(bytes([byte]))
        session.type("typed")
        session.wait_for("typed")
        session.wait_for(lambda: b"48;2;246;245;241" in session.sent[before:])  # the ground of `light`
        assert "rgb" not in session.text
        assert "11;" not in session.text


def test_no_escape_of_a_command_or_of_the_model_reaches_the_terminal(tmp_path: Path) -> None:
    evil = r"printf '\033]52;c;ZWNobyBoaQ==\007\033]0;owned\007\033[?1049l\033[2Jvisible\010\233m\n'"
    with chat(tmp_path, evil) as session:
        session.type("\x1b[200~\x1b]52;c;aaaa\x07\x1b[201~go\r")
        session.wait_for("turn over")
        session.wait_for("visible")
        for code in (b"\x1b]52;", b"\x1b]0;", b"\x1b[?1049l", b"\x1b[2J", b"\x08"):
            assert code not in session.sent
        assert not re.search("[\x80-\x9f]", session.sent.decode("utf-8"))


def test_keys_are_echoed_and_cancel_acts_while_a_command_floods(tmp_path: Path) -> None:
    with chat(tmp_path, "while :; do echo flood; done") as session:
        session.type("go\r")
        session.wait_for("  flood")
        waits = []
        for count in range(1, 11):
            began = time.monotonic()
            session.type("x")
            session.wait_for("x" * count)
            waits.append(time.monotonic() - began)
        assert sorted(waits)[5] < 5, waits
        session.type("\x1b")
        session.wait_for("cancelled")
        session.wait_for(" idle ")


def test_every_way_to_a_new_line_and_only_enter_sends(tmp_path: Path) -> None:
    with chat(tmp_path, "true") as session:
        session.type("one\ntwo\x1b\rthree\x1b[13;2ufour")
        session.wait_for(lambda: all(f"┃ {word} " in session.text for word in ("one", "two", "three", "four")))
        session.type("\r")
        session.wait_for("turn over")
        assert "> one" in session.text
        assert "  four" in session.text


@pytest.mark.parametrize("marks", [True, False])
def test_a_large_paste_is_there_at_once_and_nothing_is_sent(tmp_path: Path, *, marks: bool) -> None:
    pasted = "".join(f"line {number} 中文 mixed\r" for number in range(9000)).removesuffix("\r").encode()
    assert len(pasted) > 200_000
    with chat(tmp_path, "true") as session:
        session.type(PASTE_START + pasted + PASTE_END if marks else pasted)
        session.wait_for("[paste 1: 9,000 lines")
        session.type("y")
        session.wait_for("]y")
        assert " idle " in session.text


def test_a_wide_character_is_deleted_whole(tmp_path: Path) -> None:
    with chat(tmp_path, size=(41, 24)) as session:
        session.type("日本語")
        session.wait_for(lambda: "日本語" in session.text.replace(" ", ""))
        session.type("\x1b[D\x7f")
        session.wait_for(lambda: "日語" in session.text.replace(" ", "") and "本" not in session.text)


def test_a_terminal_of_20x5_is_told_so(tmp_path: Path) -> None:
    with chat(tmp_path, size=(20, 5)) as session:
        session.wait_for("terminal too small")
        session.type("\x04")
        session.process.send_signal(signal.SIGTERM)
        session.wait_for_end()


def test_a_slow_link_gets_a_bounded_amount_and_keys_still_act(tmp_path: Path) -> None:
    """Some 40 kB a second: while the terminal is behind, frames are left out, not queued without end."""
    with chat(
        tmp_path, "while :; do seq 1000 | sed 's/^/a line that is as wide as the pane and always another one /'; done"
    ) as session:
        session.type("go\r")
        session.wait_for("running")
        before, began = len(session.sent), time.monotonic()
        while len(session.sent) - before < 200_000 and time.monotonic() - began < 5:
            session.take(os.read(session.master, 2048))
            time.sleep(0.05)  # the link's speed
        session.type("\x1b")
        behind = len(session.sent)
        session.wait_for("cancelled")
        assert len(session.sent) - behind < 600_000, "frames that were waiting when the key came"
        session.type("next")
        session.wait_for("next")


def test_a_signal_while_one_session_gives_way_to_another_ends_both(tmp_path: Path) -> None:
    with chat(tmp_path) as session:
        session.type("!trap '' INT TERM; echo up; while :; do sleep 0.1; done\r")
        session.wait_for("│ up")
        before = len(session.sent)
        session.type("/new\r")
        session.wait_for("Leave?")
        session.type("y")
        session.wait_for("ending…")
        session.process.send_signal(signal.SIGTERM)
        assert session.wait_for_end() == 128 + signal.SIGTERM
        assert restored(session, before)
        assert b"\x1b[?1049h" not in session.sent[before:]


LENT = """
from textual.app import App
from agentclip.ui.terminal import TerminalDriver

class Lends(App[int]):
    def on_mount(self) -> None:
        with self.suspend():
            for _ in range(100):
                self._driver.call_attention("called")
                self._driver.suspend_application_mode()
        self.exit(7)

raise SystemExit(Lends(driver_class=TerminalDriver).run())
"""


def test_whoever_writes_while_the_terminal_is_lent_waits_for_nobody_and_shows_nothing() -> None:
    with on_terminal("-c", LENT) as session:
        assert session.wait_for_end() == 7
        assert b"called" not in session.sent
        assert session.mode() == session.mode_before


def test_who_quits_at_once_reads_how_to_come_back_and_no_warning(tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_text(json.dumps({"text": "nothing"}), encoding="utf-8")
    with on_terminal("-m", "agentclip", "--model", f"replay:{recording}") as session:
        session.type("\x04")
        session.wait_for("ype here")  # the first picture
        session.type("\x04")
        assert session.wait_for_end() == 0
        assert b"Warning" not in session.sent


def test_an_end_that_has_to_wait_for_a_stubborn_command_is_as_clean(tmp_path: Path) -> None:
    with chat(tmp_path) as session:
        session.type("!trap '' INT TERM; echo up; while :; do sleep 0.1; done\r")
        session.wait_for("│ up")
        before = len(session.sent)
        session.process.send_signal(signal.SIGTERM)
        assert session.wait_for_end() == 128 + signal.SIGTERM
        assert restored(session, before)
        assert b"Traceback" not in session.sent


@pytest.mark.parametrize("number", [signal.SIGWINCH, signal.SIGCONT])
def test_a_signal_that_another_thread_got_wakes_the_loop(number: signal.Signals) -> None:
    """Otherwise its handler runs when the main thread has something to do: a resize of an idle screen would wait for a key."""
    ended: list[int] = []
    woken, enough = threading.Event(), threading.Event()
    other = threading.Thread(target=enough.wait)
    other.start()
    old = signal.signal(number, lambda *_: None)
    signals = EndingSignals(ended.append, woken.set)
    signals.install()
    try:
        assert other.ident is not None
        signal.pthread_kill(other.ident, number)
        assert woken.wait(20)
    finally:
        signals.remove()
        signal.signal(number, old)
        enough.set()
        other.join()
    assert ended == []
