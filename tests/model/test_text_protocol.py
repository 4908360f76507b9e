"""Models without tool calling: what they are sent, and how strictly their blocks are read."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.messages import AssistantMessage, Conversation, ToolCall, ToolMessage, ToolSpec, UserMessage
from agentclip.model.base import CallPart, Part, Reply, TextPart
from agentclip.model.catalog import ModelChoice, provider_settings
from agentclip.model.text_protocol import OPEN, SEVERAL, BlockReader, TextProtocol, as_text
from agentclip.model.worker import make_endpoint
from tests.fake_model.server import FakeModel, text

RUN = ToolSpec("run", "Runs a command line.", '{"type":"object","properties":{"command":{"type":"string"}}}')
ASKED = Conversation("Be brief.", (UserMessage("list"),), (RUN,))


def read(answer: str, size: int = 1000) -> tuple[str, Any]:
    """The text that is left and the arguments of the call, read in pieces."""
    reader = BlockReader()
    shown = "".join(reader.feed(answer[start : start + size]) for start in range(0, len(answer), size)) + reader.end()
    assert shown == "".join(reader.text)
    arguments = reader.arguments()
    return shown, None if arguments is None else json.loads(arguments)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("answer", "left", "arguments"),
    [
        ("All done.", "All done.", None),
        ("I look.\n```run\nls -la\n```\n", "I look.\n", {"command": "ls -la"}),
        ("```run\nls\n```", "", {"command": "ls"}),
        ("  ```run  \r\nls\r\n  ```  ", "", {"command": "ls"}),
        ("````run\necho '```'\n```\n````", "", {"command": "echo '```'\n```"}),
        ("~~~run\ncat <<E\na\n\n  b\nE\n~~~", "", {"command": "cat <<E\na\n\n  b\nE"}),
        ("```run\n```", "", {"command": ""}),
        ("```run\nls", "", {OPEN: True}),
        ("```run\nls\n````x\n", "", {OPEN: True}),
        ("```run\na\n```\nand\n```run\nb\n```", "and\n", {SEVERAL: 2}),
        ("```bash\nls\n```", "```bash\nls\n```", None),
        ("```running\nls\n```", "```running\nls\n```", None),
        ("````md\n```run\nrm -rf /\n```\n````\nis how", "````md\n```run\nrm -rf /\n```\n````\nis how", None),
        ("write `ls` or ```run ls```", "write `ls` or ```run ls```", None),
        ("    ```run\n    ls\n    ```", "    ```run\n    ls\n    ```", None),
        ("``", "``", None),
        ("", "", None),
    ],
)
def test_one_closed_block_is_the_command_and_the_rest_is_text(answer: str, size: int, left: str, arguments: object) -> None:
    assert read(answer, size) == (left, arguments)


@given(st.text(alphabet="`~run \n\rlsx", max_size=60), st.integers(1, 9))
def test_how_the_text_is_cut_into_pieces_changes_nothing(answer: str, size: int) -> None:
    assert read(answer, size) == read(answer)


def test_ordinary_text_is_shown_as_it_comes() -> None:
    reader = BlockReader()
    assert [reader.feed(piece) for piece in ("I loo", "k at `a", "`", "\n`", "`", "`ru", "n\nls\n")] == [
        "I loo", "k at `a", "`", "\n", "", "", "",
    ]  # fmt: skip


def test_a_history_becomes_blocks_and_alternating_messages() -> None:
    history = (
        UserMessage("go"),
        AssistantMessage("I look.", (ToolCall("a", "run", '{"command": "echo ```"}'), ToolCall("b", "run", "{broken"))),
        ToolMessage("a", "``` [exit:0]"),
        ToolMessage("b", "[error] run: not JSON"),
        UserMessage("and?"),
        AssistantMessage("", (ToolCall("c", "run", json.dumps({SEVERAL: 2})),)),
        ToolMessage("c", "[error] run: `command` is missing"),
    )
    sent = as_text(Conversation("S", history, (RUN,)))
    assert sent.tools == ()
    assert sent.system.startswith("S\n\n")
    assert "Runs a command line." in sent.system
    assert sent.messages[1] == AssistantMessage("I look.\n\n````run\necho ```\n````\n\n[a run block that was not run]")
    assert sent.messages[2] == UserMessage("``` [exit:0]\n\n[error] run: not JSON\n\nand?")
    assert isinstance(sent.messages[4], UserMessage)
    assert "several run blocks in one message, none was run" in sent.messages[4].text
    assert [type(message) for message in sent.messages] == [UserMessage, AssistantMessage] * 2 + [UserMessage]


async def test_the_endpoint_sees_no_tools_and_the_loop_sees_a_call() -> None:
    with FakeModel([text("I look.\n\n```run\nls | wc -l\n```\n"), text("Three.")]) as server:
        choice = ModelChoice("small", server.url, text_protocol=True)
        endpoint = make_endpoint(provider_settings(choice, {}))
        assert isinstance(endpoint, TextProtocol)
        async with aclosing(endpoint.reply(ASKED)) as stream:
            parts: list[Part] = [part async for part in stream]
        reply = parts[-1]
        assert isinstance(reply, Reply)
        assert "".join(part.text for part in parts if isinstance(part, TextPart)) == reply.message.text == "I look.\n\n"
        (call,) = reply.message.tool_calls
        assert (call.name, json.loads(call.arguments)) == ("run", {"command": "ls | wc -l"})
        assert [part.arguments for part in parts if isinstance(part, CallPart)] == [call.arguments]
        history = (*ASKED.messages, reply.message, ToolMessage(call.id, "3\n[exit:0 | 2ms]"))
        async with aclosing(endpoint.reply(Conversation("Be brief.", history, (RUN,)))) as stream:
            assert [part.message.text async for part in stream if isinstance(part, Reply)] == ["Three."]
        await endpoint.aclose()
        assert server.violations == []
        assert not any("tools" in request.body for request in server.requests)
        assert [message["role"] for message in server.last.messages] == ["system", "user", "assistant", "user"]
        assert server.last.messages[-1]["content"] == "3\n[exit:0 | 2ms]"
