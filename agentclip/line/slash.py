"""Commands of the line mode: a line that begins with a slash comes in, lines to show go out."""

from __future__ import annotations

from collections.abc import Sequence

from agentclip.agent.loop import Agent
from agentclip.agent.queue_edit import replace_waiting
from agentclip.agent.words import WORDS as AGENT_WORDS
from agentclip.agent.words import retold, told
from agentclip.errors import ConfigError
from agentclip.events import CommandFinished, CommandStarted, Event, Recorded, Severity
from agentclip.line.front import Desk, Front
from agentclip.line.inks import theme_names
from agentclip.line.live import LiveRun
from agentclip.line.text import Line, line, lines

LAYER_LINES = 1000
COMMANDS = (
    ("/help", "", "this"),
    ("/quit", "", "end; Ctrl+D does it too"),
    ("/cancel", "", "stop what runs; again: kill. Ctrl+C does it too"),
    ("/queue", "[drop N | edit N TEXT]", "what waits; take one out or change it"),
    ("/layer1", "[N]", "the raw output of run N, or of the newest"),
    ("/layer2", "[N]", "what the model reads of it"),
    ("/tell", "[N] [WORDS]", "send what run N showed (or the newest) to the model, with words of yours"),
    ("/status", "", "model, context, cost, state"),
    ("/theme", "[NAME]", "other colours"),
    *AGENT_WORDS,
    ("/resume", "", "how to come back to this session"),
)
WORDS = tuple(word for word, _, _ in COMMANDS)
KEYS = (
    "Enter sends; while something runs, the message waits and joins in before the next step.",
    "!LINE runs a line of your own; the model hears of it by /tell.",
    "Ctrl+C cancels what runs (again: kills); twice at an empty prompt it quits.",
)
EDITOR_KEYS = (
    "Alt+Enter or Ctrl+J: new line. Ctrl+G: edit in $VISUAL. Tab completes / words, ! programs, @ files "
    "(the model gets the path and reads the file itself). "
    "Up: what waits, then history. Ctrl+R: search."
)
PLAIN_KEYS = "A backslash at the end of a line goes on in the next one."


def is_slash(text: str) -> bool:
    """A command, not a path and not a text that only begins so."""
    return text.startswith("/") and text.split(maxsplit=1)[0].count("/") == 1 and "\n" not in text


class Slash:
    """The commands of one session."""

    def __init__(self, agent: Agent, desk: Desk, front: Front) -> None:
        self._agent = agent
        self._desk = desk
        self._front = front

    def run(self, text: str) -> list[Line]:
        """Do it; what to show."""
        word, _, rest = text.partition(" ")
        rest = rest.strip()
        match word:
            case "/help":
                return self._help()
            case "/queue":
                return self._queue(rest)
            case "/layer1" | "/layer2":
                return self._layer(word, rest)
            case "/tell":
                return self._tell(rest)
            case "/theme":
                return self._theme(rest)
            case _:
                return self._simple(word, rest)

    def _simple(self, word: str, rest: str) -> list[Line]:
        match word:
            case "/quit":
                self._desk.quit()
            case "/cancel":
                if not self._desk.busy:
                    return [line("nothing runs", "notice")]
                self._desk.interrupted()
            case "/status":
                return [line(self._desk.status(self._front.width), "notice")]
            case "/resume":
                return [line(f"To come back: agentclip --resume {self._agent.session_id}", "notice")]
            case _:
                text, severity = told(self._agent, word, rest)
                return lines(text) if severity is Severity.INFO else [line(text, "not-sent")]
        return []

    def _help(self) -> list[Line]:
        keys = (*KEYS, EDITOR_KEYS if self._front.edits else PLAIN_KEYS)
        return [*(line(" ".join(filter(None, each[:2])) + f": {each[2]}", "notice") for each in COMMANDS), *map(line, keys)]

    def _queue(self, rest: str) -> list[Line]:
        waiting = self._agent.queue
        verb, _, more = rest.partition(" ")
        number, _, text = more.strip().partition(" ")
        if not rest:
            return [line(f"{at}  {each}", "notice") for at, each in enumerate(waiting, 1)] or [line("nothing waits", "notice")]
        if verb not in {"drop", "edit"} or not number.isdecimal() or not 1 <= int(number) <= len(waiting):
            return [line(f"/queue, /queue drop N, /queue edit N TEXT; {len(waiting)} waiting", "not-sent")]
        changed = [text.strip()] if verb == "edit" and text.strip() else []
        taken = replace_waiting(self._agent, int(number) - 1, changed)
        if verb == "edit" and not changed:
            self._front.load(taken)
            return [line(f"taken out: {taken}", "notice")]
        return [line(f"dropped: {taken}" if verb == "drop" else f"{number}  {changed[0]}", "notice")]

    def _layer(self, word: str, rest: str) -> list[Line]:
        if rest and not rest.isdecimal():
            return [line(f"{word} [N]: the number of a run", "not-sent")]
        found = find_run(self._agent.history(), int(rest) if rest else None)
        if found is None:
            return [line(f"no run {rest}" if rest else "nothing has run", "not-sent")]
        if isinstance(found, CommandStarted):
            return [line(f"run {found.number} has not ended; its raw output is {found.stdout_path}", "notice")]
        if word == "/layer2":
            return lines(found.shown.text.rstrip("\n"))
        result = found.result
        run = LiveRun(found.number, result.stdout.path, LAYER_LINES)
        return [*run.finish(found), line(result.stdout.path, "muted")]

    def _tell(self, rest: str) -> list[Line]:
        number, _, words = rest.partition(" ")
        if not number.isdecimal():
            number, words = "", rest
        ended = (each.event for each in reversed(self._agent.history()) if isinstance(each.event, CommandFinished))
        found = next((each for each in ended if number in {"", str(each.number)}), None)
        if found is None:
            return [line(f"no run {number} has ended" if number else "nothing has run", "not-sent")]
        self._agent.submit("\n\n".join(filter(None, (words.strip(), retold(found)))))
        return []

    def _theme(self, rest: str) -> list[Line]:
        if not rest:
            return [line(f"themes: {', '.join(theme_names())}", "notice")]
        return self.use_theme(rest) or [line(f"theme {rest}", "notice")]

    def use_theme(self, name: str) -> list[Line]:
        """Other colours from here on, or what is wrong with that."""
        try:
            self._front.use_theme(name)
        except ConfigError as error:
            return [line(str(error), "not-sent")]
        return []


def find_run(history: Sequence[Recorded], number: int | None) -> CommandFinished | CommandStarted | None:
    """The end of a run, or its beginning while it goes on; None for `number` means the newest."""
    for recorded in reversed(history):
        event: Event = recorded.event
        if isinstance(event, CommandFinished | CommandStarted) and number in {None, event.number}:
            return event
    return None
