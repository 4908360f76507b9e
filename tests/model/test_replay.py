"""Recordings: what a file may hold, and what a bad one says. What they play is in contracts/test_model.py."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from agentclip.errors import ConfigError
from agentclip.messages import AssistantMessage, Conversation, ToolCall, ToolMessage, UserMessage
from agentclip.model.base import Reply
from agentclip.model.replay import END_OF_RECORDING, ReplayModel

HELLO = Conversation("", (UserMessage("hello"),), ())


def recording(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    return path


async def texts(model: ReplayModel, count: int) -> list[str]:
    replies = [part for _ in range(count) async for part in model.reply(HELLO) if isinstance(part, Reply)]
    return [reply.message.text for reply in replies]


async def test_after_the_last_line_every_request_gets_one_fixed_line(tmp_path: Path) -> None:
    model = ReplayModel(recording(tmp_path, '{"title": "T"}', "", '{"text": "only"}', '{"comment": "c"}'))
    assert model.recording.title == "T"
    assert await texts(model, 3) == ["only", END_OF_RECORDING, END_OF_RECORDING]


async def test_delay_is_kept_before_each_part(tmp_path: Path) -> None:
    model = ReplayModel(recording(tmp_path, '{"text": "a b c", "delay_s": 0.05}'))
    began = time.monotonic()
    async with asyncio.timeout(20):
        await texts(model, 1)
    assert time.monotonic() - began >= 0.15


async def test_a_call_has_only_the_arguments_that_are_written(tmp_path: Path) -> None:
    calls = [{"command": "cat", "stdin": "日本", "timeout_s": 3}, {"command": "ls"}, {"name": "run", "arguments": "{"}]
    model = ReplayModel(recording(tmp_path, json.dumps({"calls": calls})))
    (reply,) = [part async for part in model.reply(HELLO) if isinstance(part, Reply)]
    assert [call.arguments for call in reply.message.tool_calls] == [
        '{"command": "cat", "stdin": "日本", "timeout_s": 3}',
        '{"command": "ls"}',
        "{",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "malformed|truncated"),
        ("[]", "Expected `object`"),
        ('{"txt": "a"}', "unknown field `txt`"),
        ('{"text": 3}', r"Expected `str`, got `int` - at `\$.text`"),
        ('{"text": " "}', "needs `text`"),
        ('{"calls": [{}]}', "either `command` or `name`"),
        ('{"calls": [{"command": "a", "name": "b"}]}', "either `command` or `name`"),
        ('{"calls": [{"comand": "a"}]}', "unknown field `comand`"),
        ('{"error": {"code": "OOPS", "message": "m"}}', "Invalid enum value 'OOPS'"),
        ("[" * 100_000, "line 2"),
        ('{"text": "\\ud800"}', "line 2"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = recording(tmp_path, '{"text": "good"}', line)
    with pytest.raises(ConfigError, match=words) as caught:
        ReplayModel(path)
    assert caught.value.message.startswith(f"{path}, line 2: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(ConfigError, match=str(path)):
            ReplayModel(path)


def test_a_recording_without_replies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no reply"):
        ReplayModel(recording(tmp_path, '{"title": "nothing"}'))


async def test_the_path_of_a_truncated_output_is_put_into_a_command(tmp_path: Path) -> None:
    answers = [ToolMessage(f"c{n}", f"1\nFull output: /tmp/a b/cmd-{n}.txt\n[exit:0 | 1ms]") for n in (1, 2)]
    asked = [AssistantMessage("", (ToolCall(answer.tool_call_id, "run", "{}"),)) for answer in answers]
    history = (UserMessage("hi"), asked[0], answers[0], asked[1], answers[1])
    model = ReplayModel(recording(tmp_path, '{"calls": [{"command": "wc -l {full_output}"}]}'))
    (reply,) = [part async for part in model.reply(Conversation("", history, ())) if isinstance(part, Reply)]
    assert json.loads(reply.message.tool_calls[0].arguments) == {"command": "wc -l '/tmp/a b/cmd-2.txt'"}
