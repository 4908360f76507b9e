"""Finding: Ctrl+F, `/`, n, N, and the box in which the words are typed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.actions import SkipAction
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker, get_current_worker

from agentclip.ui.agent_api import AgentApi
from agentclip.ui.find import Finding, Search, Words
from agentclip.ui.find_bar import BOX
from agentclip.ui.layout import LABELS, PaneName
from agentclip.ui.options import ScreenOptions
from agentclip.ui.pane import Pane
from agentclip.ui.screen_app import ScreenApp

if TYPE_CHECKING:
    from textual.widgets import Input

LOOK_S = 0.1
"""How often one looks whether a thread has found something."""
ENDS = " · n, N: next, previous · Esc closes"


class FindActions(ScreenApp):
    """One search at a time. As long as its line is in view its hits are marked, and Esc closes it instead of cancelling."""

    def __init__(self, agent: AgentApi, options: ScreenOptions) -> None:
        super().__init__(agent, options)
        self._finding: Finding | None = None
        self._last_pane: Pane = self.board.chat
        self._find_worker: Worker[None] | None = None
        self._find_worker_for: Search | None = None
        self._find_timer: Timer | None = None
        self._focus_before: Widget | None = None
        self._hand_back = False
        """Enter gives the focus to the pane, as in a pager."""

    @property
    def quiet(self) -> bool:
        """Nothing is looked for either."""
        return super().quiet and not self._looking

    @property
    def _looking(self) -> bool:
        finding = self._finding
        return finding is not None and (finding.waiting or self._working)

    @property
    def _working(self) -> bool:
        return self._find_worker is not None and not self._find_worker.is_finished

    @property
    def last_pane(self) -> Pane:
        """The pane that has the focus, or had it last."""
        if isinstance(self.focused, Pane):
            self._last_pane = self.focused
        return self._last_pane

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Remember the pane."""
        if isinstance(event.widget, Pane):
            self._last_pane = event.widget

    def action_find(self, text: str = "") -> None:
        """Ctrl+F: the box, for the pane that has the focus or had it last; Enter stays in the box, as in a browser."""
        reachable = [self.board.panes[name] for name in self.board.arrangement.reachable]
        pane = self.last_pane if self.last_pane in reachable else self.board.chat
        self._open_find(pane, text, hand_back=False)

    def action_find_here(self) -> None:
        """`/` in a pane: Enter goes back to the pane, where n and N go on, as in a pager."""
        self._open_find(self.last_pane, "", hand_back=True)

    def action_find_next(self, step: int) -> None:
        """The next hit in the pane that has the focus, or the one before."""
        words = self.board.find.box.value
        if not words:
            self.action_find_here()
            return
        self._show_find(self.last_pane)
        self._look_for(words)
        self._find_go(step)

    def close_open(self) -> bool:
        """Esc on the line of a search."""
        bar = self.board.find
        if not bar.opened:
            return super().close_open()
        self._end_finding()
        bar.opened = False
        if self.focused is bar.box and self._focus_before is not None:
            self.set_focus(self._focus_before)
        self.lay_out_now()
        return True

    def on_input_changed(self, message: Input.Changed) -> None:
        """Other words."""
        if message.input.id == BOX and self.board.find.opened:
            self._look_for(message.value)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Enter in the box."""
        if message.input.id != BOX:
            return
        self._look_for(message.value)
        if self._finding is None:
            self.close_open()
            return
        self._find_go(1)
        if self._hand_back:
            self.set_focus(self.last_pane)

    def _open_find(self, pane: Pane, text: str, *, hand_back: bool) -> None:
        if len(self.screen_stack) > 1:
            raise SkipAction  # what lies on top has its own meaning of the key
        bar = self.board.find
        if self.focused is not bar.box:
            self._focus_before = self.focused
        self._last_pane, self._hand_back = pane, hand_back
        self._show_find(pane)
        self.set_focus(bar.box)
        if text:
            bar.box.value = text
            bar.box.cursor_position = len(text)
        self._look_for(bar.box.value)
        if text:
            self._find_go(1)

    def _show_find(self, pane: Pane) -> None:
        bar = self.board.find
        name = PaneName(pane.id or "")
        self.bring(name)
        bar.name_pane(LABELS[name])
        if not bar.opened:
            bar.opened = True
            self.lay_out_now()

    def _look_for(self, text: str) -> None:
        """Other words, or another pane; nothing happens when both are the same."""
        finding, pane = self._finding, self.last_pane
        if finding is not None and finding.words.text == text and finding.pane is pane:
            return
        self._end_finding()
        if text:
            self._finding = Finding(pane, Words(text))
            pane.words = self._finding.words
            self._find_work()
        self._find_tell()

    def _find_go(self, step: int) -> None:
        if self._finding is not None:
            self._finding.ask(step)
            self._find_work()
            self._find_again()

    def _find_work(self) -> None:
        """See to it that somebody looks at what is not looked at yet."""
        finding = self._finding
        if finding is None or (self._working and self._find_worker_for is finding.search):
            return
        if finding.search.grow():
            self._find_worker_for = finding.search
            self._find_worker = self.run_worker(partial(_look, finding.search), group="find", exclusive=True, thread=True)
        if self._find_timer is None:
            self._find_timer = self.set_interval(LOOK_S, self._find_again)
        self._find_timer.resume()

    def _find_again(self) -> None:
        if self._finding is not None:
            self._finding.answer()
        self._find_tell()
        if not self._looking and self._find_timer is not None:
            self._find_timer.pause()

    def _find_tell(self) -> None:
        finding = self._finding
        self.board.find.tell(finding.said() + ENDS if finding else "words, Enter" + ENDS)

    def _end_finding(self) -> None:
        if self._find_worker is not None:
            self._find_worker.cancel()
        self._find_worker, self._find_worker_for, self._finding = None, None, None
        for pane in self.board.panes.values():
            if pane.words is not None:
                pane.words = None
                pane.refresh()


def _look(search: Search) -> None:
    worker = get_current_worker()
    search.look(lambda: worker.is_cancelled)
