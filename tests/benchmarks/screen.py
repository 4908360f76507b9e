"""The bars of the screen: `python -m tests.benchmarks.screen [--quick]` prints one JSON document.

The real program on a pseudo-terminal of 140x40; what it sends is searched for what a person waits for, without an emulator that
would cost more than the program. First paint stands beside a minimal Textual app of the same run; loads stand beside bash.

    first_paint     start to the prompt on the terminal, median; the ratio to the minimal app
    first_key       start to the echo of a letter that was typed at once; the ratio to a minimal app with a box
    key_ms          from a key to its echo, quiet and while `yes` floods
    lines           1 M lines through `!seq`: seconds to the exit status, memory of the program
    resume          10,000 messages: start to the newest one, beside the screen of an empty session; a resize in it
    cpu             share of one core of the program: idle, and beside a command that sleeps
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agentclip.events import AssistantReplied, Recorded, TurnEnd, TurnFinished, TurnStarted
from agentclip.messages import AssistantMessage, UserMessage
from agentclip.model.replay import DEMO
from agentclip.store.codec import encode
from agentclip.store.session import Session
from tests.benchmarks.headless import children, resident
from tests.benchmarks.installed import keep_compiled
from tests.ui.pty_session import PtySession

SIZE = (140, 40)
PROMPT = "ype here"
"""Of `type here`: the cursor stands on its first letter."""
LIVE = "idle"
"""Only the screen itself says it, not the first picture."""
LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
"""Nothing else on the screen holds them."""
MINIMAL = """
from textual.app import App
from textual.widgets import Static
class Minimal(App):
    def compose(self):
        yield Static("type here")
Minimal().run()
"""
BOX = """
from textual.app import App
from textual.widgets import TextArea
class Minimal(App):
    def compose(self):
        yield TextArea(placeholder="type here")
Minimal().run()
"""
PATIENCE_S = 120


class Bare(PtySession):
    """A program on a terminal that nobody draws."""

    def take(self, data: bytes) -> None:
        self.sent += data

    def until(self, text: str, start: int | None = None) -> float:
        """Wait until the text was sent behind `start` (now); the seconds it took."""
        start = len(self.sent) if start is None else start
        began = time.perf_counter()
        wanted = text.encode()
        while wanted not in self.sent[max(0, start) :]:
            assert time.perf_counter() - began < PATIENCE_S, f"{text!r} never came"
            self.read(0.002)
        return time.perf_counter() - began

    def drain(self, seconds: float) -> None:
        """Take what comes for a while, so that the program never waits for us."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.read(0.01)


def start(home: Path, *words: str, code: str | None = None) -> Bare:
    """The program, or a Python text instead."""
    argv = [sys.executable, *(("-c", code) if code else ("-m", "agentclip", *words))]
    places = {name: str(home) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return Bare(argv, SIZE, places | {"AGENTCLIP_MODEL": f"replay:{DEMO}"})


def paint_s(home: Path, *words: str, code: str | None = None, text: str = PROMPT) -> float:
    """From the start to the prompt, or to another text."""
    session = start(home, *words, code=code)
    try:
        return session.until(text, 0)
    finally:
        session.close()


def echoes(session: Bare, keys: int, pause_s: float) -> list[float]:
    """Milliseconds from each key to its echo."""
    found = []
    for number in range(keys):
        session.drain(pause_s)
        letter = LETTERS[number % len(LETTERS)]
        at = len(session.sent)
        os.write(session.master, letter.encode())
        found.append(session.until(letter, at) * 1000)
    return found


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {"p50": round(statistics.median(ordered), 1), "p95": round(ordered[int(len(ordered) * 0.95)], 1)}


def cpu_s(pid: int) -> float:
    """Seconds of processor that a process used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def share(session: Bare, seconds: float) -> float:
    """Percent of one core over a while."""
    before = cpu_s(session.process.pid)
    session.drain(seconds)
    return round((cpu_s(session.process.pid) - before) / seconds * 100, 2)


def long_session(home: Path, messages: int) -> str:
    """A saved session of that many messages; its id."""
    session = Session.create(home / "agentclip" / "sessions", str(Path.cwd()), "m", "0.1")
    session.append(TurnStarted(UserMessage("begin")))
    session.close()
    with (session.folder / "events.jsonl").open("ab") as file:
        for seq, event in enumerate(_turns(messages), 3):
            file.write(encode(Recorded(seq, 1770000000.0 + seq, event)))
    return session.id


def _turns(messages: int) -> Iterator[TurnStarted | AssistantReplied | TurnFinished]:
    for number in range(messages // 2):
        yield TurnStarted(UserMessage(f"question {number}: what of `file{number}.py`?"))
        yield AssistantReplied(AssistantMessage(f"Answer **{number}**\n\n- one\n- two\n\n```python\nx = {number}\n```\n"))
        yield TurnFinished(TurnEnd.ANSWERED)


def first_key_s(home: Path, code: str | None = None) -> float:
    """From the start to the echo of what was typed before anything was there."""
    session = start(home, code=code)
    try:
        os.write(session.master, LETTERS[0].encode())
        return session.until(LETTERS[0], len(LETTERS[0].encode()))  # behind the echo of the terminal itself
    finally:
        session.close()


def beside_minimal(measure: Callable[..., float], home: Path, runs: int, code: str) -> dict[str, Any]:
    pairs = [(measure(home), measure(home, code=code)) for _ in range(runs)]
    ours, minimal = (statistics.median(side) for side in zip(*pairs, strict=True))
    return {"ours_ms": round(ours * 1000), "minimal_ms": round(minimal * 1000), "ratio": round(ours / minimal, 2)}


def keys(home: Path, count: int) -> dict[str, Any]:
    session = start(home)
    try:
        session.until(PROMPT, 0)
        quiet = echoes(session, count, 0.05)
        session.type("\x03")
        session.drain(0.5)
        session.type("!yes\r")
        session.drain(1.0)
        flooded = echoes(session, count, 0.05)
        return {"quiet": spread(quiet), "while_yes_floods": spread(flooded)}
    finally:
        session.close()


def many_lines(home: Path, lines: int) -> dict[str, Any]:
    with tempfile.TemporaryFile() as file:
        began = time.perf_counter()
        subprocess.run(["bash", "-c", f"seq {lines}"], stdout=file, check=True)
        bash_s = time.perf_counter() - began
    session = start(home)
    try:
        session.until(PROMPT, 0)
        session.drain(1.0)
        before = _memory_mb(session)
        session.type(f"!seq {lines}")
        session.drain(0.3)
        at = len(session.sent)
        session.type("\r")
        took = session.until("ok 0", at)
        session.drain(1.0)
        return {"seconds": round(took, 2), "bash_s": round(bash_s, 2), "mb": _memory_mb(session), "mb_before": before}
    finally:
        session.close()


def _memory_mb(session: Bare) -> float:
    pid = session.process.pid
    return round(sum(resident(each) for each in (pid, *children(pid))) / 1e6, 1)


def resumed(home: Path, messages: int, runs: int) -> dict[str, Any]:
    name = long_session(home, messages)
    newest = f"file{messages // 2 - 1}.py"
    pairs = [(paint_s(home, "--resume", name, text=newest), paint_s(home, text=LIVE)) for _ in range(runs)]
    long, empty = (statistics.median(side) for side in zip(*pairs, strict=True))
    session = start(home, "--resume", name)
    try:
        session.until(PROMPT, 0)
        session.drain(2.0)
        resizes = []
        for width in (100, 140, 90, 140):
            at = len(session.sent)
            began = time.perf_counter()
            session.resize(width, 40)
            session.until(PROMPT, at)
            resizes.append((time.perf_counter() - began) * 1000)
            session.drain(0.5)
        more = round((long - empty) * 1000)
        return {"messages": messages, "paint_ms": round(long * 1000), "more_than_empty_ms": more, "resize_ms": spread(resizes)}
    finally:
        session.close()


def cpu(home: Path, seconds: float) -> dict[str, Any]:
    session = start(home)
    try:
        session.until(PROMPT, 0)
        session.drain(2.0)
        idle = share(session, seconds)
        session.type(f"!sleep {int(seconds) + 5}\r")
        session.drain(1.0)
        return {"idle_percent": idle, "working_percent": share(session, seconds)}
    finally:
        session.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    part = 10 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        keep_compiled(str(home / "compiled"))
        paint_s(home), paint_s(home, code=MINIMAL)
        found = {
            "load": os.getloadavg()[0],
            "first_paint": beside_minimal(paint_s, home, max(3, 10 // part), MINIMAL),
            "first_key": beside_minimal(first_key_s, home, max(3, 10 // part), BOX),
            "key_ms": keys(home, 100 // part),
            "lines": many_lines(home, 1_000_000 // part),
            "resume": resumed(home, 10_000 // part, 3),
            "cpu": cpu(home, 20 / part),
        }
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
