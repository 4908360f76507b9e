"""Lines of the screen with fixed cells: status, Cancel button, head of a run, tabs, queue, hints. Drawn without any layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agentclip.ui.actions import Place, bindings
from agentclip.ui.foreign import fit, one_line
from agentclip.ui.format import duration, plural, size
from agentclip.ui.layout import NAME, NO_RUN
from agentclip.ui.runs import Run, StageView
from agentclip.ui.themes import Ink
from agentclip.ui.wrap import Row

BOLD = Style(bold=True)
MIN_PART_CELLS = 6
MIN_COMMAND_CELLS = 12
"""Of a run's command, before its amounts."""


class Bar(Widget):
    """Rows of segments, made for the width there is; `show` draws them without asking anybody for room."""

    def __init__(self, ink: Ink, bar_id: str) -> None:
        super().__init__(id=bar_id)
        self.ink = ink
        self._make: Callable[[int], list[Row]] = _nothing
        self._rows: list[Row] = []
        self._width = -1
        """For which the rows were made."""

    def show(self, make: Callable[[int], list[Row]]) -> None:
        """Other rows, made for a width in cells; nothing happens when they are the same."""
        self._make = make
        rows, self._width = make(self.size.width), self.size.width
        if rows != self._rows:
            self._rows = rows
            self.refresh()

    def restyle(self, ink: Ink) -> None:
        """Another theme."""
        self.ink = ink
        self._width = -1
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.size.width
        if width != self._width:
            self._rows, self._width = self._make(width), width
        row = self._rows[y] if y < len(self._rows) else []
        return Strip(row).crop_extend(0, width, None).apply_style(self.rich_style)


def _nothing(_width: int) -> list[Row]:
    return []


class Status(Struct, frozen=True):
    """What the status line says."""

    title: str
    model: str
    state: str
    """`running 00:12`."""
    busy: bool
    sandbox: str
    spent: str = ""
    """`ctx 14%  $0.04`; empty when nothing is known."""


class StatusLine(Bar):
    """Names on the left, what goes on on the right."""

    def tell(self, status: Status) -> None:
        """Another state. The right side is never cut; the title is cut first, then the model; the rest stands whole or not."""
        self.show(partial(self._said, status))

    def _said(self, status: Status, width: int) -> list[Row]:
        right = f" {status.state}  {one_line(status.sandbox)} "
        room = width - cell_len(right)
        name = NAME if cell_len(NAME) <= room else ""
        room = max(0, room - cell_len(name))
        spent = f"  {status.spent}" if status.spent else ""
        spent = spent if cell_len(spent) <= room else ""
        room -= cell_len(spent)
        model = _part(status.model, room // 2)
        title = _part(status.title, room - cell_len(model))
        gap = " " * (room - cell_len(title) - cell_len(model))
        state = self.ink["running" if status.busy else "muted"] + BOLD
        return [
            [
                Segment(name, self.ink["heading"] + BOLD),
                Segment(title, self.ink["assistant"]),
                Segment(model, self.ink["muted"]),
                Segment(spent, self.ink["assistant"]),
                Segment(gap),
                Segment(f" {status.state} ", state),
                Segment(f" {one_line(status.sandbox)} ", self.ink["not-sent"]),
            ]
        ]


def _part(text: str, room: int) -> str:
    """Two blanks and as much of it as there is room for; nothing when not even its beginning can be seen."""
    return fit("  " + one_line(text), room) if text and room >= MIN_PART_CELLS else ""


class CancelButton(Bar, can_focus=True):
    """The Cancel button: always there, always says what pressing it does now."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Place.BUTTON)

    key = "Esc"
    """Said on it."""

    class Pressed(Message):
        """Enter, blank or the mouse."""

    def tell(self, *, busy: bool, stopping: bool, killing: bool) -> None:
        """The state of its ladder."""
        if killing:
            text, color = "[ Killing…     ]", "exit-fail"
        elif stopping:
            text, color = self._button("Stopping"), "stopping"
        else:
            text, color = self._button("Cancel"), "running" if busy else "muted"
        look = BOLD if busy or stopping else Style()
        if self.has_focus:
            look += Style(reverse=True)
        self.show(lambda width: [[Segment(" " * max(0, width - cell_len(text))), Segment(text, self.ink[color] + look)]])

    def _button(self, word: str) -> str:
        """Always as wide, whatever the key is called."""
        room = 12 - len(word)
        return f"[ {word}{self.key[: room - 1]:>{room}} ]"

    def action_press(self) -> None:
        """Enter or blank."""
        self.post_message(self.Pressed())

    def on_click(self, event: events.Click) -> None:
        """The mouse."""
        event.stop()
        self.post_message(self.Pressed())


class RunHead(Bar):
    """Which run the panes show: command, time, amount; and its stages, live."""

    def tell(self, run: Run | None, now_s: float, *, pinned: bool) -> None:
        """Another run or another moment of it."""
        self.show(partial(self._said, run, now_s, pinned))

    def _said(self, run: Run | None, now_s: float, pinned: bool, width: int) -> list[Row]:  # noqa: FBT001  a part of `show`
        if run is None:
            return [[Segment(NO_RUN, self.ink["muted"])], []]
        words, color = run.outcome()
        spent = run.finished.result.duration_s if run.finished else max(0.0, now_s - run.started_s)
        took = duration(spent) if run.finished else f"{int(spent)}s"
        amount = (plural(run.rows.stdout.lines, "line"), size(run.stdout_size))
        left, text = f" Run {run.number} · ", one_line(run.command)
        for said in ((took, *amount), (took, amount[0]), (took,), ()):
            right = " · ".join(("", *said, *(("pinned",) if pinned else ()))) + " "
            room = max(0, width - cell_len(left) - cell_len(right) - cell_len(words) - 3)
            if room >= min(cell_len(text), MIN_COMMAND_CELLS):
                break
        command = fit(text, room)
        head = [
            Segment(left, self.ink["muted"]),
            Segment(command, self.ink["assistant"] + BOLD),
            Segment(" · ", self.ink["muted"]),
            Segment(words, self.ink[color] + BOLD),
            Segment(right, self.ink["muted"]),
        ]
        return [head, self._stages(run.stages, width)]

    def _stages(self, stages: Sequence[StageView], width: int) -> Row:
        """As many as there is room for, and how many more there are."""
        row = [Segment(" stages ", self.ink["muted"])]
        room = width - row[0].cell_length
        for before, stage in enumerate(stages):
            sign = {"|": " -> ", "": ""}.get(stage.sign, f" {stage.sign} ")
            name = fit(one_line(stage.text).split(" ")[0], 24)
            found = [Segment(sign, self.ink["muted"]), Segment(name, self.ink["assistant"]), self._stage(stage)]
            room -= sum(segment.cell_length for segment in found)
            behind = len(stages) - before - 1
            if room < (cell_len(_more(behind)) if behind else 0):
                return [*row, Segment(_more(behind + 1), self.ink["mark"])]
            row += found
        return row

    def _stage(self, stage: StageView) -> Segment:
        if stage.running:
            moved = f" {size(stage.bytes_out)}" if stage.bytes_out else f" < {size(stage.bytes_in)}" if stage.bytes_in else ""
            return Segment(f" …{moved}", self.ink["running"] + BOLD)
        if stage.status is None:
            return Segment(" ·", self.ink["muted"])
        words = f" {stage.status}"
        if stage.bytes_out is not None:
            words += f" {size(stage.bytes_out)}"
        return Segment(words, self.ink["exit-ok" if stage.status == 0 else "exit-fail"] + BOLD)


def _more(count: int) -> str:
    return f" … +{count}"


class Tabs(Bar):
    """Names of panes of which only one is in view."""

    class Chosen(Message):
        """A click on a name."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self, ink: Ink, bar_id: str) -> None:
        super().__init__(ink, bar_id)
        self._names: tuple[tuple[str, str], ...] = ()

    def tell(self, names: tuple[tuple[str, str], ...], current: str) -> None:
        """(id, name) of each pane, and which is in view."""
        self._names = names
        self.show(lambda _width: [self._row(current)])

    def _row(self, current: str) -> Row:
        row: Row = []
        for pane, name in self._names:
            chosen = pane == current
            style = self.ink["user"] + Style(reverse=True, bold=True) if chosen else self.ink["muted"]
            row += [Segment(f"[{name}]" if chosen else f" {name} ", style), Segment(" ")]
        return row

    def on_click(self, event: events.Click) -> None:
        """Which name is there."""
        column = event.get_content_offset_capture(self).x
        for pane, name in self._names:
            if column < len(name) + 2:
                self.post_message(self.Chosen(pane))
                return
            column -= len(name) + 3


class TextLine(Bar):
    """One line of muted text: the queue, the hints."""

    def tell(self, text: str, color: str = "muted") -> None:
        """Another text."""
        line = " " + one_line(text)
        self.show(lambda width: [[Segment(fit(line, width), self.ink[color])]])
