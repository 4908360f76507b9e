"""Navigation on failure: lines such as `[hint] did you mean config.yaml?`, where we know the next step.

In: a finished run, what its stdout is, and the Machine through which everything is looked up. Out: at most MAX_HINTS lines
in one form, `[hint] WHAT. Use: COMMAND`; COMMAND works as written. They stand beside a program's own words, never instead.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator

from msgspec import Struct

from agentclip.errors import one_line
from agentclip.present.ansi import clean_line
from agentclip.present.binary import Kind, named_in_plan, spool_name
from agentclip.present.footer import any_failed
from agentclip.present.formats import reading
from agentclip.present.machine import Machine
from agentclip.present.packages import installing, is_known, other_name
from agentclip.present.scan import Spool
from agentclip.results import Chain, ChainResult, Stage, StageKind, StreamFile

MAX_HINTS = 3
_MAX_HINT_CHARS = 400
_MAX_STAGES = 20
_EDGE_BYTES = 4096
"""Of each stream this much is looked at, from its beginning and from its end."""
_MAX_LINE_CHARS = 1000

_MISSING = "No such file or directory"
_FOLDER = "Is a directory"
_DENIED = "Permission denied"
_NOT_FOUND = re.compile(
    r"(?:\S*sh: (?:line )?\d+|sudo|make(?:\[\d+\])?|/\S+\.sh: line \d+): (?P<word>[\w.+-]+): (?:[Cc]ommand )?not found"
)
_NOT_STARTED = re.compile(
    r"(?:\S*/)?(?:env|xargs|nohup|nice|timeout|setsid|stdbuf|make(?:\[\d+\])?): "
    r"(?:failed to (?:run command|execute) )?[\u2018'\"]?(?P<word>[\w.+-]+)[\u2019'\"]?: No such file or directory"
)
_UNKNOWN = re.compile(r"\[error\] unknown command: (?P<word>[\w.+-]+)\. (?P<guess>Did you mean: [^?]*)?")
_QUOTED = re.compile(r"(?<!\w)[\u2018'\"]([^\u2018\u2019'\"]+)[\u2019'\"]")
_BEFORE_NAME = re.compile(r"(?:cannot|can't|could not|failed to|error|warning)(?: \w+){1,3}?:? (?=\S)|(?:open|stat) ")
_CREATING = re.compile(r"(?:touch|tee|mkdir|dd|install|cp|mv): |.*cannot create ")
_MOVES = re.compile(r"(?:^|[\s;&|(])(?:cd|pushd|popd|chroot)\b|(?:^|\s)(?:-C|--chdir|--directory)\b")
_MERGES = re.compile(r"2>&1|\|&|&>")
_GLOB = re.compile(r"[*?\[]")
_DELETERS = ("rm: ", "mv: ", "cp: ", "rmdir: ", "unlink: ")


def hints(result: ChainResult, kind: Kind | None, machine: Machine) -> tuple[str, ...]:
    """The lines for a run; `kind` says what a binary stdout is, None for text."""
    found: dict[str, None] = {}
    for hint in _all_hints(result, kind, machine):
        if len(hint) <= _MAX_HINT_CHARS and hint.isprintable():
            found[hint] = None
        if len(found) == MAX_HINTS:
            break
    return tuple(found)


class _Failure(Struct, frozen=True):
    """One line that a program said, and where."""

    line: str
    status: int
    chain: Chain
    stage: Stage | None
    """The stage that said it; None when the line stands in stdout."""


def _all_hints(result: ChainResult, kind: Kind | None, machine: Machine) -> Iterator[str]:
    if kind is not None and not kind.image:
        name = named_in_plan(result.chain) or spool_name(result.stdout, kind)
        if line := reading(kind, name, machine):
            yield _use(f"this is {kind.extension} data", line)
    failed = any_failed(result)
    for failure in _failures(result, with_stdout=failed and kind is None):
        hint = _about_program(failure, machine)
        if hint is None and failed:
            hint = _about_file(failure, machine)
        if hint is not None:
            yield hint


def _use(what: str, command: str) -> str:
    return f"[hint] {what}. Use: {command}"


def _failures(result: ChainResult, *, with_stdout: bool) -> Iterator[_Failure]:
    """The first and the last lines of every stage's stderr, and of stdout where stderr was sent there."""
    planned = [stage for pipeline in result.chain.pipelines for stage in pipeline.stages]
    for stage in result.stages[-_MAX_STAGES:]:
        said_by = planned[stage.index] if stage.index < len(planned) else None
        if stage.stderr is not None and stage.kind is not StageKind.COMMAND:
            for line in _edge_lines(stage.stderr):
                yield _Failure(line, stage.status, result.chain, said_by)
    if with_stdout and _MERGES.search(result.chain.source):
        for line in _edge_lines(result.stdout):
            yield _Failure(line, result.status, result.chain, None)


def _edge_lines(stream: StreamFile) -> Iterator[str]:
    try:
        with Spool(stream.path, stream.size) as spool:
            data = spool.window(0, 2 * _EDGE_BYTES)
            if spool.size > 2 * _EDGE_BYTES:
                data = data[:_EDGE_BYTES] + b"\n" + spool.end(_EDGE_BYTES)[0]
    except OSError:
        return
    for raw in data.split(b"\n"):
        line = clean_line(raw.decode("utf-8", "replace"))
        if line and len(line) <= _MAX_LINE_CHARS:
            yield line


def _about_program(failure: _Failure, machine: Machine) -> str | None:
    """A program that is not there: its other name, names like it, or how it is installed."""
    if match := _UNKNOWN.match(failure.line):
        word, guess = match["word"], match["guess"] or ""
    elif match := _NOT_FOUND.fullmatch(failure.line) or _NOT_STARTED.fullmatch(failure.line):
        word, guess = match["word"], ""
    else:
        return None
    if other := other_name(word, machine):
        return None if other in re.split(r"[ ,]+", guess) else _use(f"{word} is not here, {other} is", other)
    known = is_known(word)
    if guess and not known:
        return None
    if not known and (near := machine.near_programs(word)):
        return _did_you_mean(near)
    if (line := installing(word, machine)) is None:
        return None
    return _use(f"{word} is not installed" + ("" if known else " (the package's name is a guess)"), line)


def _about_file(failure: _Failure, machine: Machine) -> str | None:
    """A file that is missing, a folder, or not executable."""
    line = failure.line
    if _MISSING in line:
        return _about_missing(failure, machine)
    if _FOLDER in line and not line.startswith(_DELETERS):
        name = next((name for name in _names(failure, _FOLDER, machine) if machine.is_folder(name)), None)
        return None if name is None else _about_folder(failure, name)
    if _DENIED in line and failure.status == 126:
        return next((hint for name in _names(failure, _DENIED, machine) if (hint := _about_mode(name, machine))), None)
    return None


def _about_missing(failure: _Failure, machine: Machine) -> str | None:
    name = next((name for name in _names(failure, _MISSING, machine) if machine.is_missing(name)), None)
    if name is None or _GLOB.search(name):
        return None
    if near := machine.near_files(name):
        return _did_you_mean(tuple(shlex.quote(found) for found in near))
    if not _is_created(failure, name) or (folder := machine.missing_folder(name)) is None:
        return None
    wanted = name if failure.line.startswith("mkdir: ") else folder
    return _use("the folder for it is missing", f"mkdir -p {shlex.quote(wanted)}")


def _about_folder(failure: _Failure, name: str) -> str:
    word = shlex.quote(name)
    stage = failure.stage
    if failure.line.startswith("grep: ") and stage is not None and stage.words and not stage.redirects:
        return _use(f"{word} is a directory", shlex.join(["grep", "-r", *stage.words[1:]]))
    return _use(f"{word} is a directory", f"ls {word} or cd {word}" if failure.status == 126 else f"ls {word}")


def _about_mode(name: str, machine: Machine) -> str | None:
    mode = machine.mode(name)
    if mode is None or not stat.S_ISREG(mode) or mode & 0o111 or not machine.may_change(name):
        return None
    return _use(f"{shlex.quote(name)} is not executable", f"chmod +x {shlex.quote(name)}")


def _did_you_mean(names: tuple[str, ...]) -> str:
    return f"[hint] did you mean {one_line(', '.join(names))}?"


def _names(failure: _Failure, marker: str, machine: Machine) -> Iterator[str]:
    """The names that a message is about, as far as the command line holds them: nothing is said of a program's own files."""
    source = failure.chain.source
    before, _, behind = failure.line.partition(marker)
    said = [*_QUOTED.findall(before), *_QUOTED.findall(behind)]
    last = before.rstrip(" :(").rpartition(": ")[2]
    if not said and last:
        said = [_BEFORE_NAME.sub("", last, count=1), last]
    for name in said:
        base = os.path.basename(name.rstrip("/"))
        if base and base in source and (name.startswith("/") or _stands_still(failure.chain)):
            # Python says the whole path of a script that was named by a short one.
            short = name.removeprefix(f"{machine.cwd}/")
            yield short if short in source else name


def _stands_still(chain: Chain) -> bool:
    """Whether relative names of a run start where the run ended: nothing moves, or its first pipeline is the only `cd`."""
    moves = _MOVES.findall(chain.source)
    if not moves:
        return True
    first = chain.pipelines[0].stages[0] if chain.pipelines else None
    return len(moves) == 1 and first is not None and first.kind is StageKind.STATE and bool(first.words) and not chain.whole


def _is_created(failure: _Failure, name: str) -> bool:
    """Whether the name is that of a file to be written."""
    written = re.search(rf">\s*['\"]?{re.escape(name)}", failure.chain.source)
    return written is not None or _CREATING.match(failure.line) is not None
