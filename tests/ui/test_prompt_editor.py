"""Ctrl+G: the prompt in the person's own editor, on a real terminal and while something runs."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentclip.errors import ConfigError
from agentclip.ui.outside import draft, edited, editor_words
from tests.ui.pty_session import PtySession, on_terminal
from tests.ui.screens import make_app, screen_text, until
from tests.ui.scripted import ScriptedAgent


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_visual_goes_before_editor_and_both_before_what_is_there(tmp_path: Path) -> None:
    for name in ("mine", "other", "vi", "nano"):
        program(tmp_path, name, "#!/bin/sh\n")
    path = {"PATH": str(tmp_path)}
    assert editor_words({**path, "VISUAL": "mine -w 'a b'", "EDITOR": "other"}) == ["mine", "-w", "a b"]
    assert editor_words({**path, "VISUAL": " ", "EDITOR": "other"}) == ["other"]
    assert editor_words(path) == ["vi"]
    (tmp_path / "vi").unlink()
    assert editor_words(path) == ["nano"]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "there is no editor"),
        ({"VISUAL": "nowhere-to-be-found -w"}, "$VISUAL is `nowhere-to-be-found -w`, which is not there"),
        ({"EDITOR": "vim 'open"}, "$EDITOR"),
    ],
)
def test_without_an_editor_one_line_says_what_to_set(environment: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        editor_words({"PATH": "/nonexistent", **environment})
    assert words in str(caught.value)
    assert caught.value.hint


def test_a_draft_comes_back_as_text_that_cannot_act() -> None:
    with draft("one\n日本語") as path:
        assert path.parent.stat().st_mode & 0o077 == 0
        assert edited(path) == "one\n日本語"
        path.write_bytes(b"a\x1b[31m\xff\r\nb\n")
        assert edited(path) == "a␛[31m\ufffd\nb"
    assert not path.parent.exists()


async def test_a_missing_editor_is_told_and_the_text_stays(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "nowhere-to-be-found")
    app = make_app(agent)
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press(*"text", "ctrl+g")
        await until(pilot, lambda: "which is not there" in screen_text(app))
        assert app.board.prompt.text == "text"


EDITOR = """#!/bin/sh
printf 'EDITOR HAS IT: '; wc -l < "$1"
read answer < /dev/tty
printf '%s\\nand a line\\n' "$answer" >> "$1"
exit {status}
"""


@contextlib.contextmanager
def chatting(tmp_path: Path, status: int) -> Iterator[PtySession]:
    """The program with an editor that says it is there, takes a line, and ends."""
    editor = program(tmp_path, "my editor", EDITOR.format(status=status))
    recording = tmp_path / "recording.jsonl"
    recording.write_text('{"text": "unused"}\n', encoding="utf-8")
    visual = {"VISUAL": shlex.quote(str(editor))}
    with on_terminal("-m", "agentclip", "--model", f"replay:{recording}", environment=visual) as session:
        session.wait_for("type here")
        yield session


def test_the_editor_has_the_terminal_while_a_command_runs_and_its_text_comes_back(tmp_path: Path) -> None:
    with chatting(tmp_path, 0) as session:
        session.type(f"!echo begun; until [ -e {tmp_path}/go-on ]; do sleep 0.05; done; echo 'while ''away'\r")
        session.wait_for("│  begun")
        pasted = "\n".join(f"line {number}" for number in range(30))
        session.type(f"see \x1b[200~{pasted}\x1b[201~")
        session.wait_for("[paste 1: 30 lines")
        session.type("\x07")
        session.wait_for("EDITOR HAS IT: 30")
        (tmp_path / "go-on").touch()
        session.type("typed in it\r")
        session.wait_for("and a line")
        session.wait_for(lambda: b"32 lines from the editor" in session.sent)
        session.wait_for("while away")
        session.type("!")
        session.wait_for("and a line!")
        session.type("\x03")  # clears
        session.wait_for("type here")
        session.type("\x04")
        assert session.wait_for_end() == 0
        assert session.mode() == session.mode_before


def test_an_editor_that_fails_changes_nothing(tmp_path: Path) -> None:
    with chatting(tmp_path, 3) as session:
        session.type("my text\x07")
        session.wait_for("EDITOR HAS IT")
        session.type("nothing\r")
        session.wait_for(lambda: b"the editor ended with status 3" in session.sent)
        session.wait_for("my text")
        assert "and a line" not in session.text
        session.type("\x03\x03\x03")
        session.wait_for_end()


def test_a_signal_while_the_editor_is_open_ends_both(tmp_path: Path) -> None:
    with chatting(tmp_path, 0) as session:
        session.type("my text\x07")
        session.wait_for("EDITOR HAS IT")
        session.process.terminate()
        assert session.wait_for_end() == 143
        assert session.mode() == session.mode_before
