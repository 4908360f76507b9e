"""Which lines are split into stages, and into which.

In: a command line, the names of our own commands. Out: its plan (`Chain`), without routes. Pure and total: any text has
a chain. A line is split only where nobody could tell, since every stage of a split line runs on its own: literal words
without a shell, others in a fresh bash, `cd`, `export` and `unset` in the session. Everything else is taken whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from agentclip.results import Chain, Join, Pipeline, Redirect, Stage
from agentclip.shell.syntax import (
    DYNAMIC,
    CommandPipeline,
    Redirection,
    SimpleCommand,
    UnsplittableError,
    Word,
    scan,
)

_SHELL_BOUND = re.compile(
    r"""\. | : | alias | bg | bind | break | builtin | caller | command | compgen | complete | compopt | continue | declare
    | dirs | disown | enable | eval | exec | exit | fc | fg | getopts | hash | help | history | jobs | kill | let | local
    | logout | mapfile | popd | pushd | read | readarray | readonly | return | set | setsid | shift | shopt | source | suspend
    | time | times | trap | type | typeset | ulimit | umask | unalias | wait | %.*""",
    re.VERBOSE | re.DOTALL,
)
"""Builtins that read or change the shell they run in (`compgen -b` without the harmless ones), `time`, and `%1` for `fg`.

setsid(1) is among them because it forks when it leads its process group, as every stage of ours does.
"""

_READONLY = r"EUID | UID | SHELLOPTS | POSIXLY_CORRECT"
_STUBBORN = re.compile(rf"(?!COLUMNS|LINES)(?:{DYNAMIC.pattern} | {_READONLY})", re.VERBOSE)
"""Variables that cannot be assigned, or whose assignment changes the shell itself."""

_SHELLS_OWN = re.compile(
    rf"""{DYNAMIC.pattern} | {_READONLY} | CDPATH | CHILD_MAX | ENV | EXECIGNORE | FIGNORE | FUNCNEST | GLOBIGNORE | GROUPS
    | HIST.* | HOME | HOSTFILE | HOSTNAME | HOSTTYPE | IFS | IGNOREEOF | INPUTRC | INSIDE_EMACS | MACHTYPE | MAIL.*
    | OSTYPE | PATH | PS[0-4] | PROMPT_.* | PWD | SHELL | TERM | TIMEFORMAT | TMOUT | TMPDIR""",
    re.VERBOSE,
)
"""Variables whose setting or unsetting bash notices, or which it holds without having been given them."""

_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)")
_DECLARATION = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:=.*)?", re.DOTALL)
_SAFE_FORMAT = re.compile(r"""[A-Za-z0-9%]|"[^-$`"]|'[^-']|\$'[^-\\']""")


def parse_chain(source: str, own: Collection[str] = ()) -> Chain:
    """The plan of a line. `own` are words that count as ordinary commands though bash may have a builtin of that name."""
    try:
        return Chain(source, tuple(_pipeline(source, pipeline, own) for pipeline in scan(source)))
    except UnsplittableError:
        stage = Stage(text=source, offset=0, words=None)
        return Chain(source, (Pipeline(join=Join.ALWAYS, negated=False, stages=(stage,)),), whole=True)


def _pipeline(source: str, pipeline: CommandPipeline, own: Collection[str]) -> Pipeline:
    alone = len(pipeline.commands) == 1
    if not all(_is_steady(command) and _splits(command, source, own, alone=alone) for command in pipeline.commands):
        raise UnsplittableError
    return Pipeline(pipeline.join, pipeline.negated, tuple(_stage(source, command) for command in pipeline.commands))


def _is_steady(command: SimpleCommand) -> bool:
    """Whether the text says what is run: words that bash must expand first could turn out to be any builtin."""
    return (
        bool(command.words)
        and bool(command.words[0].value)
        and all(redirection.target.value is not None for redirection in command.redirections)
        and not any(_STUBBORN.fullmatch(assignment.name) for assignment in command.assignments)
    )


def _splits(command: SimpleCommand, source: str, own: Collection[str], *, alone: bool) -> bool:
    """Whether a process of its own does what the line's shell would do, and leaves nothing behind in it."""
    name, *operands = (word.value for word in command.words)
    if name in own:
        return name != "time" or (operands in ([], ["--help"]) and command.start == command.words[0].start)
    match name:
        case "cd" | "export" | "unset":
            plain = not command.assignments and not command.redirections
            return _changes_state(name, operands) and plain if alone else _changes_nothing(operands)
        case "printf":
            return _only_prints(command.words, source)
        case "[" | "test":
            # `-v` and `-R` evaluate a subscript, which is arithmetic, which may assign.
            subscript = any(operand is None or "[" in operand for operand in operands)
            return not subscript or {"-v", "-R"}.isdisjoint(operands)
        case _:
            return not _SHELL_BOUND.fullmatch(name or "")


def _changes_state(name: str, operands: list[str | None]) -> bool:
    """Whether `cd`, `export` or `unset` is so plain that the session can do it."""
    if name == "cd":
        return not operands or (len(operands) == 1 and (operands[0] or "-")[0] != "-")
    pattern = _DECLARATION if name == "export" else _NAME
    names = [pattern.fullmatch(operand or "") for operand in operands]
    return bool(names) and all(match is not None and not _SHELLS_OWN.fullmatch(match[1]) for match in names)


def _changes_nothing(operands: list[str | None]) -> bool:
    """Whether `cd`, `export` or `unset`, run in a subshell, tells nothing of its shell, as `cd -` and a bare `export` do."""
    return bool(operands) and all(operand is not None and not operand.startswith("-") for operand in operands)


def _only_prints(words: tuple[Word, ...], source: str) -> bool:
    """Whether the operand after `printf` cannot be `-v`, which sets a variable."""
    if len(words) == 1:
        return True
    value = words[1].value
    if value is None:
        return _SAFE_FORMAT.match(source, words[1].start) is not None
    return value == "--" or not value.startswith("-")


def _stage(source: str, command: SimpleCommand) -> Stage:
    values = [word.value for word in command.words]
    words = tuple(value for value in values if value is not None)
    assignments = tuple((each.name, each.value) for each in command.assignments if each.value is not None)
    literal = (
        len(words) == len(values)
        and len(assignments) == len(command.assignments)
        and all(name != "PATH" for name, _ in assignments)
        and not any(map(_is_the_shells, command.redirections))
    )
    return Stage(
        text=source[command.start : command.end],
        offset=command.start,
        words=words if literal else None,
        assignments=assignments if literal else (),
        redirects=tuple(Redirect(each.fd, each.operator, each.target.value or "") for each in command.redirections),
        pipes_stderr=command.pipe == "|&",
    )


def _is_the_shells(redirection: Redirection) -> bool:
    """Whether the target means something only within the redirected process, or only to bash (`/dev/tcp`)."""
    target = redirection.target.value or ""
    return target.startswith(("/dev/", "/proc/")) and target != "/dev/null"
