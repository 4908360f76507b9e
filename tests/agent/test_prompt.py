from __future__ import annotations

import json

from agentclip.agent.prompt import MAX_BYTES, instructions
from agentclip.agent.tool import WantedRun, read_call
from agentclip.messages import ToolCall

FULL_LEVEL_0 = [f"command{n:02} — {'x' * 49}" for n in range(40)]
"""As large as level 0 may become: 40 lines, 2,500 characters."""


def test_system_prompt_and_tool_stay_small_with_a_full_level_0() -> None:
    assert 2400 < len("\n".join(FULL_LEVEL_0)) <= 2500
    told = instructions(FULL_LEVEL_0, "/home/person/project")
    assert len((told.system + told.tool.description + told.tool.parameters).encode()) <= MAX_BYTES


def test_every_command_of_level_0_is_named_once_and_nothing_is_left_open() -> None:
    told = instructions(["see — look at a picture"], "/a {commands} {cwd} dir")
    assert told.tool.description.count("see — look at a picture") == 1
    assert "{" not in told.tool.description
    assert told.system.endswith("The session began in /a {commands} {cwd} dir.")


def test_the_schema_is_what_calls_are_read_by() -> None:
    schema = json.loads(instructions([], "/").tool.parameters)
    given = {"command": "ls", "stdin": "x", "timeout_s": 3}
    assert set(schema["properties"]) == set(given)
    assert schema["required"] == ["command"]
    assert read_call(ToolCall("c", "run", json.dumps(given)), 60) == WantedRun("ls", "x", 3)
