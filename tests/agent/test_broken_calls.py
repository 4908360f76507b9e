"""Cases B41 to B44 and B47: whatever a call holds, it is run exactly or answered, and the next request is valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentclip.agent.tool import Refusal, WantedRun, has_call_as_text, read_call
from agentclip.events import Advised, AssistantReplied, CallAnswered, CommandStarted, TurnEnd
from agentclip.messages import ToolCall
from tests.agent.scripted import ScriptedModel, reply
from tests.agent.workbench import against, answers, assistant_messages, bench
from tests.fake_model.script import call, text

BROKEN: tuple[tuple[str, str], ...] = (
    ('{"command": "touch ac_ran_1', "not valid JSON (Unterminated string"),
    ('{"command": "touch ac_ran_1\n"}', "not valid JSON (Invalid control character"),
    ('{"command": "touch ac_ran_1",}', "not valid JSON ("),
    ("{'command': 'touch ac_ran_1'}", "not valid JSON ("),
    ('{"command": "touch ac_ran_1"} and more', "not valid JSON (Extra data"),
    ('{"command": "touch ac_ran_1", "timeout_s": NaN}', "not valid JSON (NaN"),
    ('{"timeout_s": ' + "9" * 5000 + "}", "not valid JSON ("),
    ("x" * 50_000, "not valid JSON ("),
    ("[" * 50_000, "nested too deeply"),
    ("", "are empty"),
    (" \n", "are empty"),
    ("null", "are null, not a JSON object"),
    ("[]", "are a list, not a JSON object"),
    ('"touch ac_ran_1"', "are a string, not a JSON object"),
    ("3", "are a number, not a JSON object"),
    ("true", "are a boolean, not a JSON object"),
    ("{}", "`command` is missing"),
    ('{"cmd":"touch ac_ran_1"}', "`command` is missing (given: cmd)"),
    ('{"command":["touch","ac_ran_1"]}', "`command` is a list, not a string"),
    ('{"command":{"a":1}}', "`command` is an object, not a string"),
    ('{"command":""}', "the command is empty"),
    ('{"command":" \\t\\n"}', "the command is empty"),
    ('{"command":null}', "`command` is null, not a string"),
    ('{"command":"touch ac_ran_1\\u0000"}', "NUL character"),
    ('{"command":"touch ac_ran_1 \\ud83d"}', "half of a surrogate pair"),
    ('{"command":"touch ac_ran_1","stdin":3}', "`stdin` is a number"),
    ('{"command":"touch ac_ran_1","stdin":"\\udc00"}', "`stdin` holds half"),
    ('{"command":"touch ac_ran_1","timeout_s":"soon"}', "`timeout_s` is a string"),
    ('{"command":"touch ac_ran_1","timeout_s":true}', "`timeout_s` is a boolean"),
    ('{"command":"touch ac_ran_1","timeout_s":1.5}', "`timeout_s` is a number"),
    ('{"command":"touch ac_ran_1","timeout_s":0}', "`timeout_s` must be 1 to 3600 seconds"),
    ('{"command":"touch ac_ran_1","timeout_s":99999}', "`timeout_s` must be 1 to 3600 seconds"),
    ('"{\\"command\\": \\"touch ac_ran_1"', "not valid JSON (Unterminated"),
    ('"\\"{}\\""', "are a string, not a JSON object"),
)


@pytest.mark.parametrize(("arguments", "reason"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_call_is_answered_in_one_short_line_that_says_what_to_do(arguments: str, reason: str) -> None:
    refusal = read_call(ToolCall("c1", "run", arguments), 3600)
    assert isinstance(refusal, Refusal)
    line, footer = refusal.text.split("\n")
    assert line.startswith("[error] run: ")
    assert reason in line
    assert '. Use: run(command="..."' in line
    assert footer == "[exit:2 | 0ms]"
    assert len(refusal.text) < 1000
    assert "\n" not in refusal.reason


async def test_nothing_runs_for_a_broken_call_and_the_loop_goes_on(tmp_path: Path) -> None:
    script = [call(arguments, call_id=f"c{number}") for number, (arguments, _) in enumerate(BROKEN)]
    async with against(tmp_path, [*script, text("ok")]) as (it, server):
        end = await it.agent.turn("go")
        assert end.reason is TurnEnd.ANSWERED
        assert it.of(CommandStarted) == []
        assert not (it.work / "ac_ran_1").exists()
        for number, (_, reason) in enumerate(BROKEN):
            assert reason in answers(server)[f"c{number}"]
        assert len(it.of(CallAnswered)) == len(BROKEN)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ('{"command": "echo hi"}', WantedRun("echo hi")),
        ('"{\\"command\\": \\"echo hi\\"}"', WantedRun("echo hi")),
        (' {"command": " echo hi ", "why": "because"}', WantedRun(" echo hi ")),
        ('{"command": "cat", "stdin": "a\\u0000b", "timeout_s": 7}', WantedRun("cat", "a\0b", 7)),
        ('{"command": "cat", "stdin": null, "timeout_s": null}', WantedRun("cat")),
        ('{"command": "cat", "timeout_s": "30"}', WantedRun("cat", None, 30)),
        ('{"command": "cat", "timeout_s": 30.0}', WantedRun("cat", None, 30)),
        ('{"command": "echo \\ud83d\\ude00"}', WantedRun("echo 😀")),
    ],
)
def test_a_call_that_can_be_read_is_read_exactly(arguments: str, wanted: WantedRun) -> None:
    assert read_call(ToolCall("c1", "run", arguments), 3600) == wanted


async def test_arguments_encoded_twice_run_once(tmp_path: Path) -> None:
    async with against(tmp_path, [call(json.dumps(json.dumps({"command": "echo hi"}))), text("ok")]) as (it, server):
        await it.agent.turn("go")
        (answer,) = answers(server).values()
        assert answer.startswith("hi\n[exit:0")
        sent = assistant_messages(server)[0]["tool_calls"][0]["function"]["arguments"]
        assert json.loads(sent) == {"command": "echo hi"}


NAMES = ("bash", "read_file", "a name with spaces", "x" * 300, "运行", "", "run\nnow", "\x1b[31m", "run; rm")


async def test_an_unknown_tool_is_answered_with_the_one_there_is(tmp_path: Path) -> None:
    script: list[Any] = [call('{"command": "touch ac_ran_2"}', name=name, call_id=f"c{n}") for n, name in enumerate(NAMES)]
    async with against(tmp_path, [*script, call('{"path": "x"}', name="read", call_id="last"), text("ok")]) as (it, server):
        await it.agent.turn("go")
        assert not (it.work / "ac_ran_2").exists()
        said = answers(server)
        assert said["c0"] == (
            '[error] unknown tool bash, the only tool is run(command=...). Use: run(command="touch ac_ran_2")\n[exit:2 | 0ms]'
        )
        assert said["last"].startswith('[error] unknown tool read, the only tool is run(command=...). Use: run(command="...")')
        assert all(len(answer) < 400 and answer.count("\n") == 1 for answer in said.values())


async def test_a_sound_call_beside_a_broken_one_runs(tmp_path: Path) -> None:
    calls = {"calls": [{"name": "run", "arguments": "{"}, {"command": "echo sound"}, {"name": "ls", "arguments": "{}"}]}
    async with against(tmp_path, [calls, text("ok")]) as (it, server):
        await it.agent.turn("go")
        first, second, third = answers(server).values()
        assert first.startswith("[error] run: the arguments are not valid JSON")
        assert second.startswith("sound\n")
        assert third.startswith("[error] unknown tool ls")


async def test_an_id_that_comes_again_in_a_later_message_is_kept_apart(tmp_path: Path) -> None:
    calls = {"calls": [{"command": "echo A", "id": "one"}, {"command": "echo B", "id": "two"}]}
    async with against(tmp_path, [calls, calls, text("ok")]) as (it, server):
        await it.agent.turn("go")
        assert [answer.split("\n")[0] for answer in answers(server).values()] == ["A", "B"] * 2


AS_TEXT = (
    '<tool_call>{"name":"run","arguments":{"command":"touch ac_txt_1"}}</tool_call>',
    'I will do it.\n\n<tool_call>\n{"name": "run", "arguments": {"command": "touch ac_txt_1"}}\n</tool_call>',
    '<function_calls>\n<invoke name="run">\n<parameter name="command">touch ac_txt_1</parameter>\n</invoke>\n</function_calls>',
    '<function=run>{"command": "touch ac_txt_1"}</function>',
    '<|tool_call|>run{"command": "touch ac_txt_1"}',
    '[TOOL_CALLS][{"name": "run", "arguments": {"command": "touch ac_txt_1"}}]',
    '<|python_tag|>run.call(command="touch ac_txt_1")',
    "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function",
    '{"name": "run", "arguments": {"command": "touch ac_txt_1"}}',
    '{"command": "touch ac_txt_1"}',
    'I will create it.\nrun(command="touch ac_txt_1")',
)
NO_CALL = (
    'Models write it so:\n\n```xml\n<tool_call>{"name":"run"}</tool_call>\n```\nThat is all.',
    "~~~\n<tool_call>{}</tool_call>\n~~~",
    '```\n<tool_call>{"name":"run"}</tool_call>\n',
    "The markup `<tool_call>{...}</tool_call>` stands for a call.",
    "The <tool_call> tag and the [TOOL_CALLS] token are explained above.",
    'The file holds\n{"name": "agentclip", "version": "1.0"}',
    '{"name": "agentclip", "private": true}',
    'I ran run(command="ls") and it printed nothing.',
    '<invoice name="x">',
    "done",
    "",
)


@pytest.mark.parametrize("answer", AS_TEXT)
def test_a_call_written_as_text_is_recognised(answer: str) -> None:
    assert has_call_as_text(answer)


@pytest.mark.parametrize("answer", NO_CALL)
def test_talk_about_calls_is_no_call(answer: str) -> None:
    assert not has_call_as_text(answer)


async def test_a_call_as_text_is_asked_for_twice_at_most_and_never_run(tmp_path: Path) -> None:
    async with against(tmp_path, [text(AS_TEXT[0]), text(AS_TEXT[1]), text(AS_TEXT[0]), text("never")]) as (it, server):
        end = await it.agent.turn("go")
        assert len(server.requests) == 3
        assert end.reason is TurnEnd.ANSWERED
        assert end.text == "the model wrote a call as text, nothing was run"
        assert [event.reason[-8:] for event in it.of(Advised)] == ["(1 of 2)", "(2 of 2)"]
        assert "Call the tool `run` itself" in server.last.messages[-1]["content"]
        assert not (it.work / "ac_txt_1").exists()


async def test_a_real_call_after_the_question_is_run(tmp_path: Path) -> None:
    async with against(tmp_path, [text(AS_TEXT[0]), call('{"command": "echo real"}'), text("ok")]) as (it, server):
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        assert next(iter(answers(server).values())).startswith("real\n")


async def test_an_explanation_in_a_fence_is_the_answer(tmp_path: Path) -> None:
    async with against(tmp_path, [text(NO_CALL[0]), text("never")]) as (it, server):
        assert (await it.agent.turn("go")).text == ""
        assert len(server.requests) == 1


async def test_an_empty_answer_is_asked_for_again_and_never_stored(tmp_path: Path) -> None:
    model = ScriptedModel([reply(""), reply(" \n\n"), reply("here")])
    async with bench(tmp_path, model) as it:
        assert (await it.agent.turn("go")).reason is TurnEnd.ANSWERED
        assert [event.message.text for event in it.of(AssistantReplied)] == ["here"]
        model.script[:] = [reply("")] * 4
        end = await it.agent.turn("go")
        assert (end.reason, end.text) == (TurnEnd.FAILED, "the model answered with nothing")
        assert len(model.asked) == 6
