"""What the model is told once: the system prompt and the description of `run`. The same bytes for the whole session."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources

from msgspec import Struct

from agentclip.agent.tool import TOOL_NAME
from agentclip.messages import ToolSpec

MAX_BYTES = 6000
"""Of system prompt and tool together."""

_PARAMETERS = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "a bash command line"},
        "stdin": {"type": "string", "description": "text for the standard input of the first command"},
        "timeout_s": {"type": "integer", "description": "time limit in seconds"},
    },
    "required": ["command"],
}


class Instructions(Struct, frozen=True):
    """What goes in front of every conversation."""

    system: str
    tool: ToolSpec


def instructions(level_0: Iterable[str], cwd: str) -> Instructions:
    """The instructions for a session that began in `cwd`. `level_0` has one line per command of ours."""
    description = prompt_text("run.md").replace("{commands}", "\n".join(level_0))
    tool = ToolSpec(TOOL_NAME, description, json.dumps(_PARAMETERS))
    return Instructions(prompt_text("system.md").replace("{cwd}", cwd), tool)


def prompt_text(name: str) -> str:
    """A file of `prompts/`."""
    return (resources.files("agentclip.agent") / "prompts" / name).read_text(encoding="utf-8").strip()
