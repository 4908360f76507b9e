"""The one tool: a call as the model wrote it comes in; what to run, or the answer that says what is wrong, goes out. Pure.

Nothing is guessed into a command: a call is either read exactly or answered. A call written as plain text is recognised,
never run.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from msgspec import Struct

from agentclip.errors import one_line
from agentclip.messages import ToolCall
from agentclip.model.wire import clean

TOOL_NAME = "run"
_RIGHT_FORM = 'run(command="...")'
_MAX_QUOTED_CHARS = 200
_MAX_NAME_CHARS = 40


class WantedRun(Struct, frozen=True):
    """A call, read."""

    command: str
    stdin: str | None = None
    timeout_s: int | None = None
    """None when the call names none."""


class Refusal(Struct, frozen=True):
    """Why a call is not run."""

    text: str
    """The tool message: what is wrong and what to do, and a footer."""
    reason: str
    """One line for the person."""


class _BrokenCallError(Exception):
    """`what` is wrong with the call; `use` is the form that works."""

    def __init__(self, what: str, use: str = _RIGHT_FORM) -> None:
        super().__init__(what)
        self.use = use


def read_call(call: ToolCall, max_timeout_s: int) -> WantedRun | Refusal:
    """Read a call, whatever it holds."""
    try:
        if call.name.strip() != TOOL_NAME:
            return _unknown_tool(call)
        arguments = _object(call.arguments)
        return WantedRun(_command(arguments), _stdin(arguments), _timeout_s(arguments, max_timeout_s))
    except _BrokenCallError as error:
        return _refusal(f"run: {error}", error.use, f"a call was not run: {error}")


def fault_of_line(line: str) -> str | None:
    """Why no shell could be given this line; None when it can."""
    if not line.strip():
        return "the command is empty"
    if "\0" in line:
        return "the command holds a NUL character (in a command, printf '\\0' makes one)"
    return "the command holds half of a surrogate pair, which is no text" if _has_surrogate(line) else None


def _refusal(what: str, use: str, reason: str) -> Refusal:
    return Refusal(f"{one_line(f'[error] {what}. Use: {use}')}\n[exit:2 | 0ms]", one_line(reason))


def _unknown_tool(call: ToolCall) -> Refusal:
    name = clean(call.name)[:_MAX_NAME_CHARS] + ("..." if len(call.name) > _MAX_NAME_CHARS else "")
    what = f"unknown tool {name or '(no name)'}, the only tool is run(command=...)"
    try:
        use = f"run(command={json.dumps(_quotable(_command(_object(call.arguments))), ensure_ascii=False)})"
    except _BrokenCallError:
        use = _RIGHT_FORM
    return _refusal(what, use, what)


def _quotable(command: str) -> str:
    """A command short enough to be shown back whole."""
    if len(command) > _MAX_QUOTED_CHARS:
        raise _BrokenCallError("too long to be quoted")
    return command


def _object(text: str) -> dict[str, object]:
    """The arguments as a JSON object, decoded once more when the model encoded them twice."""
    if not text.strip():
        raise _BrokenCallError("the arguments are empty")
    value = _json(text)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _json(value)
    if not isinstance(value, dict):
        raise _BrokenCallError(f"the arguments are {_kind(value)}, not a JSON object")
    return value


def _json(text: str) -> object:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        value: object = json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise _BrokenCallError("the arguments are nested too deeply") from None
    except ValueError as error:
        raise _BrokenCallError(f"the arguments are not valid JSON ({str(error)[:_MAX_QUOTED_CHARS]})") from error
    return value


def _command(arguments: dict[str, object]) -> str:
    if "command" not in arguments:
        given = ", ".join(sorted(arguments))[:_MAX_QUOTED_CHARS]
        raise _BrokenCallError("the argument `command` is missing" + (f" (given: {given})" if given else ""))
    command = arguments["command"]
    if not isinstance(command, str):
        raise _BrokenCallError(f"`command` is {_kind(command)}, not a string")
    if (fault := fault_of_line(command)) is not None:
        raise _BrokenCallError(fault)
    return command


def _stdin(arguments: dict[str, object]) -> str | None:
    stdin = arguments.get("stdin")
    if stdin is not None and not isinstance(stdin, str):
        raise _BrokenCallError(f"`stdin` is {_kind(stdin)}, not a string", 'run(command="...", stdin="...")')
    if stdin is not None and _has_surrogate(stdin):
        raise _BrokenCallError("`stdin` holds half of a surrogate pair, which is no text", 'run(command="...", stdin="...")')
    return stdin


def _timeout_s(arguments: dict[str, object], maximum: int) -> int | None:
    given = arguments.get("timeout_s")
    if given is None:
        return None
    match given:
        case str() if re.fullmatch(r"\s*[0-9]{1,9}\s*", given):
            seconds = int(given)
        case float() if given.is_integer():
            seconds = int(given)
        case int() if not isinstance(given, bool):
            seconds = given
        case _:
            raise _BrokenCallError(f"`timeout_s` is {_kind(given)}, not whole seconds", 'run(command="...", timeout_s=60)')
    if not 1 <= seconds <= maximum:
        use = f'run(command="...", timeout_s={maximum if seconds > maximum else 60})'
        raise _BrokenCallError(f"`timeout_s` must be 1 to {maximum} seconds", use)
    return seconds


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


_FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
_CALL_AS_TEXT = re.compile(
    r"""^\s*(?:
        <tool_call>\s*(?:\{|<|run\b)
      | <(?:antml:)?function_calls?>\s*(?:<|\{)
      | <(?:antml:)?invoke\s+name=
      | <function=\w
      | <run>\s*<command>
      | <\|(?:tool_call|tool_calls_section|tool_call_begin|python_tag|channel\|>commentary\s+to=)
      | <\uff5ctool
      | \[TOOL_CALLS?\]
      | \{\s*"(?:name|tool|tool_name|function)"\s*:\s*"[\w.]+"\s*,\s*"(?:arguments|parameters|args|input)"\s*:
      | run\(\s*command\s*=\s*["'].*\)\s*\Z
    )""",
    re.MULTILINE | re.VERBOSE,
)
_BARE_ARGUMENTS = re.compile(r"""\s*\{\s*"command"\s*:\s*".*\}\s*\Z""", re.DOTALL)
_MAX_LOOKED_AT_CHARS = 100_000


def has_call_as_text(text: str) -> bool:
    """Whether the text holds a tool call in some markup. Fenced blocks and code spans are explanations."""
    if len(text) > _MAX_LOOKED_AT_CHARS:
        return False
    plain = _INLINE_CODE.sub("", _FENCE.sub("", text))
    return bool(_CALL_AS_TEXT.search(plain) or _BARE_ARGUMENTS.match(plain))
