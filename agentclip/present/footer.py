"""The last line of every result, `[exit:0 | 12ms]`, and how durations and sizes are written.

In: a finished run. Out: text. Knows nothing of what was printed.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence

from agentclip.errors import one_line
from agentclip.results import ChainResult, Ended, StageKind, StageResult

SIGPIPE_STATUS = 128 + signal.SIGPIPE

# Statuses by which bash reports that a child died of a signal. A program may also exit with such a number on its own,
# so the list holds only the signals that no program imitates.
_FATAL = tuple(
    getattr(signal, name)
    for name in (
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGSEGV",
        "SIGSYS",
        "SIGTERM",
        "SIGXCPU",
        "SIGXFSZ",
    )
)
_MAX_LISTED = 32
_MAX_CWD_CHARS = 1024


def duration_text(seconds: float) -> str:
    """`12ms` below 1 s, `3.2s` below 10 s, `45s` below 2 min, then `2m05s`."""
    seconds = max(0.0, seconds)
    milliseconds = round(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    if round(seconds, 1) < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    return f"{whole}s" if whole < 120 else f"{whole // 60}m{whole % 60:02}s"


def size_text(size: int) -> str:
    """`512B`, `245.3KB`, `1.2MB`; 1024 to the step and one decimal."""
    if size < 1024:
        return f"{size}B"
    value = size / 1024
    for unit in ("KB", "MB", "GB"):
        if round(value, 1) < 1024:
            return f"{value:.1f}{unit}"
        value /= 1024
    return f"{value:.1f}TB"


def short_size_text(size: int) -> str:
    """`size_text` without a decimal that says nothing: `182KB`, `256MB`."""
    return size_text(size).replace(".0", "")


def status_line(status: int, duration_s: float, extras: Sequence[str] = ()) -> str:
    """The footer; also for calls that never ran: `[exit:2 | 0ms]`, `[exit:130 | 0ms | cancelled]`."""
    return f"[{' | '.join([f'exit:{status}', duration_text(duration_s), *extras])}]"


def footer(result: ChainResult) -> str:
    """The footer of a finished run, with the extras that are true of it."""
    return status_line(result.status, result.duration_s, _extras(result))


def stage_failed(status: int) -> bool:
    """Whether a stage's status is a failure; a writer whose reader had enough (SIGPIPE) did not fail."""
    return status not in {0, SIGPIPE_STATUS}


def chain_failed(result: ChainResult) -> bool:
    """Whether the run as a whole did not end well."""
    return result.status != 0 or result.ended is not Ended.EXITED


def any_failed(result: ChainResult) -> bool:
    """Whether the run, or any stage on its way, failed."""
    return chain_failed(result) or any(stage.refused or stage_failed(stage.status) for stage in result.stages)


def _extras(result: ChainResult) -> list[str]:
    extras = []
    statuses = result.last_statuses
    if len(set(statuses)) > 1 and any(stage_failed(status) for status in statuses[:-1]):
        extras.append(f"pipe {_listed(statuses)}")
    extras += _ending(result)
    if result.jobs:
        numbers = tuple(job.number for job in result.jobs)
        extras.append(f"{'job' if len(numbers) == 1 else 'jobs'} {_listed(numbers)} running")
    if result.cwd_changed and result.cwd:
        extras.append(f"cwd: {_shown_cwd(result.cwd)}")
    return extras


def _ending(result: ChainResult) -> list[str]:
    """Why the run ended, when it did not exit by itself."""
    match result.ended:
        case Ended.EXITED:
            killer = _killer(result)
            return [f"killed by {killer}"] if killer else []
        case Ended.TIMEOUT:
            return ["timed out" if result.limit is None else f"timed out after {result.limit}s"]
        case Ended.CANCELLED:
            return ["cancelled"]
        case Ended.OUTPUT_LIMIT:
            size = "" if result.limit is None else f"{short_size_text(result.limit)} "
            return [f"output limit {size}reached"]
        case Ended.INTERRUPTED:
            return ["interrupted"]


def _killer(result: ChainResult) -> str | None:
    """Name of the signal that ended the stage whose status is the run's; None when none did."""
    last: StageResult | None = max(result.stages, key=lambda stage: stage.index, default=None)
    if last is None:
        return None
    if last.signal:
        return None if last.signal == "SIGPIPE" else one_line(last.signal)
    if last.kind is StageKind.SHELL and last.status - 128 in _FATAL:
        return signal.Signals(last.status - 128).name
    return None


def _listed(numbers: tuple[int, ...]) -> str:
    more = ",..." if len(numbers) > _MAX_LISTED else ""
    return ",".join(map(str, numbers[:_MAX_LISTED])) + more


def _shown_cwd(cwd: str) -> str:
    """The folder's name on one line; its end is kept when it is absurdly long."""
    shown = one_line(cwd)
    return shown if len(shown) <= _MAX_CWD_CHARS else f"...{shown[-_MAX_CWD_CHARS:]}"
