"""`topic`: the conversations on this machine. Facts come in through `Topics`; this module knows no storage."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from agentclip.command import CommandIO, Declaration, Parameter
from agentclip.commands.arguments import Arguments
from agentclip.commands.files import explained
from agentclip.commands.registry import CommandGroup, Handler
from agentclip.commands.streams import copy_range, note, say, size_text, stop_if_cancelled
from agentclip.errors import CommandError, ErrorCode, SessionError, one_line
from agentclip.results import StreamFile

LISTED = 20
"""Conversations that `topic list` shows unless told otherwise."""

_LATEST_RUNS = 10
"""Runs that `topic info` shows."""

_COMMAND_CHARACTERS = 120

_MATCH_CHARACTERS = 160
"""Of a text that was found."""


class TopicFacts(Protocol):
    """One conversation, as listed."""

    @property
    def id(self) -> str:
        """Unique on this machine."""

    @property
    def title(self) -> str:
        """One line; empty before the first prompt."""

    @property
    def cwd(self) -> str:
        """Absolute directory it belongs to; empty when nobody knows."""

    @property
    def model(self) -> str:
        """The model last used."""

    @property
    def created_s(self) -> float:
        """Seconds since the epoch."""

    @property
    def updated_s(self) -> float:
        """Seconds since the epoch."""

    @property
    def turns(self) -> int:
        """Prompts so far."""


class TopicRun(Struct, frozen=True):
    """One command line that ran in a conversation."""

    number: int
    """1-based within the conversation."""
    command: str
    status: int | None
    """Exit status; None when it never ended."""
    shown: str
    """What the model read; empty when it never ended."""
    stdout: StreamFile | None
    """The raw output; None when its file is gone."""


class TopicMatch(Struct, frozen=True):
    """One text of a conversation that holds what was searched for."""

    topic: str
    """The conversation's id."""
    when_s: float
    """Seconds since the epoch."""
    kind: str
    """`prompt`, `answer`, or `run N`."""
    text: str


class Topics(Protocol):
    """The saved conversations."""

    def list(self, limit: int | None) -> Sequence[TopicFacts]:
        """Newest first; all of them when the limit is None."""

    def info(self, topic: str) -> TopicFacts:
        """The conversation with that id, or the only one whose id begins so. Raises SessionError."""

    def runs(self, topic: str) -> Sequence[TopicRun]:
        """What ran in it, oldest first. Raises SessionError."""

    def search(self, words: Sequence[str], stop: Callable[[], None]) -> Iterator[TopicMatch]:
        """Prompts, answers and commands that hold all the words, newest conversation first, each one oldest first.

        Nothing is read ahead of what is asked for. `stop` is called now and then and may raise.
        """

    def rename(self, topic: str, title: str) -> str:
        """Give it another title, or with an empty one its first prompt's; return the title. Raises SessionError."""


_TOPIC = Parameter("id", "a conversation, as `topic list` names it; the beginning of an id is enough", required=True)
_NO_TOPIC = (2, "wrong words, or no such conversation")


class TopicCommand(CommandGroup):
    """Lists conversations and shows what ran in them."""

    declaration = Declaration(
        name="topic",
        summary="Conversations on this machine: list, info, runs, run, search, rename",
        subcommands=(
            Declaration(
                name="topic list",
                summary="conversations, newest first: id, date, title, directory (tabs between)",
                parameters=(
                    Parameter(
                        "--limit", "how many", "integer", short="-n", default=str(LISTED), minimum=1, maximum=100_000, value="N"
                    ),
                    Parameter("--all", "no limit", "boolean"),
                ),
                examples=("topic list", "topic list -n 5", "topic list --all | grep -i deploy"),
                exit_codes=((0, "done; none is no error"), (2, "wrong words")),
                often_followed_by=("topic info",),
            ),
            Declaration(
                name="topic info",
                summary="one conversation: title, directory, model, dates, latest runs",
                parameters=(_TOPIC,),
                examples=(
                    "topic info 260115-c4k92qx",
                    "topic info 2601 | grep model",
                    "topic info 260115-c4k92qx | tail 5",
                ),
                exit_codes=((0, "done"), _NO_TOPIC),
                often_followed_by=("topic run",),
            ),
            Declaration(
                name="topic runs",
                summary="what ran in a conversation: number, exit status, command (tabs between)",
                parameters=(_TOPIC, Parameter("--limit", "the last so many", "integer", short="-n", minimum=1, value="N")),
                examples=("topic runs 260115-c4k92qx", "topic runs 2601 -n 20", "topic runs 260115-c4k92qx | grep pytest"),
                exit_codes=((0, "done; none is no error"), _NO_TOPIC),
                often_followed_by=("topic run",),
            ),
            Declaration(
                name="topic run",
                summary="one run of a conversation: its command and what the model read",
                parameters=(
                    _TOPIC,
                    Parameter("number", "the run; left out: the last one", "integer", minimum=1),
                    Parameter("--raw", "the raw output instead, byte for byte", "boolean"),
                ),
                examples=(
                    "topic run 260115-c4k92qx",
                    "topic run 260115-c4k92qx 3",
                    "topic run 260115-c4k92qx 3 --raw | grep ERROR",
                ),
                exit_codes=((0, "done"), (1, "its raw output is gone, or nothing ran"), _NO_TOPIC),
                often_followed_by=("topic run --raw",),
            ),
            Declaration(
                name="topic search",
                summary="prompts, answers and commands that hold all the words, in any case",
                parameters=(
                    Parameter("word", "what to look for", required=True, repeated=True),
                    Parameter("--limit", "stop after so many", "integer", short="-n", default="20", minimum=1, value="N"),
                ),
                examples=("topic search deploy", "topic search -n 50 'disk full'", "topic search docker build | grep run"),
                exit_codes=((0, "found: id, date, prompt|answer|run N, text"), (1, "nothing"), (2, "wrong words")),
                often_followed_by=("topic run", "topic info"),
            ),
            Declaration(
                name="topic rename",
                summary="another title for a conversation",
                parameters=(_TOPIC, Parameter("title", "one line; '' brings back the first prompt", required=True)),
                examples=(
                    "topic rename 260115-c4k92qx 'Deploy of May'",
                    "topic rename 2601 ''",
                    "topic rename 260115-c4k92qx Cleanup && topic list -n 3",
                ),
                exit_codes=((0, "renamed"), _NO_TOPIC, (69, "another agentclip has it open")),
                often_followed_by=("topic list",),
            ),
        ),
        examples=("topic list", "topic info 260115-c4k92qx", "topic run 260115-c4k92qx 3"),
        exit_codes=((2, "the bare word shows its usage"),),
        often_followed_by=("topic list",),
    )

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def handlers(self) -> Mapping[str, Handler]:
        """The subcommands."""
        return {
            "list": self._list,
            "info": self._info,
            "runs": self._runs,
            "run": self._run,
            "search": self._search,
            "rename": self._rename,
        }

    def _list(self, args: Arguments, io: CommandIO) -> int:
        with _explained():
            topics = self._topics.list(None if args.given("--all") else args.integer("--limit"))
        for topic in topics:
            say(io, "\t".join((one_line(topic.id), _date(topic.updated_s), _title(topic), one_line(topic.cwd))))
        if not topics:
            note(io, "no conversations yet")
        return 0

    def _info(self, args: Arguments, io: CommandIO) -> int:
        with _explained():
            topic = self._topics.info(args.text("id"))
            runs = self._topics.runs(topic.id)
        say(io, f"id: {one_line(topic.id)}")
        say(io, f"title: {_title(topic)}")
        say(io, f"directory: {one_line(topic.cwd)}")
        say(io, f"model: {one_line(topic.model)}")
        say(io, f"begun: {_date(topic.created_s)}")
        say(io, f"last used: {_date(topic.updated_s)}")
        say(io, f"turns: {topic.turns}")
        say(io, f"runs: {len(runs)}{f', the last {_LATEST_RUNS}:' if len(runs) > _LATEST_RUNS else ''}")
        for run in runs[-_LATEST_RUNS:]:
            say(io, f"  {run.number}  [{_status(run)}]  {_shortened(run.command)}")
        return 0

    def _runs(self, args: Arguments, io: CommandIO) -> int:
        with _explained():
            topic = self._topics.info(args.text("id"))
            runs = self._topics.runs(topic.id)
        for run in runs[-(args.optional_integer("--limit") or len(runs)) :]:
            say(io, "\t".join((str(run.number), _status(run), one_line(run.command))))
        if not runs:
            note(io, f"nothing ran in {topic.id} yet")
        return 0

    def _search(self, args: Arguments, io: CommandIO) -> int:
        words, limit = args.words("word"), args.integer("--limit")
        found = 0
        with _explained():
            for match in self._topics.search(words, lambda: stop_if_cancelled(io)):
                if found == limit:
                    note(io, f"there is more: topic search -n {10 * limit} {shlex.join(words)}")
                    break
                found += 1
                say(io, "\t".join((one_line(match.topic), _date(match.when_s), match.kind, _around(match.text, words[0]))))
                io.stdout.flush()
        if not found:
            raise CommandError(f"no conversation holds {shlex.join(words)}", hint="topic list", code=ErrorCode.NOT_FOUND)
        return 0

    def _rename(self, args: Arguments, io: CommandIO) -> int:
        with _explained():
            topic = self._topics.info(args.text("id"))
            title = self._topics.rename(topic.id, args.text("title"))
        say(io, f"{one_line(topic.id)} is now: {one_line(title)}")
        return 0

    def _run(self, args: Arguments, io: CommandIO) -> int:
        with _explained():
            topic = self._topics.info(args.text("id"))
            run = _chosen(self._topics.runs(topic.id), topic.id, args.optional_integer("number"))
        if args.given("--raw"):
            return _raw(run, topic.id, io)
        say(io, f"$ {run.command}")
        say(io, run.shown.removesuffix("\n") or "[it never ended]")
        if run.stdout is not None:
            note(io, f"raw output: {size_text(run.stdout.size)}, topic run {topic.id} {run.number} --raw")
        return 0


def _chosen(runs: Sequence[TopicRun], topic: str, number: int | None) -> TopicRun:
    if not runs:
        raise CommandError(f"nothing ran in {topic}", hint=f"topic info {topic}", code=ErrorCode.NOT_FOUND)
    if number is None:
        return runs[-1]
    run = next((run for run in runs if run.number == number), None)
    if run is None:
        what = f"{topic} has no run {number}, only {runs[0].number}..{runs[-1].number}"
        raise CommandError(what, hint=f"topic info {topic}", code=ErrorCode.INPUT_NOT_FOUND)
    return run


def _raw(run: TopicRun, topic: str, io: CommandIO) -> int:
    if run.stdout is None:
        gone = f"the raw output of run {run.number} is gone"
        raise CommandError(gone, hint=f"topic run {topic} {run.number}", code=ErrorCode.NOT_FOUND)
    with explained(run.stdout.path):
        copy_range(io, run.stdout.path, 0, run.stdout.size)
    return 0


@contextmanager
def _explained() -> Iterator[None]:
    """What the store cannot open becomes an error of the command."""
    try:
        yield
    except SessionError as error:
        raise CommandError(error.message, hint="topic list", code=error.code) from error


def _status(run: TopicRun) -> str:
    return "never ended" if run.status is None else f"exit:{run.status}"


def _title(topic: TopicFacts) -> str:
    return one_line(topic.title) or "(no prompt yet)"


def _shortened(command: str) -> str:
    line = one_line(command)
    return line if len(line) <= _COMMAND_CHARACTERS else line[: _COMMAND_CHARACTERS - 3] + "..."


def _around(text: str, word: str) -> str:
    """One line of the text with the word in it."""
    line = " ".join(one_line(part) for part in text.split())
    place = max(0, line.lower().find(word.lower()))
    start = max(0, min(place - _MATCH_CHARACTERS // 3, len(line) - _MATCH_CHARACTERS))
    shown = line[start : start + _MATCH_CHARACTERS]
    return f"{'...' if start else ''}{shown}{'...' if start + _MATCH_CHARACTERS < len(line) else ''}"


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
