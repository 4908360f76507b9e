"""What one does with what a pane shows: copy it, open it in the pager, run its command again."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from agentclip.errors import ConfigError
from agentclip.events import Severity
from agentclip.ui.find_actions import FindActions
from agentclip.ui.layout import PaneName
from agentclip.ui.lending import LendingApp
from agentclip.ui.pager import pager_words, reading
from agentclip.ui.pane import Pane
from agentclip.ui.runs import Run
from agentclip.ui.transcript_items import RunItem


class OutputActions(FindActions, LendingApp):
    """Of the pane that has the focus, or had it last."""

    def action_copy(self) -> None:
        """What is selected, else what is pointed at."""
        selected = self.screen.get_selected_text()
        text, name = (selected, "") if selected else self.last_pane.pointed_text()
        if not text:
            self.say("nothing to copy here")
            return
        self.copy_out(text, name)
        self.screen.clear_selection()

    def action_open_output(self) -> None:
        """The whole of it in $PAGER."""
        found = self._whole_of(self.last_pane)
        if not found:
            self.say("nothing to open here yet")
            return
        try:
            words = pager_words(os.environ)
        except ConfigError as error:
            self.complain(str(error))
            return
        self.begin_lending(partial(self._read_in_pager, words, found))

    def action_wrap(self) -> None:
        """Long lines of Layer 1 folded, or cut at the right."""
        self.bring(PaneName.RAW)
        self.say("long lines are folded" if self.board.raw.toggle_wrap() else "long lines are cut; Left and Right move")

    def action_run_again(self) -> None:
        """The command of the run once more, as a line of the person: through both layers, without the model."""
        run = self._run_meant()
        if run is None:
            self.say("no run yet")
            return
        self.agent.shell(run.command)
        self.say(f"run {run.number} again: {run.command}")

    def complain(self, text: str) -> None:
        """What a person asked for and cannot have."""
        self.state.say(text, Severity.ERROR)
        self.plan_frame()

    def _run_meant(self) -> Run | None:
        item = self.board.chat.pointed_item if self.last_pane is self.board.chat else None
        return item.run if isinstance(item, RunItem) else self.board.run

    def _whole_of(self, pane: Pane) -> Sequence[Path] | str:
        """Spool files, or a text."""
        board = self.board
        if pane is board.model:
            return board.model.run.shown.text if board.model.run and board.model.run.shown else ""
        item = board.chat.pointed_item if pane is board.chat else None
        if item is not None and not isinstance(item, RunItem):
            return item.source
        run = item.run if isinstance(item, RunItem) else board.run
        return [Path(path) for path, size in run.sizes.values() if size] if run else ""

    async def _read_in_pager(self, words: Sequence[str], found: Sequence[Path] | str) -> None:
        with tempfile.TemporaryDirectory(prefix="agentclip-") as name:
            folder = Path(name)
            try:
                if isinstance(found, str):
                    text = folder / "text"
                    text.write_bytes(found.encode("utf-8", "replace"))
                    found = [text]
                argv = await asyncio.to_thread(reading, words, found, folder)
                status = await self.lend_terminal(argv)
            except OSError as error:
                self.complain(f"{words[0]}: {error.strerror}")
                return
        if status:
            self.say(f"{words[0]}: exit {status}")
