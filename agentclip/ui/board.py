"""All widgets of the screen, what of them is in view, and what they say of the session.

In: the session's state, what the agent says of itself, a size. Out: a drawn screen. Must not know: keys; it asks nothing of the
agent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from textual.widget import Widget

from agentclip.results import Limits
from agentclip.ui.agent_api import AgentApi
from agentclip.ui.bars import Bar, CancelButton, RunHead, Status, StatusLine, Tabs, TextLine
from agentclip.ui.find_bar import FindBar
from agentclip.ui.format import clock, plural, spending
from agentclip.ui.keymap import KeyMap, hints
from agentclip.ui.layout import LABELS, Arrangement, PaneName, Split, arrange
from agentclip.ui.modelpane import ModelPane
from agentclip.ui.pane import Pane
from agentclip.ui.popup import Popup
from agentclip.ui.prompt import Prompt
from agentclip.ui.rawpane import RawPane
from agentclip.ui.runs import Run
from agentclip.ui.session_state import Phase, SessionState
from agentclip.ui.themes import Ink
from agentclip.ui.transcript import Transcript

FRAMED = "-framed"


class AgentView(Struct, frozen=True):
    """What the agent says of itself at one moment."""

    title: str
    model: str
    sandbox: str
    running: bool
    stopping: bool
    killing: bool
    queue: tuple[str, ...]
    cost_usd: float | None
    context_window: int | None

    @classmethod
    def of(cls, agent: AgentApi, sandbox: str, *, killing: bool, costed: bool) -> AgentView:
        """Now. Of a long session the agent first has to read what it cost: not unless `costed`."""
        return cls(
            title=agent.title,
            model=agent.model_name,
            sandbox=sandbox,
            running=agent.running,
            stopping=agent.stopping,
            killing=killing,
            queue=agent.queue,
            cost_usd=agent.usage.cost_usd if costed else None,
            context_window=agent.context_window,
        )


class Board:
    """The widgets and the choices of the person about what to see."""

    def __init__(self, state: SessionState, ink: Ink, limits: Limits, unqueue: Callable[[], str | None]) -> None:
        self._state = state
        self.chat = Transcript(state, ink)
        self.raw = RawPane(ink)
        self.model = ModelPane(ink, limits)
        self.popup = Popup()
        self.prompt = Prompt(unqueue, self.popup)
        self.status = StatusLine(ink, "status")
        self.cancel = CancelButton(ink, "cancel")
        self.head = RunHead(ink, "head")
        self.tabs = Tabs(ink, "tabs")
        self.find = FindBar(ink)
        self.queue = TextLine(ink, "queue")
        self.hints = TextLine(ink, "hints")
        self.small = TextLine(ink, "small")
        for widget in (self.chat, self.raw, self.model, self.prompt):
            widget.add_class(FRAMED)  # as most terminals have room for: before the style sheet is looked at, it costs nothing
        self.arrangement = Arrangement()
        self.split = Split.BOTH
        self.tab = PaneName.CHAT
        self.maximised: PaneName | None = None
        self.pinned: int | None = None
        """Number of the run both panes stay at; None to follow the newest."""
        self.hint = ""
        """Said instead of the usual hints; empty for those."""
        self._hints = hints(KeyMap())

    @property
    def panes(self) -> dict[PaneName, Pane]:
        """Panes by name."""
        return {PaneName.CHAT: self.chat, PaneName.RAW: self.raw, PaneName.MODEL: self.model}

    @property
    def run(self) -> Run | None:
        """The run both panes show."""
        return self._state.runs[self.pinned] if self.pinned is not None else self._state.newest

    def use_keys(self, keymap: KeyMap) -> None:
        """The person's keys, in what is said of them too."""
        self._hints = hints(keymap)
        self.cancel.key = keymap.named("run.escape", first=True) or keymap.named("run.cancel", first=True)
        self.prompt.use_keys(keymap)
        for pane in self.panes.values():
            pane.use_keys(keymap)

    def restyle(self, ink: Ink) -> None:
        """Another theme."""
        bars: tuple[Bar, ...] = (
            self.status,
            self.cancel,
            self.head,
            self.tabs,
            self.queue,
            self.hints,
            self.small,
            self.find.said,
        )
        for bar in bars:
            bar.restyle(ink)
        for pane in self.panes.values():
            pane.restyle(ink)

    def lay_out(self, size: tuple[int, int], right: Widget) -> None:
        """Display what fits."""
        found = self.arrangement = arrange(size, self.split, self.tab, self.maximised)
        for name, pane in self.panes.items():
            pane.display = name in found.panes
            pane.set_class(not found.low, FRAMED)
        right.display = found.right
        self.head.display = found.right
        self.tabs.display = bool(found.tabs)
        self.small.display = found.too_small
        self.find.display = self.find.opened and not found.too_small
        self.prompt.display = self.status.display = self.cancel.display = not found.too_small
        self.prompt.set_class(not found.low, FRAMED)
        self.hints.display = not found.low and not found.too_small

    def show(self, name: PaneName) -> None:
        """Make a pane the one in view where panes take turns."""
        self.tab = name
        if self.maximised is not None:
            self.maximised = name

    def hidden(self, widget: Widget | None) -> PaneName | None:
        """The name of a pane that is out of view."""
        return next((name for name, pane in self.panes.items() if pane is widget and not pane.display), None)

    def instead_of(self, widget: Widget | None) -> Widget:
        """Who gets the focus when it had it and is out of view: for a pane the one in view, and keys of panes stay there."""
        in_view = [self.panes[name] for name in (self.tab, *self.panes) if self.panes[name].display]
        return in_view[0] if self.hidden(widget) and in_view else self.prompt

    def reachable(self) -> Iterator[Widget]:
        """What F6 goes through: the prompt, the layers, Chat."""
        yield self.prompt
        names = self.arrangement.reachable
        for name in (*names[1:], *names[:1]):
            yield self.panes[name]

    def draw(self, agent: AgentView, now_s: float) -> None:
        """Everything that may have changed; each widget draws only what did."""
        self.chat.sync()
        run = self.run
        if run is not self.raw.run:
            self.raw.show(run)
        elif run is not None and (run.finished is None or not run.rows.complete or self.raw.stale):
            self.raw.grew()
        if run is not self.model.run or self.model.stale:
            self.model.show(run)
        self.head.tell(run, now_s, pinned=self.pinned is not None)
        self._tell(agent, now_s)

    def begin(self, agent: AgentView, now_s: float) -> None:
        """The lines around the panes, before anything has a size; what is in the panes is drawn when they have one."""
        if self.run is None:
            self.head.tell(None, now_s, pinned=False)
        self._tell(agent, now_s)

    def _tell(self, agent: AgentView, now_s: float) -> None:
        state = self._said(agent, now_s)
        busy = agent.running or agent.stopping
        spent = spending(self._state.context_tokens, agent.context_window, agent.cost_usd)
        self.status.tell(Status(agent.title, agent.model, state, busy, agent.sandbox, spent))
        self.cancel.tell(busy=busy, stopping=agent.stopping, killing=agent.killing)
        names = tuple((name.value, LABELS[name]) for name in self.arrangement.tabs)
        current = next(
            (name.value for name in self.arrangement.tabs if name in self.arrangement.panes and name.value == self.tab), ""
        )
        self.tabs.tell(
            names, current or next((name.value for name in self.arrangement.tabs if name in self.arrangement.panes), "")
        )
        self.queue.display = bool(agent.queue) and not self.arrangement.too_small
        if agent.queue:
            self.queue.tell(
                f"{len(agent.queue)} queued: "
                + " · ".join(f'"{entry}"' for entry in agent.queue)
                + "  (Up edits the last, /queue all)"
            )
        self.hints.tell(self.hint or self._hints, "not-sent" if self.hint else "muted")
        self.small.tell("terminal too small")

    def _said(self, agent: AgentView, now_s: float) -> str:
        state = self._state
        spent = clock(now_s - state.phase_since_s)
        if agent.stopping:
            return f"{'killing' if agent.killing else 'stopping'} {spent}"
        if not agent.running:
            return "idle"
        if state.phase is Phase.WAITING:
            return f"waiting {plural(max(0, round(state.wait_s - (now_s - state.phase_since_s))), 'second')}"
        return f"{Phase.THINKING if state.phase is Phase.IDLE else state.phase} {spent}"
