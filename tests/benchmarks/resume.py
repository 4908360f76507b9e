"""How fast a long session comes back, and how fast many are listed.

`python -m tests.benchmarks.resume [MB] [SESSIONS]` makes two logs (100 MB) and 1,000 sessions in a temporary folder, and prints
medians of three, beside the time to read the same bytes and that of an empty session. One log has the smallest events and no
snapshot, the other results of 10 kB and a snapshot every 40 turns, as long work makes it. A new process per measurement, as a
person starts it:

    screen     the whole program on a pseudo-terminal, from its start to the first typed letter that is drawn

    open       the session: lock, index of the log, facts
    prompt     open and an agent that takes a prompt, with the newest 200 events decoded for the screen
    cost       what the session has used so far
    request    what the first request waits for in addition: the conversation
    all        every event decoded, for comparison
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from agentclip.agent.snapshot.document import PARTS, ROOT
from agentclip.events import (
    AssistantReplied,
    CommandFinished,
    CommandStarted,
    Event,
    Recorded,
    SnapshotTaken,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from agentclip.messages import AssistantMessage, ToolCall, Usage, UserMessage
from agentclip.store.codec import encode
from agentclip.store.facts import SessionFacts, write_facts
from agentclip.store.session import Session
from tests.benchmarks.installed import keep_compiled
from tests.store.samples import CHAIN, finished
from tests.ui.pty_session import on_terminal

MEASURE = """
import asyncio, sys, time
from pathlib import Path
from agentclip import runtime
from agentclip.config import Settings
from agentclip.model.replay import DEMO, ReplayModel
from agentclip.store.session import Session

async def main():
    began = time.perf_counter()
    session = Session.open(Path(sys.argv[1]), sys.argv[2])
    print("open", time.perf_counter() - began)
    async with runtime.conversation(Settings(), ReplayModel(DEMO), session) as talk:
        newest = talk.agent.history()[-200:]
        print("prompt", time.perf_counter() - began)
        began = time.perf_counter()
        talk.agent.usage
        print("cost", time.perf_counter() - began)
        began = time.perf_counter()
        talk.agent.snapshot_text()
        print("request", time.perf_counter() - began)
        began = time.perf_counter()
        for _ in talk.agent.history():
            pass
        print("all", time.perf_counter() - began)
        print("events", len(session.events))

asyncio.run(main())
"""
LIST = """
import sys, time
from pathlib import Path
from agentclip.store.listing import list_sessions
began = time.perf_counter()
found = list_sessions(Path(sys.argv[1]))
print("list", time.perf_counter() - began)
print("sessions", len(found))
"""


def turn(number: int, folder: str) -> tuple[Event, ...]:
    """A turn of two commands, 3 KB."""
    first, second = number * 2 + 1, number * 2 + 2
    call = AssistantMessage("looking at it", tuple(ToolCall(f"c{n}", "run", '{"command": "ls"}') for n in (first, second)))
    return (
        TurnStarted(UserMessage(f"prompt {number}")),
        AssistantReplied(call, Usage(1000, 20, 900, 0.001)),
        CommandStarted(first, f"c{first}", CHAIN.source, CHAIN, f"{folder}/cmd-{first}.txt"),
        finished(folder, first, f"c{first}"),
        CommandStarted(second, f"c{second}", CHAIN.source, CHAIN, f"{folder}/cmd-{second}.txt"),
        finished(folder, second, f"c{second}"),
        AssistantReplied(AssistantMessage("done"), Usage(1000, 20, 900, 0.001)),
        TurnFinished(TurnEnd.ANSWERED),
    )


def long_work(number: int, folder: str) -> Iterator[Event]:
    """A turn with results of 10 kB; every 40th is followed by a snapshot that keeps the newest turns."""
    for event in turn(number, folder):
        if isinstance(event, CommandFinished):
            yield replace(event, shown=replace(event.shown, text="a line of output\n" * 600))
        else:
            yield event
    if number % 40 == 39:
        parts = "".join(f"<{name}>{name}</{name}>" for name in PARTS)
        first_kept = 3 + number * 8 + number // 40 - 8 * 12
        yield SnapshotTaken(number // 40 + 1, f"<{ROOT}>{parts}</{ROOT}>", first_kept, (), 100_000, 30_000)


def make_log(sessions: Path, megabytes: int, events_of: Callable[[int, str], Iterable[Event]] = turn) -> str:
    """A session with a log of that size; its id."""
    session = Session.create(sessions, str(sessions.parent), "m", "0.1")
    session.append(TurnStarted(UserMessage("begin")))
    session.close()
    seq, number = 3, 0
    with (session.folder / "events.jsonl").open("ab") as file:
        while file.tell() < megabytes * 1_000_000:
            for event in events_of(number, str(session.cmd_output)):
                file.write(encode(Recorded(seq, 1770000000.0 + seq, event)))
                seq += 1
            number += 1
    return session.id


def make_sessions(sessions: Path, count: int) -> None:
    """That many, each with a log of one line."""
    facts = SessionFacts("", "a title of some words", "/project", "m", "0.1", 1.0, 1.0, 3, 9)
    for number in range(count):
        folder = sessions / f"260101-{number:07}"
        folder.mkdir(parents=True)
        write_facts(folder, replace(facts, id=folder.name, updated_s=float(number)))
        (folder / "events.jsonl").write_bytes(b"{}\n")


def screen_s(state: Path, name: str) -> float:
    """From the start of the program to the first letter on the screen."""
    environment = {"XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state), "HOME": str(state)}
    began = time.perf_counter()
    with on_terminal("-m", "agentclip", "--resume", name, "--model", "replay:demo", environment=environment) as session:
        session.wait_for("type here")
        session.type("zqx")
        session.wait_for("zqx")
        return time.perf_counter() - began


def measured(code: str, *words: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(megabytes: int = 100, count: int = 1000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        keep_compiled(f"{folder}/compiled")
        state = Path(folder, "state")
        sessions, many = state / "agentclip" / "sessions", Path(folder, "many")
        logs = {
            "an empty session": make_log(sessions, 0),
            "small events": make_log(sessions, megabytes),
            "long work": make_log(sessions, megabytes, long_work),
        }
        make_sessions(many, count)
        say(f"load {os.getloadavg()[0]:.1f}")
        for title, name in logs.items():
            began = time.perf_counter()
            size = len((sessions / name / "events.jsonl").read_bytes())
            say(f"{title}: reading {size / 1e6:.0f} MB takes {time.perf_counter() - began:.3f} s")
            tell([{"screen": screen_s(state, name), **measured(MEASURE, str(sessions), name)} for _ in range(3)])
        say(f"{count} sessions")
        tell([measured(LIST, str(many)) for _ in range(3)])


def tell(runs: Sequence[Mapping[str, float]]) -> None:
    for key in runs[0]:
        median = statistics.median(run[key] for run in runs)
        say(f"{key:9} {median:10.3f} s" if key not in {"events", "sessions"} else f"{key:9} {median:10,.0f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
