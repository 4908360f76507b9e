"""The whole exception tree and the error codes.

    AgentclipError
    ├── ConfigError       a configuration file, variable or flag is wrong
    ├── SessionError      a saved session cannot be opened
    ├── ModelError        the provider did not answer as it should
    └── CommandError      one of our commands rejects or fails; becomes `[error] CMD: WHAT (CODE). Use: NEXT`

A failed *command* is a value the model reads; a broken *program* is an exception.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from msgspec import Struct, field

_BREAKS_A_LINE = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories: controls, lone surrogates, line and paragraph separators."""


def one_line(text: str) -> str:
    """Write as escapes what would break the line, draw on a screen or not encode as UTF-8."""
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in _BREAKS_A_LINE else c for c in text)


class ErrorCode(StrEnum):
    """What went wrong, for branching. docs/errors.md and `agentclip errors` are made from this table."""

    exit_status: int
    category: str
    """The class of the exit status, by which the caller decides what to do."""
    meaning: str
    hint: str
    """The usual next step, a command or a plain instruction; an error that knows better has its own."""

    def __new__(cls, code: str, exit_status: int, category: str, meaning: str, hint: str) -> Self:
        """Make a member from its row of the table below."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.exit_status = exit_status
        member.category = category
        member.meaning = meaning
        member.hint = hint
        return member

    NOT_FOUND = ("NOT_FOUND", 1, "finding", "nothing fits what was asked for", "help")
    NOT_AN_IMAGE = ("NOT_AN_IMAGE", 1, "finding", "the file is no picture that can be shown", "see --help")
    EXPECTATION_FAILED = (
        "EXPECTATION_FAILED",
        1,
        "finding",
        "the task ended, but what was expected of it is not there",
        "read what is not met, then go on with the session",
    )
    FAILED = ("FAILED", 1, "finding", "the system refused a step; the message says why", "read the message, try another way")

    USAGE = ("USAGE", 2, "invalid", "the words do not fit the command", "help")
    UNKNOWN_FLAG = ("UNKNOWN_FLAG", 2, "invalid", "the command has no such flag", "help")
    MISSING_ARGUMENT = ("MISSING_ARGUMENT", 2, "invalid", "something that is needed was not given", "help")
    INVALID_TYPE = ("INVALID_TYPE", 2, "invalid", "a value has the wrong form", "help")
    INVALID_VALUE = ("INVALID_VALUE", 2, "invalid", "a value is not allowed here", "help")
    INPUT_NOT_FOUND = ("INPUT_NOT_FOUND", 2, "invalid", "the named file, job or run is not there", "ls")
    TOO_LARGE = ("TOO_LARGE", 2, "invalid", "more data than the command takes", "head --help")
    NO_MATCH = ("NO_MATCH", 2, "invalid", "the text to be replaced is not in the file", "edit --help")
    SEVERAL_MATCHES = ("SEVERAL_MATCHES", 2, "invalid", "the text to be replaced is in the file more than once", "edit --help")
    SYNTAX = ("SYNTAX", 2, "invalid", "the line cannot be run as it stands", "correct the line")
    SESSION_NOT_FOUND = ("SESSION_NOT_FOUND", 2, "invalid", "no saved session, or not exactly one", "agentclip sessions list")
    CONTEXT_TOO_LONG = ("CONTEXT_TOO_LONG", 2, "invalid", "the conversation no longer fits the model", "start a new session")
    BAD_REQUEST = ("BAD_REQUEST", 2, "invalid", "the provider refuses the request", "agentclip config show")

    BUDGET = ("BUDGET", 3, "limit", "a limit of steps, cost or time is used up; the work is kept", "agentclip --continue")
    LOOP_DETECTED = (
        "LOOP_DETECTED",
        3,
        "limit",
        "the model repeated itself after it was told; the work is kept",
        "say go on, ask in other words, or set loop.detection = false",
    )

    UNAVAILABLE = ("UNAVAILABLE", 69, "unavailable", "a service or a disk cannot be reached", "agentclip config show")
    SESSION_BUSY = ("SESSION_BUSY", 69, "unavailable", "another agentclip has the session open", "agentclip sessions list")
    INTERNAL = ("INTERNAL", 70, "internal", "a bug of agentclip or of a plug-in", "try another way, and report it")
    RATE_LIMIT = ("RATE_LIMIT", 75, "retry", "the provider asks to wait", "try again later")
    SERVER_ERROR = ("SERVER_ERROR", 75, "retry", "the provider failed", "try again later")
    NETWORK = ("NETWORK", 75, "retry", "the connection failed or was cut", "check the address and the network, then try again")
    DENIED = ("DENIED", 77, "denied", "no permission", "ask a person, or try another way")
    CONFIG = ("CONFIG", 78, "config", "a configuration file, variable or flag is wrong", "agentclip config show")
    MISSING_KEY = ("MISSING_KEY", 78, "config", "no model is configured, or its key is missing", "agentclip demo")
    BAD_KEY = ("BAD_KEY", 78, "config", "the provider refuses the key", "agentclip config show")
    UNKNOWN_MODEL = ("UNKNOWN_MODEL", 78, "config", "nobody serves the model of that name", "agentclip config show")

    TIMEOUT = ("TIMEOUT", 124, "timeout", "the time limit was reached", "narrow the command, or raise timeout_s")
    NOT_EXECUTABLE = ("NOT_EXECUTABLE", 126, "environment", "the file is there but cannot be run", "ls -l")
    UNKNOWN_COMMAND = ("UNKNOWN_COMMAND", 127, "environment", "neither a command nor a program", "help")
    OUTPUT_LIMIT = (
        "OUTPUT_LIMIT",
        153,
        "signal",
        "the output reached its limit; what came is kept",
        "narrow the command, or send its output to a file",
    )
    CANCELLED = ("CANCELLED", 130, "signal", "it was cancelled", "run it again when it is wanted")


class AgentclipError(Exception):
    """Base of all: `message` says what happened, `hint` what to do next."""

    def __init__(self, message: str, *, hint: str = "", code: ErrorCode = ErrorCode.INTERNAL) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        end = "" if self.message.endswith((".", "!", "?", "\N{HORIZONTAL ELLIPSIS}")) else "."
        return f"{self.message}{end} Next: {self.hint}"

    @property
    def next_step(self) -> str:
        """The hint, or the usual one of the code."""
        return self.hint or self.code.hint

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.code.category == "retry"


class ConfigError(AgentclipError):
    """A file, variable or flag of the configuration is wrong; exit 78."""

    def __init__(self, message: str, *, hint: str = "", code: ErrorCode = ErrorCode.CONFIG) -> None:
        super().__init__(message, hint=hint, code=code)


class SessionError(AgentclipError):
    """A session cannot be found, read or locked."""

    def __init__(self, message: str, *, hint: str = "", code: ErrorCode = ErrorCode.SESSION_NOT_FOUND) -> None:
        super().__init__(message, hint=hint, code=code)


class ModelError(AgentclipError):
    """The provider failed. The history stays as it was; the prompt stays usable."""

    def __init__(
        self, message: str, *, hint: str = "", code: ErrorCode = ErrorCode.SERVER_ERROR, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.retry_after_s = retry_after_s
        """Seconds the provider asked us to wait (Retry-After); None when it did not say."""


class CommandError(AgentclipError):
    """One of our commands stops: its text goes to the command's stderr, its code gives the exit status."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: ErrorCode = ErrorCode.FAILED,
        text: str | None = None,
        about: ErrorContext | None = None,
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.text = text
        """A sentence of the seed that stands as it is instead of the usual form; None for the usual form."""
        self.about = about or ErrorContext()

    def line(self, command: str) -> str:
        """The one line of the error, `[error] CMD: WHAT (CODE). Use: NEXT`."""
        if self.text is not None:
            return one_line(f"[error] {self.text}")
        line = f"[error] {command}: {self.message} ({self.code.value})"
        return one_line(f"{line}. Use: {self.hint}" if self.hint else line)


class ErrorContext(Struct, frozen=True):
    """What an error of a command is about, beyond its one line."""

    input: str = ""
    """The word that was given, a file's name; empty when it is about none."""
    details: Mapping[str, str | int] = field(default_factory=dict)
    """Facts for programs."""
    excerpt: tuple[str, ...] = ()
    """Lines for the reader that stand below the error's own. Few and short: whoever raises bounds them."""


def category_of(status: int) -> str:
    """The class of an exit status: what its caller decides by. Programs keep their own codes: unknown ones are `finding`."""
    if status > 128:
        return "signal"
    return {0: "ok", **{code.exit_status: code.category for code in ErrorCode}, 126: "environment"}.get(status, "finding")
