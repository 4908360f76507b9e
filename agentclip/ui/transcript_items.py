"""The items of the transcript: what the person wrote, what the model wrote, runs, notices.

In: values of events. Out: rows of a width in an ink, and an estimate of how many there will be. An item says with `revision`
that it changed; who draws keeps what it drew. Must not know: widgets, scrolling.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from agentclip.events import Severity
from agentclip.ui.foreign import expand_tabs, fit, one_line, segments, tabs_as_blanks, terminal_segments, visible
from agentclip.ui.format import duration, plural
from agentclip.ui.markdown import MarkdownStream, plain, render
from agentclip.ui.runs import Run
from agentclip.ui.themes import Ink
from agentclip.ui.wrap import Row, fold, wrap

LIVE_LINES = 3
COMMAND_LINES = 200
"""Of the command of an expanded run."""
EXPANDED_LINES = 40
"""Of what the model reads of it."""
EXPANDED_CHARACTERS = 10_000
"""Of either."""
BOLD = Style(bold=True)
_SIGNS = {Severity.INFO: ("· ", "notice"), Severity.WARNING: ("! ", "not-sent"), Severity.ERROR: ("✗ ", "exit-fail")}


class Item(Struct, eq=False):
    """One entry of the transcript."""

    lead: bool = False
    """A blank row comes before it."""
    revision: int = 0
    """Grows with every change that can be seen."""

    NAME: ClassVar[str] = "the text"
    """What to call it."""

    @property
    def source(self) -> str:
        """The text it is made of, as it was written."""
        raise NotImplementedError

    @property
    def searched(self) -> str:
        """All text of it that can be seen."""
        return self.source

    def leads_after(self, before: Item | None) -> bool:
        """Whether a blank row comes between it and what stands before it."""
        return before is not None

    def rows(self, width: int, ink: Ink) -> list[Row]:
        """Everything, at this width."""
        body = self.body(width, ink)
        return [[], *body] if self.lead else body

    def body(self, width: int, ink: Ink) -> list[Row]:
        """The rows without the blank one."""
        raise NotImplementedError

    def estimate(self, width: int) -> int:
        """About how many rows, cheaply."""
        raise NotImplementedError

    def changed(self) -> None:
        """It looks different now."""
        self.revision += 1


def _estimate(text: str, width: int) -> int:
    return 1 + text.count("\n") + len(text) // max(1, width)


class WrittenItem(Item, eq=False):
    """Text that somebody wrote."""

    text: str = ""

    @property
    def source(self) -> str:
        """The text."""
        return self.text


class UserItem(WrittenItem, eq=False):
    """What the person wrote."""

    NAME: ClassVar[str] = "your message"

    def body(self, width: int, ink: Ink) -> list[Row]:
        """Each line behind a sign."""
        style = ink["user"] + BOLD
        rows: list[Row] = []
        for index, line in enumerate(self.text.split("\n")):
            sign = Segment("> " if index == 0 else "  ", style)
            rows += wrap([(tabs_as_blanks(visible(line)), style)], width, [sign], [Segment("  ", style)])
        return rows

    def estimate(self, width: int) -> int:
        """By length."""
        return _estimate(self.text, width - 2) + self.lead


class AssistantItem(WrittenItem, eq=False):
    """What the model wrote, growing or complete."""

    NAME: ClassVar[str] = "the answer"
    reasoning: str = ""
    live: bool = False
    """Still streaming."""
    partial: bool = False
    """Cut or cancelled: only this much came."""
    _stream: MarkdownStream | None = None

    @property
    def searched(self) -> str:
        """The text, and of the reasoning what is shown."""
        return f"{self._thought()}\n{self.text}" if self.reasoning else self.text

    def body(self, width: int, ink: Ink) -> list[Row]:
        """Reasoning in one row, then the text."""
        rows = self._reasoning(width, ink)
        text = self.text.strip("\n")
        if self.live:
            if self._stream is None or self._stream.key != (width, ink):
                self._stream = MarkdownStream(width, ink)
            rows += self._stream.rows(self.text.lstrip("\n")) if text else []
        else:
            self._stream = None
            rows += render(text, width, ink) if text else []
        if self.partial:
            rows.append([Segment(fit("[stopped here; only this much came]", width), ink["muted"])])
        return rows or [[]]

    def estimate(self, width: int) -> int:
        """By length."""
        return _estimate(self.text, width) + bool(self.reasoning) + self.partial + self.lead

    def _reasoning(self, width: int, ink: Ink) -> list[Row]:
        thought = self._thought()
        return [[Segment(fit("~ " + one_line(thought), width), ink["muted"] + Style(italic=True))]] if thought else []

    def _thought(self) -> str:
        lines = [line for line in self.reasoning.splitlines() if line.strip()]
        if not lines:
            return ""
        return lines[-1] if self.live else f"{lines[0]}  ({plural(len(lines), 'line')} of reasoning)"


class NoticeItem(WrittenItem, eq=False):
    """One line for the person."""

    NAME: ClassVar[str] = "the notice"
    severity: Severity = Severity.INFO

    def leads_after(self, before: Item | None) -> bool:  # noqa: ARG002  close to whatever it is about
        """Never."""
        return False

    def body(self, width: int, ink: Ink) -> list[Row]:
        """A sign and the text."""
        sign, color = _SIGNS[self.severity]
        style = ink[color]
        rows: list[Row] = []
        for index, line in enumerate(self.text.split("\n")):
            mark = Segment(sign if index == 0 else "  ", style)
            rows += wrap([(tabs_as_blanks(visible(line)), style)], width, [mark], [Segment("  ", style)])
        return rows

    def estimate(self, width: int) -> int:
        """By length."""
        return _estimate(self.text, width - 2) + self.lead


class TextItem(WrittenItem, eq=False):
    """Text of the program itself, such as the first screen and the help."""

    def body(self, width: int, ink: Ink) -> list[Row]:
        """Line by line."""
        return plain(self.text, width, ink["assistant"])

    def estimate(self, width: int) -> int:
        """By length."""
        return _estimate(self.text, width) + self.lead


class _Folded(Struct):
    """A command as it hangs below its row: made once, since a living run is drawn again and again."""

    key: tuple[int, Ink]
    """Width and ink it was made for."""
    rows: list[Row]


class RunItem(Item, eq=False):
    """A run: one row, with its last lines while it is alive, with what the model reads when expanded."""

    NAME: ClassVar[str] = "the command"
    run: Run | None = None
    now_s: float = 0.0
    """The screen's clock when it was last told to look."""
    expanded: bool = False
    _command: _Folded | None = None

    def leads_after(self, before: Item | None) -> bool:
        """Runs stand close together."""
        return super().leads_after(before) and not isinstance(before, RunItem)

    @property
    def source(self) -> str:
        """The command."""
        return self._run().command

    @property
    def searched(self) -> str:
        """The command, and what hangs below its row."""
        run = self._run()
        return "\n".join([run.command, *_beginning(self._shown(run), EXPANDED_LINES)[0]]) if self.expanded else run.command

    def body(self, width: int, ink: Ink) -> list[Row]:
        """The row of the run and what hangs below it."""
        run = self._run()
        rows = [self._head(run, width, ink)]
        if self.expanded:
            whole = rows[0][1].text.startswith(one_line(run.command))
            if not whole or "\n" in run.command:
                rows += self._whole_command(run, width, ink)
            rows += self._details(run, width, ink)
            return rows
        self._command = None
        if run.finished is None:
            rows += [_clipped(line, width, ink) for line in run.last_lines(LIVE_LINES)]
        return rows

    def estimate(self, width: int) -> int:  # noqa: ARG002  one row at any width
        """One row, except for the few that show more."""
        if self.expanded:
            return 2 + EXPANDED_LINES
        return 1 + self.lead

    def _run(self) -> Run:
        assert self.run is not None
        return self.run

    def _head(self, run: Run, width: int, ink: Ink) -> Row:
        words, color = run.outcome()
        spent = run.finished.result.duration_s if run.finished else max(0.0, self.now_s - run.started_s)
        right = f" {words} {duration(spent)}" if run.finished else f" {words} {int(spent)}s"
        left = f"{'▾' if self.expanded else '▸'} {run.number:>2} {'!' if run.by_person else 'run'} "
        room = max(0, width - cell_len(left) - cell_len(right))
        command = fit(one_line(run.command), room)
        gap = " " * max(0, room - cell_len(command))
        return [
            Segment(left, ink["muted"]),
            Segment(command + gap, ink["assistant"]),
            Segment(right, ink[color] + BOLD),
        ]

    def _whole_command(self, run: Run, width: int, ink: Ink) -> list[Row]:
        """The command, folded, with marks for whatever would act or colour."""
        if self._command is None or self._command.key != (width, ink):
            lines, more = _beginning(run.command, COMMAND_LINES)
            rows: list[Row] = []
            for line in lines:
                rows += _hung(expand_tabs(segments("$ " + line, ink["muted"], ink["mark"])), width, ink)
            rows += _hung([Segment(f"… {more} of the command", ink["mark"])], width, ink) if more else []
            self._command = _Folded((width, ink), rows)
        return self._command.rows

    def _details(self, run: Run, width: int, ink: Ink) -> list[Row]:
        """What the model reads, folded, in its colours."""
        lines, more = _beginning(self._shown(run), EXPANDED_LINES)
        rows: list[Row] = []
        for line in lines:
            rows += _hung(terminal_segments(line, ink["muted"], ink["mark"]), width, ink)
        rows += _hung([Segment(f"… {more}, see Layer 2", ink["mark"])], width, ink) if more else []
        return rows

    def _shown(self, run: Run) -> str:
        return run.shown.text if run.shown else "\n".join(run.last_lines(EXPANDED_LINES))


def _beginning(text: str, lines: int) -> tuple[list[str], str]:
    """The first lines, and how much is left: `1,200 more lines`, or characters when a line is cut; empty for nothing."""
    found = text[:EXPANDED_CHARACTERS].split("\n")[:lines]
    end = sum(map(len, found)) + len(found) - 1
    if end == len(text):
        return found, ""
    if text[end] == "\n":
        return found, plural(text.count("\n", end), "more line")
    return found, plural(len(text) - end, "more character")


def _hung(found: list[Segment], width: int, ink: Ink) -> list[Row]:
    """One line below the row of a run, folded, with signs for its beginning and for what goes on."""
    signs = (Segment("  │ ", ink["muted"]), Segment("  ↳ ", ink["muted"]))
    return [[signs[index > 0], *row] for index, row in enumerate(fold(found, width - 4))]


def _clipped(line: str, width: int, ink: Ink) -> Row:
    """The beginning of a line of output in one row, with an ellipsis when cut."""
    row, *more = fold(terminal_segments(line, ink["muted"], ink["mark"]), width - 4)
    if more:
        row = [*fold(row, width - 5)[0], Segment("…", ink["muted"])]
    return [Segment("  │ ", ink["muted"]), *row]
