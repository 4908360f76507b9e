"""What the keys of the panes ask for, and their messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentclip.ui.bars import Tabs
from agentclip.ui.layout import PaneName
from agentclip.ui.modelpane import ModelPane
from agentclip.ui.output_actions import OutputActions
from agentclip.ui.pane import Pane
from agentclip.ui.rawpane import RawPane
from agentclip.ui.transcript import Transcript


class PaneActions(OutputActions):
    """Panes: which is in view, which run they show, where they stand."""

    def on_tabs_chosen(self, message: Tabs.Chosen) -> None:
        """A name of a pane was clicked."""
        self.board.show(PaneName(message.pane))
        self.lay_out_now()

    def on_transcript_run_chosen(self, message: Transcript.RunChosen) -> None:
        """The first choice pins both panes, a second one expands the row."""
        run = self.board.run
        number = message.number if message.number is not None else run.number if run else None
        if number is None:
            return
        if number == self.board.pinned or message.number is None:
            row = self.state.row(number)
            row.expanded = not row.expanded
            self.state.touch(row)
        self.pin(number)

    def action_expand_all(self) -> None:
        """Every run in Chat with what the model reads of it; when all are expanded: none."""
        rows = [self.state.row(number) for number in self.state.numbers]
        expanded = not all(row.expanded for row in rows)
        for row in rows:
            if row.expanded != expanded:
                row.expanded = expanded
                self.state.touch(row)
        self.plan_frame()

    def on_raw_pane_jump(self, message: RawPane.Jump) -> None:
        """From a raw line to its place in what the model reads."""
        self.bring(PaneName.MODEL)
        self._when_laid_out(self.board.model, partial(self.board.model.go_to_line, message.text_line))

    def on_model_pane_jump(self, message: ModelPane.Jump) -> None:
        """From what the model reads to the raw line."""
        self.bring(PaneName.RAW)
        self._when_laid_out(self.board.raw, partial(self.board.raw.go_to_line, message.raw_line))

    def _when_laid_out(self, pane: Pane, go: Callable[[], None]) -> None:
        """Go somewhere in a pane that may just have come into view: before it has a width its lines are folded otherwise."""
        if pane.region:
            pane.rows_changed()
            go()
        elif pane.display:
            self.call_after_refresh(self._when_laid_out, pane, go)

    def action_split(self) -> None:
        """F2."""
        self.board.split = self.board.split.next()
        self.lay_out_now()

    def action_next_pane(self) -> None:
        """F6: prompt, Layer 1, Layer 2, Chat."""
        order = list(self.board.reachable())
        at = order.index(self.focused) if self.focused in order else -1
        target = order[(at + 1) % len(order)]
        if isinstance(target, Pane):
            self.bring(PaneName(target.id or ""))
        self.set_focus(target)

    def action_maximise(self) -> None:
        """F12: the pane that has the focus, Chat from the prompt; again: back."""
        board = self.board
        focused = next((name for name, pane in board.panes.items() if pane.has_focus), PaneName.CHAT)
        board.maximised = None if board.maximised is not None else focused
        self.lay_out_now()

    def action_run(self, step: int) -> None:
        """Alt+Up, Alt+Down: another run; behind the newest: follow again."""
        numbers = self.state.numbers
        if not numbers:
            return
        at = numbers.index(self.board.pinned) if self.board.pinned is not None else len(numbers)
        at = max(0, at + step)
        self.pin(numbers[at] if at < len(numbers) else None)

    def action_scroll(self, pages: int, *names: str) -> None:
        """Panes by pages, from the prompt."""
        for name in names:
            self.board.panes[PaneName(name)].page(pages)
