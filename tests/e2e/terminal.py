"""A real terminal: the program in tmux, keys in, the screen out."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

PATIENCE_S = 40.0

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


class Terminal:
    """One program in a terminal of its own."""

    def __init__(
        self, words: list[str], *, cwd: Path, size: tuple[int, int] = (140, 40), env: Mapping[str, str] | None = None
    ) -> None:
        self._socket = f"ac-{uuid.uuid4().hex[:10]}"
        self.pid_file = cwd / f".pid-{self._socket}"
        program = shlex.join([sys.executable, "-m", "agentclip", *words])
        line = f"echo $$ > {shlex.quote(str(self.pid_file))}; exec {program}"
        settings = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
        start = ["tmux", "-L", self._socket, "-f", os.devnull, "new-session", "-d", "-x", str(size[0]), "-y", str(size[1])]
        assignments = [f"{name}={value}" for name, value in settings.items()]
        inner = shlex.join(["env", *assignments, "sh", "-c", line])
        # What is printed after the end stays readable.
        keep = "; echo; echo [ended $?]; exec sleep 1000"
        subprocess.run([*start, "-c", str(cwd), f"sh -c {shlex.quote(inner + keep)}"], check=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            sys.stderr.write(self.screen())
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], check=False, capture_output=True)

    @property
    def pid(self) -> int:
        """Of the program."""
        self.wait(lambda: self.pid_file.exists() and self.pid_file.read_text().strip() != "")
        return int(self.pid_file.read_text())

    def screen(self) -> str:
        """What a person sees."""
        done = subprocess.run(["tmux", "-L", self._socket, "capture-pane", "-p"], check=True, capture_output=True, text=True)
        return done.stdout

    def keys(self, *names: str) -> None:
        """Keys by tmux's names: Enter, Escape, F6, C-d."""
        subprocess.run(["tmux", "-L", self._socket, "send-keys", *names], check=True)

    def type(self, text: str) -> None:
        """A text, character by character, then Enter."""
        subprocess.run(["tmux", "-L", self._socket, "send-keys", "-l", text], check=True)
        self.wait_for(text.partition("\n")[0][-20:])
        self.keys("Enter")

    def resize(self, width: int, height: int) -> None:
        """Another size."""
        size = ["-x", str(width), "-y", str(height)]
        subprocess.run(["tmux", "-L", self._socket, "resize-window", *size], check=True)

    def wait_for(self, text: str) -> str:
        """Return the screen once it shows the text."""
        self.wait(lambda: text in self.screen())
        return self.screen()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Return once it holds; fail with the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"never happened; the screen:\n{self.screen()}"
            time.sleep(0.05)
