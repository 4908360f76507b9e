"""Cases of the screen (B61, B64, B66, B68, B70), through the whole program on a pseudo-terminal against the strict server.

What is tested closer to its cause is not repeated here:

| case | where its variants are |
|---|---|
| B61 | tests/ui/test_app.py: test_foreign_text_is_shown_everywhere_and_acts_nowhere |
| B62, B63, B65 | tests/ui/test_terminal.py: every signal, bug and hang; Ctrl+C; pastes with and without marks |
| B64 | tests/benchmarks; tests/e2e/test_screen.py: twenty million lines |
| B66 | tests/ui/test_panes.py: following, reading above, another width |
| B68 | tests/ui/test_wrap.py, tests/ui/test_selection.py: wrapping and selecting wide and joined signs |
| B70 | tests/ui/test_foreign.py: every acting character; tests/ui/test_output_actions.py: copies and the pager |
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.commands.pictures import png
from tests.fake_model.script import run, text
from tests.fake_model.server import FakeModel
from tests.ui.pty_session import PtySession, on_terminal
from tests.ui.screens import drawn, make_app, pane_rows, screen_rows, until
from tests.ui.scripted import ScriptedAgent

BRACKETS = ("a [/] b", "[/bold]", "[link=http://x", "ZLEX [b + 3", "[red]x")
EVIL = b"\x1b]52;c;ZWNobyBoaQ==\x07\x1b]0;owned\x07\x1b[?1049l\x1b[2Jvisible\x08\x9bm"
F6, PAGE_UP, END = "\x1b[17~", "\x1b[5~", "\x1b[F"


@pytest.fixture
def server() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        yield fake


def words(server: FakeModel, *more: str) -> tuple[str, ...]:
    return ("-m", "agentclip", "--api-base", server.url, "--model", "fake-1", *more)


def said(session: PtySession, line: str, answer: str) -> None:
    """Send a line and wait for what it brings."""
    session.type(line)
    session.wait_for(line[-20:])
    session.type("\r")
    session.wait_for(answer)


def test_b61_square_brackets_are_shown_wherever_they_stand(
    server: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "[WIP]-x"
    folder.mkdir()
    monkeypatch.chdir(folder)
    echoes = "; ".join(f"echo '{each}'" for each in BRACKETS)
    error = {"status": 400, "body": {"error": {"message": "refused [/] [red]this"}}}
    server.script = [run(f"{echoes}; basename \"$PWD\"; echo '[/err]' >&2"), text("\n\n".join(BRACKETS)), error]
    with on_terminal(*words(server), size=(160, 60)) as session:
        session.wait_for("type here")
        said(session, "[/] and [red]user", "ZLEX [b + 3")
        session.wait_for(lambda: min(map(session.text.count, BRACKETS)) >= 3 and " idle " in session.text)
        shown = session.text
        for each in (*BRACKETS, "[WIP]-x", "[/err]"):
            assert f"= {each}" in shown or f"! {each}" in shown, f"{each} in Layer 1"
        assert shown.count("[/] and [red]user") == 2, "in Chat and in the status line"
        said(session, "once more", "refused [/] [red]this")
        said(session, "!echo still [/] here", "= still [/] here")


def memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def ended(session: PtySession, number: int) -> bool:
    """Whether a run has ended well, and nothing is left to cancel."""
    return re.search(rf"Run {number} · .* · ok 0 · .* lines", session.text) is not None and " idle " in session.text


@pytest.mark.parametrize("flood", ["seq 1 1000000", "yes | head -n 2000000"])
def test_b64_keys_are_echoed_during_a_flood_and_memory_stays(server: FakeModel, flood: str) -> None:
    began = time.monotonic()
    subprocess.run(["bash", "-c", f"{flood} >/dev/null"], check=True)
    plain_s = time.monotonic() - began
    with on_terminal(*words(server)) as session:
        session.wait_for("type here")
        said(session, "!echo warm", "[exit:0")
        before = memory_mb(session.process.pid)
        typed = ""
        for number in range(10):
            session.type(f"!{flood}\r")
            began = time.monotonic()
            for key in "xyz":
                session.type(key)
                typed += key
                assert session.wait_for(typed) < 5
            session.wait_for(partial(ended, session, number + 2))
            assert time.monotonic() - began < 2 * plain_s + 20
            session.type("\x03")  # idle: clears the prompt
            session.wait_for(lambda: "┃ xyz" not in session.text)
            typed = ""
        assert memory_mb(session.process.pid) - before < 150


def test_b64_cancel_acts_at_once_during_a_flood(server: FakeModel) -> None:
    with on_terminal(*words(server)) as session:
        session.wait_for("type here")
        said(session, "!while :; do seq 1 20000; sleep .01; done", "running")
        session.wait_for(lambda: re.search(r"[1-9]\d\d,\d\d\d lines", session.text) is not None)
        session.type("\x1b")
        assert session.wait_for("cancelled 1") < 10
        said(session, "!echo go-$((40+2))", "= go-42")


def first_line(session: PtySession) -> str:
    """The line at the top of Layer 1."""
    rows = session.screen.display
    top = next(number for number, row in enumerate(rows) if "Layer 1" in row)
    return rows[top + 1][60:]


def test_b66_what_one_reads_in_layer_1_stays_while_lines_come(server: FakeModel) -> None:
    with on_terminal(*words(server)) as session:
        session.wait_for("type here")
        said(session, "!for i in $(seq 1 250); do echo line-$i; sleep .01; done", "line-60")
        session.type(F6)
        session.wait_for("━ Layer 1")
        session.type(PAGE_UP + PAGE_UP)
        session.wait_for("new line")
        before = first_line(session)
        assert "line-" in before
        session.wait_for(lambda: any(int(each) >= 40 for each in re.findall(r"(\d+) new lines, End", session.text)))
        assert first_line(session) == before
        session.type(END)
        session.wait_for(lambda: "new line" not in session.text)
        session.wait_for("line-250 ")


def chat_rows(session: PtySession) -> str:
    """Chat, at the left, without its last row, which tells of new lines."""
    return "\n".join(row[:58] for row in session.screen.display[2:20])


def test_b66_what_one_reads_in_chat_stays_while_the_model_writes(server: FakeModel) -> None:
    answer = "".join(f"word-{number}\n\n" for number in range(300))
    server.script = [text(answer, piece_chars=10, chunk_delay_s=0.02)]
    with on_terminal(*words(server), size=(120, 30)) as session:
        session.wait_for("type here")
        said(session, "write", "word-40")
        session.type(PAGE_UP)
        session.wait_for("new line")
        before = chat_rows(session)
        assert "word-" in before
        session.wait_for(lambda: any(int(each) >= 30 for each in re.findall(r"(\d+) new lines, End", session.text)))
        assert chat_rows(session) == before
        session.type(END)
        session.wait_for("word-299")


SIGNS = "日本語|\n❤️|\n👩‍🔬|\n🇩🇪|\ne\u0301|\n한국어|\n"


@pytest.mark.parametrize("size", [(80, 24), (41, 24)])
async def test_b68_no_border_moves_and_no_sign_is_lost(tmp_path: Path, size: tuple[int, int]) -> None:
    agent = ScriptedAgent(tmp_path)
    app = make_app(agent)
    async with app.run_test(size=size) as pilot:
        agent.begin(SIGNS)
        agent.say(SIGNS + "\n" + "中" * 300)
        agent.run("printf", (SIGNS + "中" * 300 + "\n").encode())
        agent.end()
        await drawn(pilot)
        for _ in range(4):
            await pilot.press("f6")
            await drawn(pilot)
            for row in screen_rows(app):  # each is exactly as wide as the screen
                assert row[:1] in {" ", "│", "┃", "╭", "╰", "┏", "┗", "[", "▸"}, row
        model = app.board.model
        rows = [model.strip_at(row).text for row in range(model.total_rows())]
        assert sum(row.count("中") for row in rows) == 300
        assert [row[2:] for row in rows[:6]] == SIGNS.splitlines()
        app.board.show(next(name for name, pane in app.board.panes.items() if pane is app.board.raw))
        app.lay_out_now()
        await until(pilot, lambda: len(pane_rows(app.board.raw)) >= 6)
        assert [row[2:] for row in pane_rows(app.board.raw)[:6]] == SIGNS.splitlines()


@pytest.mark.parametrize("size", [(80, 24), (41, 24)])
def test_b68_backspace_after_left_removes_the_sign_before_the_caret(server: FakeModel, size: tuple[int, int]) -> None:
    with on_terminal(*words(server), size=size) as session:
        session.wait_for("type here")
        session.type("日本語")
        session.wait_for(lambda: "日本語" in session.text.replace(" ", ""))
        session.type("\x1b[D\x7f")
        session.wait_for(lambda: "日語" in session.text.replace(" ", ""))


def acted(sent: bytes) -> list[bytes]:
    """What of the evil bytes reached the terminal."""
    return [each for each in (b"\x1b]52;", b"\x1b]0;owned", b"\x9bm", b"\x1b[?1049l", b"\x1b[2J") if each in sent]


def test_b70_escapes_of_commands_models_and_names_never_reach_the_terminal(
    server: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "title \x1b]0;owned\x07.png").write_bytes(png(8, 8))
    printed = "printf '" + "".join(f"\\{byte:03o}" for byte in EVIL) + "\\n'"
    names = "touch \"$(printf 'n\\033]0;owned\\007visible-name')\"; ls"
    model = EVIL.decode("latin-1") + " model-text"
    server.script = [run(printed, names, "see title*.png"), text(model)]
    with on_terminal(*words(server), size=(140, 50)) as session:
        session.wait_for("type here")
        said(session, "go", "model-text")
        session.wait_for(" idle ")
        for _ in range(3):  # every run in both layers
            session.type("\x1b[1;3A")
            session.wait_for("pinned")
        session.wait_for("visible")
        assert [each for each in acted(session.sent) if each != b"\x1b[2J"] == []
        session.type("\x04")
        assert session.wait_for_end() == 0
        assert session.sent.count(b"\x1b[?1049l") == 1, "its own, at the end"
    with on_terminal(*words(server, "--continue"), size=(140, 50)) as session:
        session.wait_for("model-text")
        session.wait_for("visible")
        assert [each for each in acted(session.sent) if each != b"\x1b[2J"] == []
        session.process.send_signal(signal.SIGTERM)
        assert session.wait_for_end() == 128 + signal.SIGTERM
    assert server.violations == []
