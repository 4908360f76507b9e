"""`replay:FILE`: a scripted model that ships. Used by the demo, by tests and in bug reports, through the same loop.

The file is JSON Lines; blank lines and lines `{"title": "..."}` or `{"comment": "..."}` are skipped. Every other line is
one reply, taken in order, one per request:

    {"text": "Let me look.", "calls": [{"command": "ls -l"}]}
    {"text": "Done."}

| key         | meaning                                                                                        |
|-------------|------------------------------------------------------------------------------------------------|
| `text`      | streamed in word-sized parts                                                                   |
| `reasoning` | streamed before the text                                                                       |
| `calls`     | `{"command": "...", "stdin": "...", "timeout_s": 5}`, or raw `{"name": "run", "arguments": ""}`  |
| `delay_s`   | seconds to wait before each word; 0 when absent                                                |
| `pause_s`   | seconds to wait before the first part, as if thinking; 0 when absent                           |
| `error`     | `{"code": "RATE_LIMIT", "message": "...", "hint": "...", "retry_after_s": 2}` instead of a reply |
| `cut`       | true: the connection is lost after the parts, no reply comes                                   |
| `hang`      | true: nothing more comes after the parts                                                       |
| `usage`     | `{"input_tokens": 10, "output_tokens": 2}`; unknown when absent                                 |

`{full_output}` in a `command` becomes the path that the newest `Full output: PATH` line of the conversation names, quoted
for the shell: a recording cannot know it, a model would have read it.

After the last line every request is answered with `[end of recording]`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shlex
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from agentclip.errors import ConfigError, ErrorCode, ModelError
from agentclip.messages import AssistantMessage, Conversation, ToolCall, ToolMessage, Usage
from agentclip.model.base import CallPart, Model, Part, ReasoningPart, Reply, TextPart
from agentclip.model.wire import call_ids, clean

PREFIX = "replay:"
END_OF_RECORDING = "[end of recording]"
FULL_OUTPUT = re.compile(r"^Full output: (.+)$", re.MULTILINE)
DEMO = Path(__file__).parent / "recordings" / "demo.jsonl"


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call of `run`, or any call written raw."""

    command: str | None = None
    stdin: str | None = None
    timeout_s: int | float | None = None
    name: str | None = None
    arguments: str | None = None
    """Raw, possibly broken; only with `name`."""


class ScriptedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure instead of a reply."""

    code: ErrorCode
    message: str
    hint: str = ""
    retry_after_s: float | None = None


class ScriptedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a recording."""

    title: str | None = None
    comment: str | None = None
    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    delay_s: float = 0.0
    pause_s: float = 0.0
    error: ScriptedError | None = None
    cut: bool = False
    hang: bool = False
    usage: Usage | None = None

    @property
    def is_heading(self) -> bool:
        """Whether the line only says something about the recording."""
        return self.title is not None or self.comment is not None


class Recording(Struct, frozen=True):
    """A file, read."""

    title: str
    """Empty when the file has none."""
    replies: tuple[ScriptedReply, ...]


def read_recording(path: Path) -> Recording:
    """Read a recording.

    Raises:
        ConfigError: the file cannot be read, or a line is wrong; the line is named.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", hint="replay:FILE names a recording, one JSON reply a line") from error
    parsed = [_parse_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    titles = [line.title for line in parsed if line.title is not None]
    replies = tuple(line for line in parsed if not line.is_heading)
    if not replies:
        raise ConfigError(f"{path}: the recording holds no reply")
    return Recording(titles[0] if titles else "", replies)


def _parse_line(path: Path, number: int, line: bytes) -> ScriptedReply:
    try:
        reply = msgspec.json.decode(line, type=ScriptedReply)
        for call in reply.calls:
            _check_call(call)
        if not (reply.is_heading or reply.error or reply.cut or reply.hang or reply.text.strip() or reply.calls):
            raise ValueError("a reply needs `text`, `calls`, `error`, `cut` or `hang`")  # noqa: TRY301  one place adds the line
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        hint = "The module agentclip.model.replay says what a line may hold"
        raise ConfigError(f"{path}, line {number}: {error}", hint=hint) from error
    return reply


def _check_call(call: ScriptedCall) -> None:
    if (call.command is None) == (call.name is None):
        raise ValueError("a call needs either `command` or `name`")


class ReplayModel:
    """Plays a recording: each request takes the next reply of the file."""

    def __init__(self, path: Path) -> None:
        self.context_window: int | None = None
        self.name = f"{PREFIX}{path.stem if path == DEMO else path}"
        self.recording = read_recording(path)
        self._next = 0

    async def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        """Stream the next reply of the recording."""
        if self._next >= len(self.recording.replies):
            yield TextPart(END_OF_RECORDING)
            yield Reply(AssistantMessage(END_OF_RECORDING))
            return
        scripted = self.recording.replies[self._next]
        self._next += 1
        calls = _tool_calls(scripted, conversation)
        await asyncio.sleep(scripted.pause_s)
        for part in _parts(scripted, calls):
            if not isinstance(part, CallPart):  # nobody reads a call word by word
                await asyncio.sleep(scripted.delay_s)
            yield part
        await _end_otherwise(scripted)
        message = AssistantMessage(clean(scripted.text), calls, clean(scripted.reasoning))
        yield Reply(message, scripted.usage)

    async def aclose(self) -> None:
        """Nothing to end."""


async def _end_otherwise(scripted: ScriptedReply) -> None:
    """Fail or wait where the script says so, else return."""
    if scripted.error is not None:
        error = scripted.error
        raise ModelError(error.message, hint=error.hint, code=error.code, retry_after_s=error.retry_after_s)
    if scripted.cut:
        raise ModelError("connection lost before the answer was complete", hint="Send it again", code=ErrorCode.NETWORK)
    if scripted.hang:
        await asyncio.Event().wait()


def _tool_calls(scripted: ScriptedReply, conversation: Conversation) -> tuple[ToolCall, ...]:
    taken = call_ids(conversation)
    free = (call_id for n in itertools.count(1) if (call_id := f"replay{n:03d}") not in taken)
    path = shlex.quote(_full_output(conversation))
    written = (_name_and_arguments(call, path) for call in scripted.calls)
    return tuple(ToolCall(call_id, name, arguments) for call_id, (name, arguments) in zip(free, written, strict=False))


def _full_output(conversation: Conversation) -> str:
    """The path that the newest truncated output names; empty when there is none."""
    answers = (message.text for message in reversed(conversation.messages) if isinstance(message, ToolMessage))
    return next((found[1] for text in answers if (found := FULL_OUTPUT.search(text))), "")


def _name_and_arguments(call: ScriptedCall, full_output: str) -> tuple[str, str]:
    if call.command is None:
        return clean(call.name or ""), clean(call.arguments or "")
    command = call.command.replace("{full_output}", full_output)
    arguments = {"command": command, "stdin": call.stdin, "timeout_s": call.timeout_s}
    given = {key: value for key, value in arguments.items() if value is not None}
    return "run", json.dumps(given, ensure_ascii=False)


def _parts(scripted: ScriptedReply, calls: tuple[ToolCall, ...]) -> Iterator[Part]:
    yield from map(ReasoningPart, _words(scripted.reasoning))
    yield from map(TextPart, _words(scripted.text))
    for call in calls:
        yield CallPart(call.id, call.name, "")
        yield from (CallPart(call.id, call.name, word) for word in _words(call.arguments))


def _words(text: str) -> list[str]:
    """The text in pieces of a word each, spaces with the word before them."""
    return re.findall(r"\S+\s*|\s+", clean(text))


_: type[Model] = ReplayModel
