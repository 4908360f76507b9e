"""What happened, in order. Screen, headless mode, resume and tests read the same events.

A session:
    SessionStarted (Turn | ShellRun)*
A turn:
    TurnStarted Step* TurnFinished
A step:
    Shortened* (TextDelta | ReasoningDelta)* AssistantReplied Answer* (Advised | UserMessageFolded)*
Shortened, before a reply, between turns too:
    ResultsMasked | SnapshotTaken
An answer, one per tool call and in the order of the calls:
    Run (with the call's id) | CallAnswered (nothing ran)
A run:
    CommandStarted (StageStarted | StageProgress | StageFinished | OutputGrew)* CommandFinished
`Notice` and `RetryWaiting` may come anywhere. `RetryWaiting` makes void what was streamed since the last AssistantReplied:
the reply begins anew. A step that was cancelled or failed may have no AssistantReplied. After a turn that could not go on,
TurnFinished says why.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from agentclip.messages import AssistantMessage, ToolMessage, Usage, UserMessage
from agentclip.results import Chain, ChainResult, Presented


class TurnEnd(StrEnum):
    """Why a turn ended."""

    ANSWERED = "answered"
    CANCELLED = "cancelled"
    FAILED = "failed"
    """The provider failed; the reason is in the message."""
    LIMIT = "limit"
    INTERRUPTED = "interrupted"
    """agentclip died in the turn; written at resume."""


class Severity(StrEnum):
    """How much a notice matters to the person."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class SessionStarted(Struct, frozen=True):
    """First event of a log."""

    session_id: str
    cwd: str
    model: str
    version: str


class TurnStarted(Struct, frozen=True):
    """A prompt begins a turn; the message joins the conversation."""

    message: UserMessage


class UserMessageFolded(Struct, frozen=True):
    """A message typed while running joins the conversation before the next step."""

    message: UserMessage


class Advised(Struct, frozen=True):
    """A message of ours to the model joins the conversation: its reply was cut, empty, a call written as text, or a loop."""

    message: UserMessage
    reason: str
    """One line for the person."""


class ResultsMasked(Struct, frozen=True):
    """Old results of commands are sent shortened from now on; the log keeps them whole."""

    up_to_seq: int
    """Results of events up to this one."""
    tokens_before: int
    """Estimated size of the whole prompt."""
    tokens_after: int


class SnapshotSource(StrEnum):
    """Who wrote a snapshot's words."""

    MODEL = "model"
    CODE = "code"
    """The model gave none that could be used: the words of the one before, and what code recorded."""


class SnapshotTaken(Struct, frozen=True):
    """From now on the model reads this instead of what came before; the log keeps all of it."""

    number: int
    """1-based within the session; the file is `snapshot-0001.xml`."""
    text: str
    """The whole `<state_snapshot>` document."""
    first_kept_seq: int
    """Messages of this event and of later ones stay as they are."""
    kept_seqs: tuple[int, ...]
    """Events before that whose messages stay too: the prompt that is being worked on."""
    tokens_before: int
    """Estimated size of the whole prompt."""
    tokens_after: int
    source: SnapshotSource = SnapshotSource.MODEL
    usage: Usage | None = None
    """What the requests for it used; None when there was none or nobody told."""


class TextDelta(Struct, frozen=True):
    """More text of the reply being streamed. Not stored."""

    text: str


class ReasoningDelta(Struct, frozen=True):
    """More reasoning of the reply being streamed. Not stored."""

    text: str


class AssistantReplied(Struct, frozen=True):
    """A reply is complete (or all that came before a cancel); it joins the conversation."""

    message: AssistantMessage
    usage: Usage | None = None
    partial: bool = False
    """True when the stream was cut or cancelled: only what came is kept."""


class CallAnswered(Struct, frozen=True):
    """A call got an answer without running anything: broken, cancelled before its start, interrupted."""

    message: ToolMessage
    reason: str
    """One line for the person."""


class CommandStarted(Struct, frozen=True):
    """A run begins. Stored before the first process starts."""

    number: int
    """The N of `cmd-N.txt`, 1-based within the session."""
    tool_call_id: str | None
    """None for a `!` line of the person."""
    command: str
    chain: Chain
    """The plan, routed."""
    stdout_path: str
    """Absolute path of the spool being filled."""


class StageStarted(Struct, frozen=True):
    """A stage has a process or a thread. Not stored."""

    number: int
    stage: int
    """0-based over the whole chain."""
    pid: int | None
    """None for a command in process."""


class StageProgress(Struct, frozen=True):
    """What a running stage has moved so far, a few times per second, where the kernel tells. Not stored."""

    number: int
    stage: int
    bytes_in: int
    """Read by its process and the children it has waited for."""
    bytes_out: int


class StageFinished(Struct, frozen=True):
    """A stage ended. Not stored (the result has it)."""

    number: int
    stage: int
    status: int
    duration_s: float


class OutputGrew(Struct, frozen=True):
    """A spool grew; at most a few times per second and stream. Not stored."""

    number: int
    stage: int | None
    """None for stdout, else the stage whose stderr it is."""
    path: str
    size: int


class CommandFinished(Struct, frozen=True):
    """A run ended, and this is what the model reads of it."""

    number: int
    tool_call_id: str | None
    result: ChainResult
    shown: Presented


class RetryWaiting(Struct, frozen=True):
    """The provider asked to wait. Not stored."""

    seconds: float
    attempt: int
    reason: str


class Notice(Struct, frozen=True):
    """One line for the person."""

    text: str
    severity: Severity = Severity.INFO


class TurnFinished(Struct, frozen=True):
    """The prompt is free again."""

    reason: TurnEnd
    text: str = ""
    """One clear line when the turn did not end with an answer."""
    code: str = ""
    """The ErrorCode of a failed turn; empty otherwise."""
    aside: Usage | None = None
    """What requests have used since the last turn whose replies are no part of the conversation; None for no such request."""


Event = (
    SessionStarted
    | TurnStarted
    | UserMessageFolded
    | Advised
    | ResultsMasked
    | SnapshotTaken
    | TextDelta
    | ReasoningDelta
    | AssistantReplied
    | CallAnswered
    | CommandStarted
    | StageStarted
    | StageProgress
    | StageFinished
    | OutputGrew
    | CommandFinished
    | RetryWaiting
    | Notice
    | TurnFinished
)

NOT_STORED: tuple[type, ...] = (TextDelta, ReasoningDelta, StageStarted, StageProgress, StageFinished, OutputGrew, RetryWaiting)


class Recorded(Struct, frozen=True):
    """A stored event with its place in the log."""

    seq: int
    """1-based, without gaps."""
    time: float
    """Seconds since the epoch."""
    event: Event
