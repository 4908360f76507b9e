"""A model that plays a script in process; every conversation it is asked with must pass the strict server's rules."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable

from agentclip.errors import ModelError
from agentclip.messages import AssistantMessage, Conversation, ToolCall
from agentclip.model.base import Model, Part, Reply, TextPart
from agentclip.model.wire import BodyOptions, request_body
from tests.fake_model.strict import read_body

Scripted = AssistantMessage | ModelError


def reply(text: str = "", *commands: str) -> AssistantMessage:
    """A reply with calls of `run`. Their ids repeat from reply to reply, as some providers' do."""
    calls = (ToolCall(f"c{n}", "run", json.dumps({"command": command})) for n, command in enumerate(commands))
    return AssistantMessage(text, tuple(calls))


def strictly_valid(conversation: Conversation) -> None:
    """Raises InvalidRequestError when a strict endpoint would refuse it."""
    body = request_body(conversation, BodyOptions("scripted"), lambda _path, _limit: b"")
    read_body(json.dumps(body, ensure_ascii=False).encode("utf-8"))


class ScriptedModel:
    """One entry of the script per request."""

    name = "scripted"
    context_window: int | None = None

    def __init__(self, script: Iterable[Scripted]) -> None:
        self.script = list(script)
        self.asked: list[Conversation] = []

    async def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        self.asked.append(conversation)
        strictly_valid(conversation)
        scripted = self.script.pop(0)
        if isinstance(scripted, ModelError):
            raise scripted
        if scripted.text:
            yield TextPart(scripted.text)
        yield Reply(scripted)

    async def aclose(self) -> None:
        pass


_: type[Model] = ScriptedModel
