"""What lies over the screen for a moment: help, pickers."""

from __future__ import annotations

from agentclip.events import Severity
from agentclip.ui.help_screen import HelpScreen, help_text
from agentclip.ui.screen_app import ScreenApp
from agentclip.ui.themes import Ink


class ChoiceActions(ScreenApp):
    """Choices of the person that are not about panes or the prompt."""

    def action_help(self) -> None:
        """F1."""
        if len(self.screen_stack) == 1:
            self.push_screen(HelpScreen(help_text()))
        else:
            self.pop_screen()

    def action_theme(self, name: str) -> None:
        """A theme by name."""
        found = self.themes.by_name.get(name)
        if found is None:
            self.state.say(f"themes: {', '.join(self.themes.by_name)}", Severity.WARNING if name else Severity.INFO)
            return
        self.theme = name
        self.board.restyle(Ink(found))
        self.call_after_refresh(self.draw_now)
