"""How the screen ends, as the shell that started it sees it."""

from __future__ import annotations

from pathlib import Path

from tests.ui.pty_session import on_terminal

ROOT = Path(__file__).parents[2]


def test_a_screen_that_crashed_ends_with_1_and_its_trace(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")}
    with on_terminal("-m", "tests.cli.crashing_screen", str(tmp_path), environment=environment) as session:
        session.wait_for("type here")
        while session.process.poll() is None:
            session.type("\x1bOQ")  # F2: another frame
            session.read(0.1)
        assert session.wait_for_end() == 1
        assert b"[broken] on purpose" in session.sent[session.sent.rindex(b"\x1b[?1049l") :]
