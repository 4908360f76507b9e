"""What is asked on the way to a first model: where, with which key, which one. Screens only; `model_search.py` has the order.

A key is typed or pasted unseen: nothing that is drawn, copied or told holds a character of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Sequence
from typing import Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Input, Static

from agentclip.errors import AgentclipError
from agentclip.ui.foreign import one_line, visible
from agentclip.ui.modal import Modal
from agentclip.ui.model_picker import as_typed
from agentclip.ui.picker import Look, Picker, Row
from agentclip.ui.setup_api import Place, Setup
from agentclip.ui.shelves import OfferedModel

T = TypeVar("T")

DEMO = Place("demo", "Demo", "")
DEMO_DETAIL = "a recording whose commands really run; no key"
TITLE = "Where shall the model be?"
SKIP = "without a model ! lines still run"


class PlacePicker(Picker[str]):
    """The places, and the demo. Local ones are asked whether they answer, behind the picture."""

    def __init__(self, setup: Setup, places: Sequence[Place], said: str = "") -> None:
        self._setup = setup
        self._places = {place.id: place for place in (*places, DEMO)}
        super().__init__(self._rows(None), Look(TITLE, hint=SKIP))
        self._first_words = said

    def on_mount(self) -> None:
        """Ask behind the picture."""
        super().on_mount()
        self.say(self._first_words)
        self.run_worker(self._look_around(), group="places")

    async def _look_around(self) -> None:
        self.fill(self._rows(await self._setup.answering()))

    def _rows(self, answering: Collection[str] | None) -> list[Row[str]]:
        """What is ready comes first, then what needs something; None while nobody has answered yet."""
        places = sorted(self._places.values(), key=lambda place: _rank(place, answering or ()))
        return [Row(place.name, place.id, _detail(place, answering), words=place.key_variable) for place in places]


def _rank(place: Place, answering: Collection[str]) -> int:
    if place is DEMO:
        return 2
    if place.is_local:
        return 0 if place.id in answering else 4
    return 1 if place.key_source else 3


def _detail(place: Place, answering: Collection[str] | None) -> str:
    if place is DEMO:
        return DEMO_DETAIL
    if place.is_other:
        return "any OpenAI-compatible server"
    if place.is_local:
        state = "asking…" if answering is None else "answers now" if place.id in answering else "does not answer"
        return f"{state}  {place.api_base}"
    if place.key_source == "environment":
        return f"key found: {place.key_variable}"
    return f"key stored: {place.key_variable}" if place.key_source else f"needs a key: {place.key_variable}"


class HiddenInput(Input):
    """Takes a key; never gives it to the clipboard."""

    def __init__(self) -> None:
        super().__init__(password=True, id="question-box", compact=True, select_on_focus=False)

    @property
    def selected_text(self) -> str:
        """Nothing, to whoever copies."""
        return ""


class AskKey(Modal[str]):
    """A line that is not shown: what was typed at Enter, None after Esc."""

    AUTO_FOCUS = "#question-box"

    def __init__(self, question: str, more: str) -> None:
        super().__init__()
        self._question = question
        self._more = more
        self._box = HiddenInput()

    def compose(self) -> ComposeResult:
        """The question and the box."""
        with Container(id="question"):
            yield Static(Content(one_line(self._question)))
            yield Static(Content("\n".join(map(visible, self._more.split("\n")))), classes="muted")
            yield self._box
            yield Static(Content("typed or pasted, never shown · Enter take it · Esc back"), id="question-hint")

    def on_input_changed(self, message: Input.Changed) -> None:
        """What is typed stays between the box and here."""
        message.stop()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Enter."""
        message.stop()
        if message.value.strip():
            self.dismiss(message.value)

    def on_paste(self, event: events.Paste) -> None:
        """Pasted before the box had the focus."""
        if event.text.strip():
            self._box.value = event.text.split()[0]
        event.stop()


class Waiting(Modal[T | AgentclipError], Generic[T]):
    """Says what is waited for; gives what comes of it, an error too, and None after Esc, which ends the waiting."""

    def __init__(self, what: str, work: Awaitable[T]) -> None:
        super().__init__()
        self._what = what
        self._work = work

    def compose(self) -> ComposeResult:
        """One line."""
        with Container(id="question"):
            yield Static(Content(one_line(self._what)))
            yield Static(Content("Esc give up"), id="question-hint")

    def on_mount(self) -> None:
        """Work behind the picture; closing this screen cancels it."""
        self.run_worker(self._wait(), group="waiting")

    async def _wait(self) -> None:
        try:
            result: T | AgentclipError = await self._work
        except AgentclipError as error:
            result = error
        self.dismiss(result)


class FirstModelPicker(Picker[str]):
    """What a place offers, or any name that is typed."""

    def __init__(self, place: Place, models: Sequence[OfferedModel], said: str = "") -> None:
        rows = [Row(each.name, each.name, each.detail, current=each.name == place.usual_model) for each in models]
        if place.usual_model and not rows:
            rows.append(Row(place.usual_model, place.usual_model, "the usual one", current=True))
        look = Look(f"Models of {place.name}", empty="type the name of a model", typed=as_typed, hint="or type a name")
        super().__init__(rows, look)
        self._first_words = said

    def on_mount(self) -> None:
        """Say what went wrong before."""
        super().on_mount()
        self.say(self._first_words)
