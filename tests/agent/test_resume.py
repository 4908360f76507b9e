"""Sessions continued after any death: nothing finished is lost, nothing runs twice, the next request is valid (B60, INV)."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from agentclip.agent.resume import missing_events
from agentclip.events import (
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    CommandStarted,
    Event,
    Notice,
    Recorded,
    Severity,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from agentclip.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from agentclip.results import Ended, Limits
from agentclip.shell.execute import RunRequest
from agentclip.store.listing import list_sessions
from tests.agent.crasher import Options
from tests.agent.scripted import ScriptedModel, reply
from tests.agent.workbench import answers, asked, bench, crash, provider, roles, until
from tests.fake_model.script import ScriptItem, run, text
from tests.fake_model.server import FakeModel
from tests.store.samples import CHAIN, finished


async def test_killed_during_a_command_it_is_answered_as_interrupted_and_not_started_again(tmp_path: Path) -> None:
    """Case B60."""
    script = [run("echo $$ > pid; echo begun; echo trouble >&2; exec sleep 60", "touch never")]
    with FakeModel(script) as server:
        with crash(Options(str(tmp_path), server.url)) as process:
            assert process.stdout is not None
            name = process.stdout.readline().strip()
            spools = tmp_path / "sessions" / name / "cmd-output"
            await until(lambda: _size(spools / "cmd-1.txt") and _size(spools / "cmd-1.0.err"))
            process.kill()
        os.kill(int((tmp_path / "work" / "pid").read_text()), signal.SIGKILL)
        (tmp_path / "work" / "pid").unlink()
        server.script[:] = [text("pong")]
        async with bench(tmp_path, provider(server, tmp_path), resume=name) as it:
            kept = [recorded.event for recorded in it.agent.history()]
            assert [type(event) for event in kept[-4:]] == [CommandStarted, CommandFinished, CallAnswered, TurnFinished]
            assert isinstance(kept[-3], CommandFinished)
            assert kept[-3].result.ended is Ended.INTERRUPTED
            assert kept[-1] == TurnFinished(TurnEnd.INTERRUPTED, "agentclip ended in the middle of this turn")
            await asked(it, "go on", "pong")
            assert roles(server) == ["system", "user", "assistant", "tool", "tool", "user"]
            first, second = answers(server).values()
            assert first.startswith("begun\n[note] interrupted: ")
            assert "[stderr] trouble\n[exit:130 | " in first
            assert first.endswith("| interrupted]")
            assert second == "[cancelled: not run]\n[exit:130 | 0ms | cancelled]"
            assert not (it.work / "pid").exists()
            assert not (it.work / "never").exists()
            assert it.executor.prepare("true", RunRequest()).number == 2
        assert server.violations == []


STEPS: tuple[ScriptItem, ...] = (
    run("echo a >> ran; echo A", "echo b >> ran; sleep 0.05; echo B", text="First."),
    run("cd / && echo c >> $OLDPWD/ran"),
    {"calls": [{"name": "run", "arguments": "{"}, {"command": "cd - >/dev/null; echo d >> ran; false"}]},
    text("done"),
)


EVENTS = (
    "SessionStarted 1",
    "TurnStarted 1",
    "AssistantReplied 1",
    "CommandStarted 1",
    "CommandFinished 1",
    "CommandStarted 2",
    "CommandFinished 2",
    "AssistantReplied 2",
    "CommandStarted 3",
    "CommandFinished 3",
    "AssistantReplied 3",
    "CallAnswered 1",
    "CommandStarted 4",
    "CommandFinished 4",
    "AssistantReplied 4",
    "TurnFinished 1",
)
"""What `STEPS` make, in order."""
POINTS = (
    *(f"{when} {event}" for event in EVENTS for when in ("before", "half", "after", "told")),
    *(f"{when} facts {number}" for number in range(1, 5) for when in ("before", "half", "after")),
)
"""Every append and every change of state: 75 points. SessionStarted is told to nobody."""
ALWAYS = {
    "before SessionStarted 1",
    "after TurnStarted 1",
    "half AssistantReplied 1",
    "after CommandStarted 1",
    "before CommandFinished 1",
    "half CommandFinished 2",
    "told CommandFinished 2",
    "before CallAnswered 1",
    "half facts 3",
    "after TurnFinished 1",
}
"""Those of the default suite; `pytest -m slow tests/agent/test_resume.py` runs the rest, a minute."""


def _points() -> list[Any]:
    points = [point for point in POINTS if point != "told SessionStarted 1"]
    return [point if point in ALWAYS else pytest.param(point, marks=pytest.mark.slow) for point in points]


@pytest.mark.parametrize("point", _points())
async def test_killed_at_any_point_the_session_goes_on(tmp_path: Path, point: str) -> None:
    with FakeModel(STEPS) as server:
        with crash(Options(str(tmp_path), server.url, name=point)) as process:
            assert process.stdout is not None
            name, *said = process.stdout.read().split("\n")
        assert process.returncode == -signal.SIGKILL, "the point was not met"
        ran_before = _lines(tmp_path / "work" / "ran")
        server.script[:] = [text("pong")]
        async with bench(tmp_path, provider(server, tmp_path), resume=name) as it:
            finished_numbers = {r.event.number for r in it.agent.history() if isinstance(r.event, CommandFinished)}
            assert {int(line.split()[1]) for line in said if line.startswith("finished")} <= finished_numbers
            replies = [f"replied {r.event.message.text!r}" for r in it.agent.history() if isinstance(r.event, AssistantReplied)]
            told = [line for line in said if line.startswith("replied")]
            assert told == replies[: len(told)]
            await asked(it, "go on", "pong")
        assert server.violations == []
        ran = _lines(tmp_path / "work" / "ran")
        assert len(ran) == len(set(ran)), "a command ran twice"
        assert set(ran_before) <= set(ran)
        (facts,) = list_sessions(tmp_path / "sessions")
        assert (facts.id, facts.turns) == (name, it.session.events.number_of(TurnStarted))


async def test_killed_again_while_it_is_being_resumed(tmp_path: Path) -> None:
    """The events that make a log whole are stored one by one: a death among them is mended the next time."""
    with FakeModel([run("echo a >> ran", "echo b >> ran"), text("x")]) as server:
        with crash(Options(str(tmp_path), server.url, name="after CommandStarted 1")) as process:
            name = process.communicate()[0].split("\n")[0]
        for point in ("before CommandFinished 1", "half CommandFinished 1", "after CallAnswered 1", "half TurnFinished 1"):
            server.script[:] = [text("never seen")]
            copy = tmp_path / point
            shutil.copytree(tmp_path / "sessions", copy / "sessions")
            with crash(Options(str(copy), server.url, name=point, session=name)) as process:
                process.communicate()
            assert process.returncode == -signal.SIGKILL
            server.script[:] = [text("pong")]
            async with bench(copy, provider(server, copy), resume=name) as it:
                await asked(it, "go on", "pong")
        assert server.violations == []


def recorded(*events: Event) -> list[Recorded]:
    return [Recorded(n, 1000.0 + n, event) for n, event in enumerate(events, 1)]


START = TurnStarted(UserMessage("go"))
ASKED = AssistantReplied(AssistantMessage("", (ToolCall("c1", "run", "{}"), ToolCall("c2", "run", "{}"))))
END = TurnFinished(TurnEnd.ANSWERED)


def started(call_id: str | None, number: int = 1, folder: str = "/nowhere/cmd-output") -> CommandStarted:
    return CommandStarted(number, call_id, CHAIN.source, CHAIN, f"{folder}/cmd-{number}.txt")


@pytest.mark.parametrize(
    ("events", "missing"),
    [
        ((), []),
        ((START, AssistantReplied(AssistantMessage("hi")), END), []),
        ((START,), [TurnFinished]),
        ((START, AssistantReplied(AssistantMessage("hi"))), [TurnFinished]),
        ((START, ASKED), [CallAnswered, CallAnswered, TurnFinished]),
        ((START, ASKED, started("c1")), [CommandFinished, CallAnswered, TurnFinished]),
        ((START, ASKED, started("c1"), finished("/f", 1, "c1")), [CallAnswered, TurnFinished]),
        ((START, ASKED, CallAnswered(ToolMessage("c1", "x"), "x"), started("c2")), [CommandFinished, TurnFinished]),
        ((START, ASKED, END, START), [TurnFinished]),
        ((START, END, started(None)), [CommandFinished]),
        ((started(None), finished("/f", 1, None)), []),
        ((started(None), Notice("x")), [CommandFinished]),
    ],
)
def test_what_a_cut_log_lacks(events: tuple[Event, ...], missing: list[type]) -> None:
    history = recorded(*events)
    found = list(missing_events(history, Limits()))
    assert [type(event) for event in found] == missing
    assert list(missing_events(recorded(*events, *found), Limits())) == []


def test_an_interrupted_run_is_told_by_what_its_spools_hold(tmp_path: Path) -> None:
    (tmp_path / "cmd-7.txt").write_text("partial\n")
    (tmp_path / "cmd-7.1.err").write_text("complaint\n")
    (event, *_) = missing_events(recorded(START, ASKED, started("c1", 7, str(tmp_path))), Limits())
    assert isinstance(event, CommandFinished)
    assert event.shown.text.startswith("partial\n[note] interrupted: agentclip ended while this ran")
    assert "complaint" in event.shown.text
    assert [stage.stderr is not None for stage in event.result.stages] == [False, True]
    assert event.result.stdout.size == 8
    lost = next(iter(missing_events(recorded(started("c1", 8, str(tmp_path))), Limits())))
    assert isinstance(lost, CommandFinished)
    assert lost.shown.text.endswith("| interrupted]")


async def test_a_repair_on_disk_is_told_once(tmp_path: Path) -> None:
    async with bench(tmp_path, ScriptedModel([reply("hi")])) as it:
        await it.agent.turn("go")
        name = it.session.id
    log = tmp_path / "sessions" / name / "events.jsonl"
    with log.open("ab") as file:
        file.write(b'{"v":1,"seq":99,"ti')
    for _ in range(2):
        async with bench(tmp_path, ScriptedModel([]), resume=name) as it:
            notices = [r.event for r in it.agent.history() if isinstance(r.event, Notice)]
            assert notices == [Notice("the last line of the session was torn and has been cut off", Severity.WARNING)]


async def test_usage_and_ids_continue_after_resume(tmp_path: Path) -> None:
    async with bench(tmp_path, ScriptedModel([reply("", "echo 1"), reply("ok")])) as it:
        await it.agent.turn("go")
        name = it.session.id
    model = ScriptedModel([reply("", "echo 2"), reply("ok")])
    async with bench(tmp_path, model, resume=name) as it:
        await it.agent.turn("go on")
        replies = [message for message in model.asked[-1].messages if isinstance(message, AssistantMessage)]
        assert [call.id for message in replies for call in message.tool_calls] == ["c0", "c0_1"]
        assert it.of(Notice) == [], "nothing had to be repaired"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_an_interrupted_run_that_printed_a_picture_is_named_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "cmd-7.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(99))
    history = recorded(START, ASKED, started("c1", 7, str(tmp_path)))
    told = next(event for event in missing_events(history, Limits()) if isinstance(event, CommandFinished))
    assert f"Use: see {tmp_path}/cmd-7.png\n" in told.shown.text
    assert (tmp_path / "cmd-7.png").samefile(tmp_path / "cmd-7.txt")
