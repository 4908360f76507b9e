"""Plans and results of command lines: values that travel in events. Values only, no I/O."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from agentclip.errors import ErrorCode
from agentclip.messages import Image


class Join(StrEnum):
    """When a pipeline runs, by the status of what ran before it."""

    ALWAYS = "always"
    SUCCESS = "success"
    FAILURE = "failure"


class StageKind(StrEnum):
    """Who runs a stage."""

    COMMAND = "command"
    """One of ours, in process."""
    PROGRAM = "program"
    """A program on PATH, started with its argv, no shell."""
    SHELL = "shell"
    """bash, with the stage's text."""
    STATE = "state"
    """`cd`, `export` or `unset` with literal words: changes the session's state."""
    UNKNOWN = "unknown"
    """No such command or program: 127 with navigation."""


class Redirect(Struct, frozen=True):
    """One redirect of a stage, `2>&1`, `>out.txt`."""

    fd: int | None
    """The descriptor before the operator; None when not written (the operator's default)."""
    operator: str
    """`<` `>` `>>` `>|` `<>` `<&` `>&` `&>` `&>>` `<<<`."""
    target: str
    """The word after the operator, quotes removed."""


class Stage(Struct, frozen=True):
    """One command of a pipeline, or a whole line that bash takes as it stands."""

    text: str
    """The stage's own source text, redirects included."""
    offset: int
    """0-based character offset of `text` in the chain's source."""
    words: tuple[str, ...] | None
    """The words with quotes removed, when all are literal; None when bash must expand them."""
    assignments: tuple[tuple[str, str], ...] = ()
    """Literal `NAME=value` prefixes; only set when `words` is."""
    redirects: tuple[Redirect, ...] = ()
    pipes_stderr: bool = False
    """Followed by `|&`: stderr goes into the pipe too."""
    kind: StageKind | None = None
    """None before routing."""
    argv: tuple[str, ...] | None = None
    """What is started for a program or handed to our command; None for the other kinds."""


class Pipeline(Struct, frozen=True):
    """Stages joined by `|`."""

    join: Join
    negated: bool
    stages: tuple[Stage, ...]


class Chain(Struct, frozen=True):
    """A parsed line."""

    source: str
    pipelines: tuple[Pipeline, ...]
    """Empty for a blank line or one of comments only."""
    whole: bool = False
    """True when the line was not split: one stage that bash runs as it stands."""


class Ended(StrEnum):
    """Why a run ended."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    OUTPUT_LIMIT = "output limit"
    INTERRUPTED = "interrupted"
    """agentclip itself died while the run was alive; written at resume."""


class StreamFile(Struct, frozen=True):
    """A spooled stream: raw bytes, nothing shortened."""

    path: str
    """Absolute."""
    size: int
    """Bytes that belong to the result; the file may grow afterwards by a background job."""


class CommandFailure(Struct, frozen=True):
    """Why one of our commands stopped, for programs: the same as the line on its stderr."""

    command: str
    """The word that was called."""
    code: ErrorCode
    message: str
    hint: str
    """The next step; never empty."""
    input: str = ""
    """The word that it is about, a file's name; empty when it is about none."""
    details: dict[str, str | int] = field(default_factory=dict)


class Artifact(Struct, frozen=True):
    """A file that one of our commands made."""

    path: str
    """Absolute, every link followed."""
    created: bool
    """False: it was there before, and was changed."""


class StageResult(Struct, frozen=True):
    """How one stage went."""

    index: int
    """0-based over the whole chain; the S of `cmd-N.S.err`."""
    text: str
    kind: StageKind
    status: int
    """Exit status; 128+N for a signal."""
    signal: str | None = None
    """`SIGKILL`; None when it exited by itself."""
    refused: bool = False
    """We rejected it or could not start it: fails its pipeline whatever comes after."""
    started_s: float = 0.0
    """Seconds since the run began."""
    duration_s: float = 0.0
    stderr: StreamFile | None = None
    """None when it wrote nothing there."""
    bytes_in: int | None = None
    """Read by the stage's processes, where the kernel tells; None elsewhere."""
    bytes_out: int | None = None
    failure: CommandFailure | None = None
    """Set when one of our commands in it stopped with an error and gave the stage its status."""


class BackgroundJob(Struct, frozen=True):
    """What still lived when the shell returned."""

    number: int
    pids: tuple[int, ...]
    command: str


class ChainResult(Struct, frozen=True):
    """Everything a finished run left. Nothing is shortened."""

    number: int
    """The N of `cmd-N.txt`, 1-based within the session."""
    chain: Chain
    status: int
    """sh's: the last pipeline that ran, its last stage."""
    stdout: StreamFile
    stages: tuple[StageResult, ...]
    """Every stage that ran, in order."""
    last_statuses: tuple[int, ...]
    """Statuses of the stages of the last pipeline that ran."""
    duration_s: float
    ended: Ended
    limit: int | None = None
    """The limit that ended it: seconds for TIMEOUT, bytes for OUTPUT_LIMIT; None otherwise."""
    jobs: tuple[BackgroundJob, ...] = ()
    cwd: str = ""
    """The session's working directory after the run."""
    cwd_changed: bool = False
    images: tuple[Image, ...] = ()
    """Attached by `see`."""
    artifacts: tuple[Artifact, ...] = ()
    """What our commands made, each file once, in the order of their first making."""
    notes: tuple[str, ...] = ()
    """One line each, for the model: what Layer 1 had to do otherwise than asked."""
    exports: tuple[tuple[str, str | None], ...] | None = None
    """When the run changed one: every variable that commands of the session have set, None for one they removed. Stored as
    it is, in a file that only the owner reads; variables whose text is no UTF-8 are left out."""


class Limits(Struct, frozen=True):
    """Budgets of one presentation."""

    lines: int = 200
    bytes: int = 50 * 1024
    line_chars: int = 2000
    stderr_lines: int = 100
    stderr_bytes: int = 8 * 1024
    stderr_lines_on_success: int = 20
    tail_lines: int = 20
    """Last lines kept of a truncated output when the chain failed."""
    encoding: str | None = None
    """Declared encoding of outputs that are not UTF-8; None to go by the locale."""


class LineFate(StrEnum):
    """What became of raw lines in the model's text."""

    SHOWN = "shown"
    CHANGED = "changed"
    """Shown, but shortened, converted or with escapes removed."""
    CUT = "cut"


class LineRange(Struct, frozen=True):
    """A run of raw stdout lines with the same fate."""

    first: int
    """0-based number of the first raw line."""
    last: int
    """0-based number of the last raw line, inclusive."""
    fate: LineFate
    text_line: int | None = None
    """0-based line of the presented text where the first one stands; None when cut."""


class Presented(Struct, frozen=True):
    """What the model reads of one result."""

    text: str
    """Byte for byte the text of the tool message."""
    ranges: tuple[LineRange, ...] = ()
    """In order, without gaps over the raw stdout lines; empty when there are none."""
    images: tuple[Image, ...] = ()
