"""The one JSON document of `--json`: a result or an error comes in, a value for `json.dumps` goes out.

Every document of a line has the same keys; `error` is there when one of our commands or a limit of ours made it fail.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
from collections.abc import Iterator, Sequence

import filetype
from msgspec import to_builtins

from agentclip.commands.kinds import HEAD_BYTES, image_type, is_clean_text
from agentclip.errors import AgentclipError, CommandError, ErrorCode, category_of
from agentclip.results import Artifact, ChainResult, CommandFailure, Ended, Presented, StageResult, StreamFile

_STOPPED = {
    Ended.TIMEOUT: ErrorCode.TIMEOUT,
    Ended.CANCELLED: ErrorCode.CANCELLED,
    Ended.INTERRUPTED: ErrorCode.CANCELLED,
    Ended.OUTPUT_LIMIT: ErrorCode.OUTPUT_LIMIT,
}

_NOT_STARTED = {126: ErrorCode.NOT_EXECUTABLE, 127: ErrorCode.UNKNOWN_COMMAND}
"""What bash says when it could not start a program."""


def refusal(error: AgentclipError) -> dict[str, object]:
    """Nothing ran."""
    about = error.about if isinstance(error, CommandError) else None
    failure = CommandFailure(
        "agentclip",
        error.code,
        error.message,
        error.next_step,
        about.input if about else "",
        dict(about.details) if about else {},
    )
    return {
        "ok": False,
        "exit_code": error.code.exit_status,
        "class": error.code.category,
        "ran": False,
        "error": _error(failure),
        "stdout": "",
        "stderr": "",
        "presented": "",
        "duration_ms": 0,
        "stages": [],
        "artifacts": [],
        "facts": {},
        "warnings": [],
        "truncated": False,
        "spool": None,
    }


def document(result: ChainResult, shown: Presented, max_bytes: int, warnings: Sequence[str] = ()) -> dict[str, object]:
    """A run. `warnings` are the program's own; `max_bytes` bounds each of the texts."""
    failure = _failure(result)
    error_files = [stage.stderr for stage in result.stages if stage.stderr is not None]
    return {
        "ok": result.status == 0,
        "exit_code": result.status,
        "class": category_of(result.status) if failure is None else failure.code.category,
        "ran": True,
        **({} if failure is None else {"error": _error(failure)}),
        "stdout": _text([result.stdout], max_bytes),
        "stderr": _text(error_files, max_bytes),
        "presented": shown.text,
        "duration_ms": round(result.duration_s * 1000),
        "ended": result.ended.value,
        "stages": [_stage(stage) for stage in result.stages],
        "artifacts": list(_artifacts(result.artifacts)),
        "facts": {},
        "warnings": [
            *({"code": "PLUGIN", "message": text} for text in warnings),
            *({"code": "NOTE", "message": text} for text in result.notes),
        ],
        "truncated": result.stdout.size > max_bytes or sum(file.size for file in error_files) > max_bytes,
        "spool": result.stdout.path if result.stdout.size else None,
        "images": [to_builtins(image) for image in result.images],
        "jobs": [to_builtins(job) for job in result.jobs],
    }


def _failure(result: ChainResult) -> CommandFailure | None:
    """Why the run failed, when that was said by us: our limit, or a command of ours whose status the run has."""
    code = _STOPPED.get(result.ended)
    if code is not None:
        limit = "" if result.limit is None else f" ({result.limit})"
        return CommandFailure("run", code, f"{code.meaning}{limit}", code.hint)
    failures = (stage.failure for stage in reversed(result.stages) if stage.failure is not None)
    ours = next((each for each in failures if each.code.exit_status == result.status), None)
    if ours is None and result.status in _NOT_STARTED:
        code = _NOT_STARTED[result.status]
        return CommandFailure("bash", code, code.meaning, code.hint)
    return ours


def _error(failure: CommandFailure) -> dict[str, object]:
    return {
        "code": failure.code.value,
        "message": failure.message,
        "hint": failure.hint,
        "input": failure.input or None,
        "retryable": failure.code.category == "retry",
        "details": failure.details,
    }


def _stage(stage: StageResult) -> dict[str, object]:
    row = to_builtins(stage)
    failure = stage.failure
    return {**row, "kind": str(row["kind"]), "failure": None if failure is None else _error(failure)}


def _artifacts(artifacts: Sequence[Artifact]) -> Iterator[dict[str, object]]:
    """What is still there of them, as it is now."""
    for artifact in artifacts:
        try:
            with open(artifact.path, "rb") as file:
                mime = _mime(artifact.path, file.read(HEAD_BYTES))
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = os.fstat(file.fileno()).st_size
        except OSError:
            continue  # removed by a later command of the line
        yield {
            "path": artifact.path,
            "kind": "image" if mime.startswith("image/") else "text" if _is_text(mime) else "binary",
            "bytes": size,
            "mime": mime,
            "sha256": digest,
            "change": "created" if artifact.created else "modified",
        }


def _mime(path: str, head: bytes) -> str:
    """By the bytes; of a text, by its name."""
    if not head or is_clean_text(head):
        guessed = mimetypes.guess_type(path)[0]
        return guessed if guessed and _is_text(guessed) else "text/plain"
    return image_type(head) or filetype.guess_mime(head) or "application/octet-stream"


def _is_text(mime: str) -> bool:
    return mime.startswith("text/") or mime in {
        "application/json",
        "application/xml",
        "application/javascript",
        "application/x-sh",
    }


def _text(files: Sequence[StreamFile], max_bytes: int) -> str:
    data = b""
    for file in files:
        with open(file.path, "rb") as stream:
            data += stream.read(min(file.size, max_bytes - len(data)))
    return data.decode("utf-8", "replace")
