"""What code knows of a session, for its snapshot: stored events come in; directory, files, commands, quotes go out.

Nothing here comes from the model's memory, so nothing here can be forgotten or made up.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct, field

from agentclip.agent.tokens import weigh
from agentclip.errors import one_line
from agentclip.events import CommandFinished, Event, Recorded, TurnStarted, UserMessageFolded
from agentclip.results import ChainResult, Stage

MAX_FILES = 400
MAX_SEEN = 300
LAST_COMMANDS = 15
LINE_CHARS = 240
QUOTE_CHARS = 700
"""Of a longer message of the person: its beginning, and the sentences that demand something."""
_SCANNED_CHARS = 60_000
"""Of one result."""


class Touch(StrEnum):
    """What happened to a file, as far as code knows."""

    CREATED = "CREATED"
    MODIFIED = "MODIFIED"
    WRITTEN = "WRITTEN"
    """A redirect or a program that writes; it may have been there before."""
    READ = "READ"


_WRITERS = frozenset(
    {"touch", "mkdir", "cp", "mv", "rm", "tee", "ln", "install", "chmod", "truncate", "patch", "rmdir", "rsync"}
)
_NEEDS = re.compile(
    r"\b(must|never|always|only|don'?t|do not|should|required?|without|instead|keep|use|avoid|prefer|ports?|not)\b|\d{3,5}|`"
    r"|必ず|しない|しては|禁止|だけ|のみ|使って|使う|こと|ください|変えない"
    r"|必须|不要|不能|禁止|只|务必|别|使用|保持|請|请|勿",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^\n\u3002\uff01\uff1f.!?]+(?:[\u3002\uff01\uff1f]|[.!?](?=\s|$)|\n|$|[.!?])*")
_SEEN = re.compile(
    r"^(?:FAILED|ERROR) \S.*|^--- FAIL: .*|^\s*not ok \d.*|^FAIL:? \S.*|^test \S+ \.\.\. FAILED|^\s*[✗✕\u00d7] .*"
    r"|^error(?:\[\w+\])?: .*"
    r"|^\w*(?:Error|Exception): .*|.*\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d{2,5}.*|.*\bport[ :=]+\d{2,5}\b.*",
    re.MULTILINE | re.IGNORECASE,
)
_PATHS = re.compile(r"[\w./~+@%-]*[./][\w./~+@%-]*")
"""Words of a line that bash runs as it stands: those that are files count."""
_MAX_WORDS = 40
_REDIRECT = re.compile(r"(?:^|[^0-9<>&])&?>{1,2}\|?\s*([\w./~+@%-]+)")


class File(Struct, frozen=True):
    """A file that commands touched."""

    path: str
    touch: Touch
    run: int
    """The run that did it last."""


class FactBook(Struct):
    """Grows by events; bounded whatever they hold."""

    events: Sequence[Recorded]
    """All of the session; what is new in it is taken when facts are wanted."""
    cwd: str
    _seen: int = 0
    _prompts: dict[int, str] = field(default_factory=dict)
    """By seq."""
    _files: dict[str, File] = field(default_factory=dict)
    """The least recently touched first."""
    _commands: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_COMMANDS))
    _noted: dict[str, int] = field(default_factory=dict)
    """Lines of outputs that name a failure or an address, with the run that printed them last."""

    def catch_up(self) -> None:
        """Take what was stored since the last time."""
        for position in range(self._seen, len(self.events)):
            recorded = self.events[position]
            self._take(recorded.seq, recorded.event)
        self._seen = len(self.events)

    def _take(self, seq: int, event: Event) -> None:
        match event:
            case TurnStarted(message) | UserMessageFolded(message):
                self._prompts[seq] = quotable(message.text)
            case CommandFinished(number, call_id, result, shown):
                whose = "" if call_id is not None else " (typed by the person)"
                self._commands.append(_line(f"[exit:{result.status}] {result.chain.source} (run {number}){whose}"))
                self._note_files(result, number)
                self._note_output(f"{result.chain.source}\n{shown.text[:_SCANNED_CHARS]}", number)
                self.cwd = result.cwd or self.cwd
            case _:
                pass

    def _note_files(self, result: ChainResult, number: int) -> None:
        for stage in (stage for pipeline in result.chain.pipelines for stage in pipeline.stages):
            for path, touch in _touched(stage, self.cwd):
                self._note_file(File(path, touch, number))
        for artifact in result.artifacts:
            self._note_file(File(artifact.path, Touch.CREATED if artifact.created else Touch.MODIFIED, number))

    def _note_file(self, file: File) -> None:
        known = self._files.pop(file.path, None)
        if known is not None and (file.touch is Touch.READ or known.touch is Touch.CREATED):
            file = File(file.path, known.touch, file.run)
        self._files[file.path] = file
        if len(self._files) > MAX_FILES:
            least = next((path for path, each in self._files.items() if each.touch is Touch.READ), next(iter(self._files)))
            del self._files[least]

    def _note_output(self, text: str, number: int) -> None:
        for found in _SEEN.finditer(text):
            line = _line(found[0].strip())
            self._noted.pop(line, None)
            self._noted[line] = number
        while len(self._noted) > MAX_SEEN:
            del self._noted[next(iter(self._noted))]

    def quotes(self, without: frozenset[int]) -> list[str]:
        """The words of the person, oldest first, without the messages that the model reads anyway."""
        texts = dict.fromkeys(text for seq, text in self._prompts.items() if seq not in without)
        return [f'- "{text}"' for text in texts]

    def commands(self) -> list[str]:
        """The last ones with their exit statuses, oldest first."""
        return [f"- {line}" for line in self._commands]

    def noted(self) -> list[str]:
        """Failures and addresses that outputs named, oldest first."""
        return [f"- run {number}: {line}" for line, number in self._noted.items()]

    def files(self) -> list[str]:
        """The files with their sizes as they are now, the least recently touched first. Reads the disk."""
        return [line for file in self._files.values() if (line := _file_line(file)) is not None]


def quotable(text: str) -> str:
    """A message of the person on few lines: whole when it is short, else its beginning and what it demands, word for word."""
    text = text.strip()
    if len(text) <= QUOTE_CHARS:
        return text
    rest = (found[0].strip() for found in _SENTENCE.finditer(text, QUOTE_CHARS // 3))
    wanted: list[str] = []
    room = QUOTE_CHARS * 2
    for sentence in rest:
        if _NEEDS.search(sentence) and len(sentence) <= LINE_CHARS and room > 0:
            wanted.append(sentence)
            room -= len(sentence)
    return " [...] ".join([text[: QUOTE_CHARS // 3], *wanted])


def fitted(lines: Sequence[str], room: float) -> tuple[list[str], float]:
    """The newest lines (the last ones) that fit into `room` tokens, before them the first one; and the room left."""
    kept: list[str] = []
    for line in [*lines[:1], *reversed(lines[1:])]:
        weight = weigh(line)
        size = weight.narrow + weight.wide + 1
        if size <= room:
            room -= size
            kept.append(line)
    return [*kept[:1], *reversed(kept[1:])], room


def _touched(stage: Stage, cwd: str) -> Iterator[tuple[str, Touch]]:
    words = stage.argv or stage.words or ("", *_PATHS.findall(stage.text)[:_MAX_WORDS])
    writes = bool(words) and (os.path.basename(words[0]) in _WRITERS or (words[0] == "sed" and "-i" in words[1:3]))
    for word in words[1:]:
        if not word.startswith("-") and len(word) < LINE_CHARS and re.search(r"[/.]|^\w+$", word):
            yield _path(word, cwd), Touch.WRITTEN if writes else Touch.READ
    for redirect in stage.redirects:
        if redirect.operator in {">", ">>", ">|", "&>", "&>>"}:
            yield _path(redirect.target, cwd), Touch.WRITTEN
        elif redirect.operator in {"<", "<>"}:
            yield _path(redirect.target, cwd), Touch.READ
    if stage.words is None:
        for found in _REDIRECT.finditer(stage.text):
            yield _path(found[1], cwd), Touch.WRITTEN


def _path(word: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(word)))


def _file_line(file: File) -> str | None:
    """None for a word that never was a file: something read that is not there."""
    try:
        status = os.stat(file.path)
    except (OSError, ValueError):
        return None if file.touch is Touch.READ else f"- {file.touch}, now gone: {_line(file.path)} (run {file.run})"
    if stat.S_ISDIR(status.st_mode):
        return None if file.touch is Touch.READ else f"- {file.touch}: {_line(file.path)}/ (run {file.run})"
    if not stat.S_ISREG(status.st_mode):
        return None
    return f"- {file.touch}: {_line(file.path)} ({status.st_size:,} bytes, run {file.run})"


def _line(text: str) -> str:
    text = one_line(" ".join(text.split()))
    return text if len(text) <= LINE_CHARS else f"{text[: LINE_CHARS - 1]}…"
