"""What lies over the screen for a moment: help, palette, pickers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentclip.ui.actions import OVER_LISTS, Place
from agentclip.ui.layout import PaneName
from agentclip.ui.prompt import Prompt
from agentclip.ui.screen_app import ScreenApp

if TYPE_CHECKING:
    from agentclip.ui.palette import Entry

_PANES = {Place.CHAT: PaneName.CHAT, Place.RAW: PaneName.RAW, Place.MODEL: PaneName.MODEL}


class ChoiceActions(ScreenApp):
    """Choices of the person that are not about panes or the prompt."""

    recent: tuple[str, ...] = ()
    """Ids of what was chosen in the palette, newest first."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """At the end no key does anything; while something lies over the screen, those of what lies below it do not."""
        if self._ended or (len(self.screen_stack) > 1 and f"app.{action}" not in OVER_LISTS):
            return False
        return super().check_action(action, parameters)

    def action_help(self) -> None:
        """F1: what works where the focus is comes first."""
        from agentclip.ui.help_screen import HelpScreen  # noqa: PLC0415  registered deferred import
        from agentclip.ui.picker import Picker  # noqa: PLC0415  registered deferred import

        if len(self.screen_stack) == 1:
            self.push_screen(HelpScreen(self.keymap, self._places()))
        elif isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            place = self.screen.PLACE if isinstance(self.screen, Picker) else Place.LIST
            self.push_screen(HelpScreen(self.keymap, (place, Place.LIST)))

    def _places(self) -> tuple[Place, ...]:
        """Where the focus is."""
        board = self.board
        if board.cancel.has_focus:
            return (Place.BUTTON,)
        pane = next((place for place, name in _PANES.items() if board.panes[name].has_focus), None)
        return (Place.PROMPT,) if pane is None else (pane, Place.PANE)

    def action_palette(self) -> None:
        """Ctrl+P."""
        from agentclip.ui.palette import entries, recent_first  # noqa: PLC0415  registered deferred import
        from agentclip.ui.picker import Look, Picker  # noqa: PLC0415  registered deferred import

        rows = recent_first(entries(self.keymap), self.recent)
        self.push_screen(Picker(rows, Look("What to do")), self._from_palette)

    async def _from_palette(self, entry: Entry | None) -> None:
        if entry is None:
            return
        self.recent = (entry.id, *(each for each in self.recent if each != entry.id))
        if entry.needs_more:
            self.board.prompt.put_away()
            self.board.prompt.load(f"{entry.word} ")
            self.board.prompt.focus()
        elif not entry.does:
            self.board.prompt.post_message(Prompt.Sent(entry.word))
        elif entry.operands:
            await self.run_action(f"{entry.does}('')")
        elif entry.does.startswith("app."):
            await self.run_action(entry.does)
        else:
            await self._in_pane(entry)

    async def _in_pane(self, entry: Entry) -> None:
        """What only a pane does: there."""
        pane = self.board.panes[_PANES[entry.place]]
        self.bring(_PANES[entry.place])
        pane.focus()
        await self.run_action(entry.does, default_namespace=pane)
