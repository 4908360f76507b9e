"""Which stage is ours, a program, or bash. A parsed chain comes in, a plan goes out; nothing is started.

The plan is made before the run for the screen and for `--dry-run`; each stage is routed again when it starts, since an
earlier one may have made the program or changed PATH.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat

from msgspec import Struct
from msgspec.structs import replace

from agentclip.command import CommandTable
from agentclip.results import Chain, Join, Pipeline, Stage, StageKind
from agentclip.shell.process import is_simple
from agentclip.shell.state import ShellState

BUILTINS = frozenset({"echo", "printf", "test", "[", "pwd", "true", "false", "cd", "export", "unset"})
"""The builtins that a split line may hold. /bin/echo is not bash's echo, so bash runs them."""

_SAME_AS_PROGRAM = frozenset({("true",), ("false",)})
"""Builtins whose program does exactly the same, without a bash."""

STATE_WORDS = frozenset({"cd", "export", "unset"})

_LOOKED_AT = 10_000
"""Entries of a PATH folder that are looked through for a near name."""


class Router(Struct, frozen=True):
    """Looks words up: our table, PATH, bash's builtins."""

    table: CommandTable
    state: ShellState
    raw: bool = False
    """`exec --raw`: bash's word wins everywhere, so no dialect, no navigation, builtins before our commands."""

    def plan(self, chain: Chain) -> Chain:
        """Every stage with its kind and argv; the line whole where handling `cd` ourselves could be observed."""
        if not chain.whole and not all(self._state_is_plain(pipeline) for pipeline in chain.pipelines):
            chain = whole_line(chain.source)
        return replace(chain, pipelines=tuple(self.plan_pipeline(pipeline, whole=chain.whole) for pipeline in chain.pipelines))

    def plan_pipeline(self, pipeline: Pipeline, *, whole: bool = False) -> Pipeline:
        """The pipeline with its stages routed by the state of now."""
        alone = len(pipeline.stages) == 1
        return replace(pipeline, stages=tuple(self._stage(stage, alone=alone, whole=whole) for stage in pipeline.stages))

    def find_program(self, word: str, path: str | None = None) -> str | None:
        """The file that runs for a word, as bash's PATH search finds it; None when there is none."""
        if "/" in word:
            return word if _is_executable(os.path.join(self.state.cwd, word)) else None
        for folder in (self.state.env.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
            candidate = os.path.join(folder, word) if folder else f"./{word}"
            if _is_executable(os.path.join(self.state.cwd, candidate)):
                return candidate
        return None

    def programs_like(self, word: str) -> tuple[str, ...]:
        """Names on PATH that may be meant by a word which is none: about as long, and the same first or the same letters.

        Only asked when nothing runs, so nothing is kept; folders with too many entries are not looked through.
        """
        found: dict[str, None] = {}
        letters = sorted(word)
        for folder in dict.fromkeys(self.state.env.get("PATH", os.defpath).split(os.pathsep)):
            place = os.path.join(self.state.cwd, folder)
            with contextlib.suppress(OSError, ValueError), os.scandir(place) as entries:
                for entry in itertools.islice(entries, _LOOKED_AT):
                    name = entry.name
                    if abs(len(name) - len(word)) <= 2 and (name[:1] == word[:1] or sorted(name) == letters):
                        found[name] = None
        return tuple(name for name in found if self.find_program(name) is not None)

    def _stage(self, stage: Stage, *, alone: bool, whole: bool) -> Stage:
        words = stage.words
        if whole or not words or not is_simple(stage.redirects):
            return replace(stage, kind=StageKind.SHELL)
        if alone and words[0] in STATE_WORDS and not stage.assignments and not stage.redirects:
            return replace(stage, kind=StageKind.STATE, argv=words)
        if self.table.get(words[0]) is not None and not (self.raw and words[0] in _BASH_WORDS):
            return replace(stage, kind=StageKind.COMMAND, argv=words)
        if words in _SAME_AS_PROGRAM:
            return self._program(stage, words)
        if words[0] in BUILTINS or stage.assignments:
            return replace(stage, kind=StageKind.SHELL)
        return self._program(stage, words)

    def _program(self, stage: Stage, words: tuple[str, ...]) -> Stage:
        argv = words
        if not self.raw and (dialect := self.table.dialects.get(words[0])) is not None:
            argv = tuple(dialect.rewrite(words, self.state.cwd))
        if self.find_program(argv[0]) is not None:
            return replace(stage, kind=StageKind.PROGRAM, argv=argv)
        if self.raw or "/" in argv[0]:
            return replace(stage, kind=StageKind.SHELL)
        return replace(stage, kind=StageKind.UNKNOWN, argv=argv)

    def _state_is_plain(self, pipeline: Pipeline) -> bool:
        words = pipeline.stages[0].words or ("",)
        return len(pipeline.stages) > 1 or words[0] != "cd" or not self.state.env.get("CDPATH")


_BASH_WORDS = frozenset({"help", "jobs", "time"})
"""Words of ours that are bash's own builtins or keywords."""


def whole_line(source: str) -> Chain:
    """One stage that bash runs as it stands."""
    return Chain(source, (Pipeline(Join.ALWAYS, negated=False, stages=(Stage(source, 0, None),)),), whole=True)


def _is_executable(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and os.access(path, os.X_OK)
