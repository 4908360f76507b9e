"""Tool calls for models that have none: the model writes one fenced `run` block per message, results are user messages.

A conversation with calls comes in, one of plain text goes to the endpoint; its text comes back as text and a call. Strict:
one closed block, or nothing is run and the model is told why. A block inside another fenced block is an explanation.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from msgspec import Struct, field
from msgspec.structs import replace

from agentclip.messages import AssistantMessage, Conversation, Message, ToolCall, ToolMessage, UserMessage
from agentclip.model.base import CallPart, Endpoint, ModelFacts, Part, ReasoningPart, Reply, TextPart
from agentclip.model.wire import call_ids, parse_arguments

TOOL = "run"
HOW = """To run a command, write one fenced block, alone at the end of your message, and stop:

```run
ls -la | head 5
```

The block holds only the command line, over as many lines as it needs; there is no other argument (use a here-document for
standard input). One block per message: its result is the next message. A message without a block is your answer."""
SEVERAL = "several_run_blocks"
OPEN = "unclosed_run_block"
FAULTS = {
    SEVERAL: "[error] run: several run blocks in one message, none was run. Use: one block, then wait for its result",
    OPEN: "[error] run: the run block is not closed, nothing was run. Use: ```run, the command, and ``` on lines of their own",
}
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*$")
COULD_BE_FENCE = re.compile(r" {0,3}(`{0,2}|~{0,2}|`{3,}.*|~{3,}.*)$")


class TextProtocol(Struct, frozen=True):
    """An endpoint whose model knows no tools, as one that does."""

    endpoint: Endpoint

    @property
    def context_window(self) -> int | None:
        """Of the model."""
        return self.endpoint.context_window

    async def models(self) -> tuple[ModelFacts, ...]:
        """What the endpoint offers."""
        return await self.endpoint.models()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.endpoint.aclose()

    async def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        """Stream one reply; the block becomes a call. Raises ModelError."""
        reader = BlockReader()
        async with aclosing(self.endpoint.reply(as_text(conversation))) as parts:
            async for part in parts:
                match part:
                    case TextPart(text):
                        if shown := reader.feed(text):
                            yield TextPart(shown)
                    case ReasoningPart():
                        yield part
                    case CallPart():
                        pass  # no tools were offered
                    case Reply():
                        for last in _ended(reader, part, conversation):
                            yield last


def _ended(reader: BlockReader, reply: Reply, conversation: Conversation) -> Iterator[Part]:
    """What is left of the text, the call, and the reply that holds both."""
    if rest := reader.end():
        yield TextPart(rest)
    arguments = reader.arguments()
    calls: tuple[ToolCall, ...] = ()
    if arguments is not None:
        taken = call_ids(conversation)
        call_id = next(free for n in range(1, len(taken) + 2) if (free := f"text{n:05d}") not in taken)
        calls = (ToolCall(call_id, TOOL, arguments),)
        yield CallPart(call_id, TOOL, arguments)
    message = AssistantMessage("".join(reader.text), calls, reply.message.reasoning)
    yield replace(reply, message=message)


class BlockReader(Struct):
    """Takes run blocks out of a text that comes in pieces."""

    text: list[str] = field(default_factory=list)
    """What is no run block, as it was shown."""
    blocks: list[list[str]] = field(default_factory=list)
    line: str = ""
    """The line that is not complete; the part of it in `shown` was delivered."""
    shown: int = 0
    fence: str = ""
    """The fence that is open; empty outside."""
    in_run: bool = False

    def feed(self, piece: str) -> str:
        """The text that can be shown now: a line that may still become a fence is held back."""
        *lines, rest = (self.line + piece).split("\n")
        out = [self._complete(line + "\n") for line in lines]
        self.line = rest
        if not self.in_run and not COULD_BE_FENCE.match(rest):
            out.append(rest[self.shown :])
            self.shown = len(rest)
        return self._deliver(out)

    def end(self) -> str:
        """What is left when the text has ended."""
        out = [self._complete(self.line)] if self.line else []
        self.line = ""
        return self._deliver(out)

    def arguments(self) -> str | None:
        """Those of the call, as JSON; None without a block."""
        if not self.blocks:
            return None
        if len(self.blocks) > 1:
            return json.dumps({SEVERAL: len(self.blocks)})
        if self.in_run:
            return json.dumps({OPEN: True})
        return json.dumps({"command": "".join(self.blocks[0]).removesuffix("\n")}, ensure_ascii=False)

    def _complete(self, line: str) -> str:
        """Take in a whole line; what of it is to be shown."""
        shown, self.shown = self.shown, 0
        match = FENCE.match(line.rstrip("\r\n"))
        if self.fence:
            closes = match is not None and not match[2] and match[1].startswith(self.fence)
            was_run = self.in_run
            if closes:
                self.fence, self.in_run = "", False
            elif was_run:
                self.blocks[-1].append(line.replace("\r\n", "\n"))
            return "" if was_run else line[shown:]
        if match is not None:
            self.fence, self.in_run = match[1], match[2] == TOOL
            if self.in_run:
                self.blocks.append([])
                return ""
        return line[shown:]

    def _deliver(self, pieces: list[str]) -> str:
        text = "".join(pieces)
        self.text.append(text)
        return text


def as_text(conversation: Conversation) -> Conversation:
    """The conversation for a model without tools: calls as blocks, results as user messages, never two of a role in a row."""
    how = "\n\n".join([HOW, *(tool.description for tool in conversation.tools)]) if conversation.tools else ""
    system = "\n\n".join(filter(None, [conversation.system, how]))
    return Conversation(system, tuple(_joined(conversation.messages)), ())


def _joined(messages: tuple[Message, ...]) -> Iterator[Message]:
    pending: UserMessage | None = None
    faults: dict[str, str] = {}
    for message in messages:
        match message:
            case AssistantMessage():
                if pending is not None:
                    yield pending
                    pending = None
                faults |= {call.id: fault for call in message.tool_calls if (fault := _fault(call))}
                yield AssistantMessage("\n\n".join(filter(None, [message.text, *map(_block, message.tool_calls)])))
            case ToolMessage(call_id, text, images):
                pending = _added(pending, UserMessage(faults.get(call_id, text), images))
            case UserMessage():
                pending = _added(pending, message)
    if pending is not None:
        yield pending


def _added(first: UserMessage | None, second: UserMessage) -> UserMessage:
    if first is None:
        return second
    return UserMessage("\n\n".join(filter(None, [first.text, second.text])), first.images + second.images)


def _fault(call: ToolCall) -> str | None:
    arguments = parse_arguments(call.arguments) or {}
    return next((text for key, text in FAULTS.items() if key in arguments), None)


def _block(call: ToolCall) -> str:
    """A call as the model should have written it."""
    command = (parse_arguments(call.arguments) or {}).get("command")
    if not isinstance(command, str):
        return "[a run block that was not run]"
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", command)), default=0))
    return f"{fence}{TOOL}\n{command}\n{fence}"
