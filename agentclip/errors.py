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
from enum import StrEnum
from typing import Self

_BREAKS_A_LINE = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories: controls, lone surrogates, line and paragraph separators."""


def one_line(text: str) -> str:
    """Write as escapes what would break the line, draw on a screen or not encode as UTF-8."""
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in _BREAKS_A_LINE else c for c in text)


class ErrorCode(StrEnum):
    """What went wrong, for branching: exit status, class and a usual next step."""

    exit_status: int
    category: str
    hint: str

    def __new__(cls, code: str, exit_status: int, category: str, hint: str) -> Self:
        """Make a member from its row of the table below."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.exit_status = exit_status
        member.category = category
        member.hint = hint
        return member

    NOT_FOUND = ("NOT_FOUND", 1, "finding", "ls")
    NOT_AN_IMAGE = ("NOT_AN_IMAGE", 1, "finding", "help see")
    FAILED = ("FAILED", 1, "finding", "help")
    USAGE = ("USAGE", 2, "invalid", "help")
    UNKNOWN_FLAG = ("UNKNOWN_FLAG", 2, "invalid", "help")
    MISSING_ARGUMENT = ("MISSING_ARGUMENT", 2, "invalid", "help")
    INVALID_TYPE = ("INVALID_TYPE", 2, "invalid", "help")
    INVALID_VALUE = ("INVALID_VALUE", 2, "invalid", "help")
    INPUT_NOT_FOUND = ("INPUT_NOT_FOUND", 2, "invalid", "ls")
    SYNTAX = ("SYNTAX", 2, "invalid", "help")
    SESSION_NOT_FOUND = ("SESSION_NOT_FOUND", 2, "invalid", "agentclip sessions list")
    BUDGET = ("BUDGET", 3, "limit", "agentclip --continue")
    UNAVAILABLE = ("UNAVAILABLE", 69, "unavailable", "agentclip --api-base URL")
    SESSION_BUSY = ("SESSION_BUSY", 69, "unavailable", "agentclip sessions list")
    INTERNAL = ("INTERNAL", 70, "internal", "report it")
    RATE_LIMIT = ("RATE_LIMIT", 75, "retry", "try again later")
    SERVER_ERROR = ("SERVER_ERROR", 75, "retry", "try again later")
    NETWORK = ("NETWORK", 75, "retry", "check the address and the network")
    CONTEXT_TOO_LONG = ("CONTEXT_TOO_LONG", 2, "invalid", "agentclip")
    BAD_REQUEST = ("BAD_REQUEST", 2, "invalid", "agentclip config show")
    DENIED = ("DENIED", 77, "denied", "ask a person")
    CONFIG = ("CONFIG", 78, "config", "agentclip config show")
    MISSING_KEY = ("MISSING_KEY", 78, "config", "agentclip demo")
    BAD_KEY = ("BAD_KEY", 78, "config", "agentclip config show")
    UNKNOWN_MODEL = ("UNKNOWN_MODEL", 78, "config", "agentclip config show")
    TIMEOUT = ("TIMEOUT", 124, "timeout", "run --timeout_s")
    NOT_EXECUTABLE = ("NOT_EXECUTABLE", 126, "environment", "chmod +x")
    UNKNOWN_COMMAND = ("UNKNOWN_COMMAND", 127, "environment", "help")
    CANCELLED = ("CANCELLED", 130, "signal", "run it again")


class AgentclipError(Exception):
    """Base of all: `message` says what happened, `hint` what to do next."""

    def __init__(self, message: str, *, hint: str = "", code: ErrorCode = ErrorCode.INTERNAL) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message


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

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.code.category == "retry"


class CommandError(AgentclipError):
    """One of our commands stops: its text goes to the command's stderr, its code gives the exit status."""

    def __init__(self, message: str, *, hint: str = "", code: ErrorCode = ErrorCode.FAILED, text: str | None = None) -> None:
        super().__init__(message, hint=hint, code=code)
        self.text = text
        """A sentence of the seed that stands as it is instead of the usual form; None for the usual form."""

    def line(self, command: str) -> str:
        """The one line of the error, `[error] CMD: WHAT (CODE). Use: NEXT`."""
        if self.text is not None:
            return one_line(f"[error] {self.text}")
        line = f"[error] {command}: {self.message} ({self.code.value})"
        return one_line(f"{line}. Use: {self.hint}" if self.hint else line)


def category_of(status: int) -> str:
    """The class of an exit status: what its caller decides by. Programs keep their own codes: unknown ones are `finding`."""
    if status > 128:
        return "signal"
    return {0: "ok", **{code.exit_status: code.category for code in ErrorCode}, 126: "environment"}.get(status, "finding")
