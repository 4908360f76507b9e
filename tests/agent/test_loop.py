from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agentclip.agent.options import AgentOptions
from agentclip.events import (
    NOT_STORED,
    AssistantReplied,
    CommandFinished,
    CommandStarted,
    Notice,
    OutputGrew,
    ReasoningDelta,
    SessionStarted,
    StageFinished,
    TextDelta,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from tests.agent.workbench import against, answers, bench, provider, roles, until
from tests.fake_model.server import FakeModel, run, text


async def test_a_turn_runs_commands_until_the_model_answers(tmp_path: Path) -> None:
    script = [run("echo one", text="I look."), run("cd / && pwd", "pwd"), text("done", reasoning="hm")]
    async with against(tmp_path, script) as (it, server):
        end = await it.agent.turn("go")
        assert end == TurnFinished(TurnEnd.ANSWERED)
        assert roles(server) == ["system", "user", "assistant", "tool", "assistant", "tool", "tool"]
        bodies = [answer.splitlines()[0] for answer in answers(server).values()]
        assert bodies == ["one", "/", "/"]
        assert "".join(event.text for event in it.of(TextDelta)) == "I look.done"
        assert "".join(event.text for event in it.of(ReasoningDelta)) == "hm"
        assert it.agent.title == "go"


async def test_what_is_told_is_what_is_stored_plus_what_is_never_stored(tmp_path: Path) -> None:
    async with against(tmp_path, [run("seq 3 | tail -1"), text("3")]) as (it, _):
        await it.agent.turn("go")
        stored = [recorded.event for recorded in it.agent.history()]
        assert isinstance(stored[0], SessionStarted)
        assert [event for event in it.told if not isinstance(event, NOT_STORED)] == stored[1:]
        assert [type(event) for event in stored[1:]] == [
            TurnStarted,
            AssistantReplied,
            CommandStarted,
            CommandFinished,
            AssistantReplied,
            TurnFinished,
        ]


async def test_stages_and_growth_are_told_between_start_and_end_of_their_run(tmp_path: Path) -> None:
    async with against(tmp_path, [run("(sleep 0.2; echo late) & echo now", "sleep 0.5; echo err >&2"), text("x")]) as (it, _):
        await it.agent.turn("go")
        inside: int | None = None
        for event in it.told:
            if isinstance(event, CommandStarted):
                inside = event.number
            elif isinstance(event, StageFinished | OutputGrew):
                assert event.number == inside
            elif isinstance(event, CommandFinished):
                inside = None
        assert len(it.of(StageFinished)) == 3
        assert (it.session.cmd_output / "cmd-1.txt").read_text() == "now\nlate\n"
        assert it.of(OutputGrew)


async def test_a_run_is_on_disk_before_its_first_process_starts(tmp_path: Path) -> None:
    log = tmp_path / "sessions"
    command = f"grep -c CommandSt[a]rted {log}/*/events.jsonl"
    async with against(tmp_path, [run(command), text("x")]) as (it, _):
        await it.agent.turn("go")
        assert it.of(CommandFinished)[0].shown.text.startswith("1\n")


async def test_stdin_and_the_time_limit_of_a_call_are_used(tmp_path: Path) -> None:
    calls = {"calls": [{"command": "cat", "stdin": "from stdin"}, {"command": "sleep 60", "timeout_s": 1}]}
    async with against(tmp_path, [calls, text("x")]) as (it, server):
        await it.agent.turn("go")
        first, second = answers(server).values()
        assert first.startswith("from stdin\n[exit:0")
        assert "timed out after 1s" in second


async def test_messages_typed_while_running_join_before_the_next_step(tmp_path: Path) -> None:
    async with against(tmp_path, [run("sleep 0.2"), text("ok")]) as (it, server), asyncio.TaskGroup() as group:
        turn = group.create_task(it.agent.turn("first"))
        await until(lambda: it.agent.active)
        it.agent.submit("second")
        it.agent.submit("third")
        it.agent.submit("fourth")
        assert it.agent.unqueue() == "fourth"
        assert list(it.agent.queue) == ["second", "third"]
        assert (await turn).reason is TurnEnd.ANSWERED
        assert not it.agent.queue
        assert roles(server)[-2:] == ["tool", "user"]
        assert server.last.messages[-1]["content"] == "second\n\nthird"
        assert [event.message.text for event in it.of(UserMessageFolded)] == ["second", "third"]


async def test_serving_takes_one_prompt_after_the_other_and_ends_with_close(tmp_path: Path) -> None:
    async with against(tmp_path, [text("a"), text("b")]) as (it, server), asyncio.TaskGroup() as group:
        serving = group.create_task(it.agent.serve())
        it.agent.submit("one")
        await until(lambda: it.of(TurnFinished))
        it.agent.submit("   \n ")
        it.agent.submit("two")
        await until(lambda: len(it.of(TurnFinished)) == 2)
        assert [message["content"] for message in server.last.messages[1:]] == ["one", "a", "two"]
        assert not it.agent.running
        serving.cancel()


async def test_close_ends_serving_and_the_run_that_is_going_on(tmp_path: Path) -> None:
    with FakeModel([run("sleep 600")]) as server:
        async with bench(tmp_path, provider(server, tmp_path)) as it, asyncio.TaskGroup() as group:
            group.create_task(it.agent.serve())
            it.agent.submit("go")
            await until(lambda: it.agent.active)
            it.agent.submit("never")
            await it.agent.close()
            assert it.of(TurnFinished)[-1].reason is TurnEnd.CANCELLED
            assert it.of(CommandFinished)[-1].result.ended == "cancelled"
            it.agent.submit("too late")
            assert not it.agent.queue


async def test_a_line_of_the_person_runs_through_both_layers_without_the_model(tmp_path: Path) -> None:
    async with against(tmp_path, [run("sleep 0.2"), text("ok")]) as (it, server), asyncio.TaskGroup() as group:
        serving = group.create_task(it.agent.serve())
        it.agent.submit("first")
        await until(lambda: it.agent.active)
        it.agent.shell("cd / && pwd")
        it.agent.submit("after the line")
        assert list(it.agent.queue) == ["!cd / && pwd", "after the line"]
        server.script.append(text("yes"))
        await until(lambda: len(it.of(TurnFinished)) == 2)
        own = [event for event in it.of(CommandFinished) if event.tool_call_id is None]
        assert own[0].shown.text.startswith("/\n[exit:0 |")
        # What was typed after the line did not overtake it, and the model never reads the line.
        order = [type(event) for event in it.told if isinstance(event, TurnStarted | TurnFinished | CommandFinished)]
        assert order == [TurnStarted, CommandFinished, TurnFinished, CommandFinished, TurnStarted, TurnFinished]
        assert [message["role"] for message in server.last.messages[-2:]] == ["assistant", "user"]
        serving.cancel()


async def test_a_line_that_no_shell_could_take_is_a_notice(tmp_path: Path) -> None:
    async with against(tmp_path, [text("ok")]) as (it, _), asyncio.TaskGroup() as group:
        serving = group.create_task(it.agent.serve())
        for line in ("a\0b", "a\ud800b"):
            it.agent.shell(line)
        await until(lambda: len(it.of(Notice)) == 2)
        assert not it.session.begun
        serving.cancel()


async def test_the_limit_of_steps_ends_the_turn_cleanly(tmp_path: Path) -> None:
    script = [run("echo 1"), run("echo 2"), run("echo 3")]
    async with against(tmp_path, script, options=AgentOptions(max_steps=2)) as (it, server):
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.LIMIT, "BUDGET")
        assert len(server.requests) == 2
        assert len(it.of(CommandFinished)) == 2


async def test_twenty_commands_in_one_message_are_all_answered_in_order(tmp_path: Path) -> None:
    async with against(tmp_path, [run(*(f"echo {n}" for n in range(20))), text("ok")]) as (it, server):
        await it.agent.turn("go")
        assert [answer.splitlines()[0] for answer in answers(server).values()] == [str(n) for n in range(20)]


async def test_usage_adds_up_and_an_unknown_cost_stays_unknown(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    async with against(tmp_path, [run("true", usage=usage), text("x", usage=usage)]) as (it, _):
        await it.agent.turn("go")
        total = it.agent.usage
        assert (total.input_tokens, total.output_tokens, total.cached_tokens, total.cost_usd) == (20, 6, 8, None)


async def test_the_first_request_is_small_and_instructions_never_change(tmp_path: Path) -> None:
    async with against(tmp_path, [run("cd /"), text("x"), text("y")]) as (it, server):
        await it.agent.turn("go")
        await it.agent.turn("go on")
        heads: list[Any] = [(request.messages[0], request.body["tools"]) for request in server.requests]
        assert heads.count(heads[0]) == len(heads) == 3
        assert len(server.requests[0].raw) <= 6000


async def test_text_that_no_request_could_hold_is_cleaned_once(tmp_path: Path) -> None:
    async with against(tmp_path, [run("printf 'a\\000b\\377'"), text("ok")]) as (it, server):
        await it.agent.turn("nul \0 and half \ud83d pair")
        assert server.last.messages[1]["content"] == "nul \ufffd and half \ufffd pair"


async def test_a_bug_in_the_loop_ends_the_turn_not_the_session(tmp_path: Path) -> None:
    async with against(tmp_path, [run("echo hi"), text("never")]) as (it, _):

        def broken(event: object) -> None:
            if isinstance(event, CommandStarted):
                raise ZeroDivisionError

        it.agent.subscribe(broken)
        end = await it.agent.turn("go")
        assert (end.reason, end.code) == (TurnEnd.FAILED, "INTERNAL")
        assert "ZeroDivisionError" in end.text
        assert it.of(TurnFinished) == [end]
        assert not it.agent.running
