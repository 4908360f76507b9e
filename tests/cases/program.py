"""The program itself, as a person or a script starts it: `agentclip` in a process of its own, in folders of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentclip.events import CommandFinished
from agentclip.store.log import read_log

AGENTCLIP = Path(sys.executable).with_name("agentclip")
PATIENCE_S = 90


@dataclass(frozen=True)
class Home:
    """Everything that a run of the program may read or write."""

    folder: Path
    env: Mapping[str, str]

    @property
    def work(self) -> Path:
        """Where it is started."""
        return self.folder / "work"

    @property
    def state(self) -> Path:
        return self.folder / "state" / "agentclip"

    def start(
        self, *arguments: str, stdin: int = subprocess.DEVNULL, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start it, with more in its environment; the caller waits."""
        command = [str(AGENTCLIP), *arguments]
        out = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.work, env={**self.env, **(env or {})}, stdin=stdin, stdout=out, stderr=out)

    def call(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def exec(self, line: str) -> str:
        """What the model would read of a line; it must be strict UTF-8."""
        done = self.call("exec", line)
        assert done.stderr == b"", done.stderr
        return done.stdout.decode("utf-8").removesuffix("\n")

    def replay(self, replies: Sequence[object], *arguments: str) -> tuple[dict[str, Any], list[CommandFinished]]:
        """A task for a recorded model through the whole loop: the document, and every command of the session."""
        recording = self.folder / "recording.jsonl"
        recording.write_text("".join(f"{json.dumps(reply)}\n" for reply in replies), encoding="utf-8")
        done = self.call("run", "do it", "--json", "--model", f"replay:{recording}", *arguments)
        assert done.returncode == 0, (done.stdout, done.stderr)
        document = json.loads(done.stdout)
        log = read_log(self.state / "sessions" / document["session"] / "events.jsonl")
        return document, [recorded.event for recorded in log.events if isinstance(recorded.event, CommandFinished)]


def home(folder: Path, **env: str) -> Home:
    """A home in an empty folder; `env` is added to the environment."""
    (folder / "work").mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTCLIP_", "XDG_", "LC_", "LANG"))}
    own = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    return Home(folder, {**kept, **own, "LANG": "C.UTF-8", **env})
