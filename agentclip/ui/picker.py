"""A list to choose from, over everything: rows in, the chosen value out.

    rows = [Row("nord", value="nord", detail="dark"), Row("light", value="light", detail="light", current=True)]
    app.push_screen(Picker(rows, Look(title="Themes", on_highlight=wear)), chosen)

The callback gets the value of the chosen row, or None when the person pressed Esc: what `on_highlight` tried out is taken back
there. Typing filters (every word must stand somewhere in a row; else its letters in order in a title), Up, Down, PgUp, PgDn,
Home, End and the wheel move, Enter and a second click choose. 10,000 rows are no effort. Rows may hold foreign text.
Must not know: what is chosen here. `Confirm` asks yes or no, `Ask` for a line of text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingsMap, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from agentclip.errors import AgentclipError
from agentclip.ui.actions import Place, bindings
from agentclip.ui.foreign import one_line, visible
from agentclip.ui.format import plural
from agentclip.ui.keymap import rebind
from agentclip.ui.modal import Modal
from agentclip.ui.picker_rows import PickerRows, Row

__all__ = ["Ask", "Confirm", "Look", "Picker", "Row"]

T = TypeVar("T")
DESCRIBE_AFTER_S = 0.08
"""The cursor must rest that long on a row before it is described."""


class Look(Struct, Generic[T], frozen=True):
    """What a picker says and does beside its rows."""

    title: str
    empty: str = "nothing to choose here"
    """Stands in place of rows when there are none: say what to do."""
    hint: str = ""
    """More keys, for the last line."""
    on_highlight: Callable[[T], None] | None = None
    """Called when the cursor comes to a row: a preview on the screen itself. Take it back when None is chosen."""
    describe: Callable[[T], str] | None = None
    """A text about a row for the pane beside the list; runs on a thread, once the cursor rests. May raise AgentclipError."""
    typed: Callable[[str], Row[T] | None] | None = None
    """A row made of what was typed, offered when nothing fits; None for none."""


class FilterBox(Input):
    """Where one types; its keys are those of the list."""

    def __init__(self, place: Place, placeholder: str) -> None:
        super().__init__(placeholder=placeholder, id="picker-filter", compact=True, select_on_focus=False)
        self.cursor_blink = False
        own = BindingsMap([each for part in dict.fromkeys((Place.LIST, place)) for each in bindings(part)])
        self._bindings.key_to_bindings.update(own.key_to_bindings)

    def on_mount(self) -> None:
        """The person's keys."""
        rebind(self._bindings, self.app)


class Picker(Modal[T]):
    """The list. Subclasses bring more keys by a place of their own."""

    AUTO_FOCUS = "#picker-filter"
    PLACE: ClassVar[Place] = Place.LIST

    def __init__(self, rows: Sequence[Row[T]], look: Look[T]) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (70, "-middle"), (110, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-high")]
        self.look = look
        self._given = tuple(rows)
        self.rows: PickerRows[T] = PickerRows(self._given)
        self._box = FilterBox(self.PLACE, "type to search")
        self._title = Static(id="picker-title")
        self._empty = Static(id="picker-empty")
        self._text = Static(id="picker-text")
        self._scroller = VerticalScroll(id="picker-about", can_focus=False)
        self._hint = Static(id="picker-hint")
        self._said = ""
        self._told: object = None
        """The row that was highlighted last."""

    def compose(self) -> ComposeResult:
        """Title, box, rows, what is said of a row, keys."""
        described = "-described" if self.look.describe is not None else ""
        with Container(id="picker", classes=described):
            yield self._title
            yield self._box
            with Container(id="picker-body", classes=described):
                yield self.rows
                yield self._empty
                if self.look.describe is not None:
                    with self._scroller:
                        yield self._text
            yield self._hint

    def on_mount(self) -> None:
        """The cursor begins at what is in use."""
        current = next((row for row in self._given if row.current), None)
        if current is not None:
            self.rows.go_to(current.value)
        self._moved()

    def fill(self, rows: Sequence[Row[T]], look: Look[T] | None = None) -> None:
        """Other rows, and perhaps other words around them."""
        self._given = tuple(rows)
        self.look = look or self.look
        self._told = None
        self.rows.fill(self._given)
        self._say()

    def say(self, text: str) -> None:
        """A line in place of the keys, until there is another one; empty for the keys again."""
        self._said = text
        self._say()

    @property
    def chosen(self) -> T | None:
        """The value under the cursor."""
        self._sync()
        return None if self.rows.row is None else self.rows.row.value

    def action_choose(self) -> None:
        """Enter: nothing happens where nothing fits."""
        self._sync()
        if self.rows.row is not None:
            self.dismiss(self.rows.row.value)

    def action_move(self, rows: int) -> None:
        """Up and Down."""
        self._sync()
        self.rows.move(rows)

    def action_page(self, pages: int) -> None:
        """PgUp and PgDn."""
        self._sync()
        self.rows.page(pages)

    def action_end(self, direction: int) -> None:
        """Home and End."""
        self._sync()
        self.rows.end(direction)

    def action_about(self, pages: int) -> None:
        """Shift+PgUp and Shift+PgDn: what is said of the row."""
        if self.look.describe is not None:
            self._scroller.scroll_relative(y=pages * max(1, self._scroller.size.height - 1), animate=False)

    def on_picker_rows_clicked(self) -> None:
        """The mouse."""
        self.action_choose()

    def on_input_changed(self) -> None:
        """Typing."""
        self._sync()

    def _sync(self) -> None:
        """Bring the rows in line with the box now: a key that follows a letter acts on what the letter left."""
        query = self._box.value
        if query != self.rows.searched:
            self.rows.search(query, self.look.typed(query.strip()) if self.look.typed and query.strip() else None)

    @on(PickerRows.Moved)
    def _moved(self) -> None:
        row = self.rows.row
        self._say()
        if row is None or row.value == self._told:
            return
        self._told = row.value
        if self.look.on_highlight is not None:
            self.look.on_highlight(row.value)
        if self.look.describe is not None:
            self.run_worker(self._describe(row.value), group="describe", exclusive=True)

    async def _describe(self, value: T) -> None:
        assert self.look.describe is not None
        await asyncio.sleep(DESCRIBE_AFTER_S)
        try:
            text = await asyncio.to_thread(self.look.describe, value)
        except (AgentclipError, OSError) as error:
            text = str(error)
        self._text.update(Content("\n".join(map(visible, text.split("\n")))))
        self._scroller.scroll_home(animate=False)

    def _say(self) -> None:
        at, fitting, rows = self.rows.amount
        count = f"{at} of {fitting:,}" if fitting == rows else f"{at} of {fitting:,}, {plural(rows, 'row')} in all"
        self._title.update(Content(one_line(f"{self.look.title}  ({count})")), layout=False)
        hint = one_line(self._said) or f"Enter choose · Esc close{' · ' if self.look.hint else ''}{self.look.hint}"
        self._hint.set_class(bool(self._said), "-said")
        self._hint.update(Content(hint), layout=False)
        if self.rows.display != bool(fitting):
            self.rows.display, self._empty.display = bool(fitting), not fitting
        if not fitting:
            self._empty.update(Content(self.look.empty if not rows else "nothing fits; Backspace takes a letter back"))


class Confirm(Modal[bool]):
    """A question: True only after `y`."""

    BINDINGS: ClassVar[list[BindingType]] = [("y", "answer(True)"), ("n,enter,q", "answer(False)")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question and its keys."""
        with Container(id="question"):
            yield Static(Content("\n".join(map(visible, self._question.split("\n")))))
            yield Static(Content("y yes · n no"), id="question-hint")

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001  Textual gives parameters by position
        """A key."""
        self.dismiss(yes)


class Ask(Modal[str]):
    """A line of text: what stands in the box at Enter, None after Esc."""

    AUTO_FOCUS = "#question-box"

    def __init__(self, question: str, text: str = "") -> None:
        super().__init__()
        self._question = question
        self._text = text

    def compose(self) -> ComposeResult:
        """The question and the box."""
        with Container(id="question"):
            yield Static(Content(one_line(self._question)))
            yield Input(one_line(self._text), id="question-box", compact=True, select_on_focus=False)
            yield Static(Content("Enter take it · Esc close"), id="question-hint")

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Enter."""
        self.dismiss(message.value)
