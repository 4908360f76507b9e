"""Setting up a model, and the settings. Which question follows which stands in `model_search.py`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentclip.errors import ConfigError
from agentclip.events import Severity
from agentclip.ui.theme_actions import ThemeActions
from agentclip.ui.themes import AUTO

if TYPE_CHECKING:
    from agentclip.preferences import Preference

THEME = "screen.theme"


class SetupActions(ThemeActions):
    """Everything about configuring, from the screen."""

    def on_mount(self) -> None:
        """Without a model the screen begins with the question for one."""
        if self.options.first_screen and self.options.setup is not None:
            self.run_worker(self._set_up(asked=False), group="setup", exclusive=True)

    def action_setup(self) -> None:
        """Find a model."""
        if self.options.setup is None:
            self.say("there is nothing to set up here")
        else:
            self.run_worker(self._set_up(asked=True), group="setup", exclusive=True)

    def action_settings(self, words: str = "") -> None:
        """See and change them; `words` are what to search for."""
        from agentclip.ui.settings_screen import SettingsScreen  # noqa: PLC0415  registered deferred import

        preferences = self.options.preferences
        if preferences is None:
            self.say("there are no settings here")
            return
        try:
            screen = SettingsScreen(preferences, self._follow, {THEME: (AUTO, *self.themes.by_name)})
        except ConfigError as error:
            self.state.say(str(error), Severity.ERROR)
            return
        screen.search(words)
        self.push_screen(screen)

    def _follow(self, changed: Preference) -> None:
        """What a change means for this screen."""
        if changed.key == THEME and changed.value != self.theme_wanted:
            self.action_theme(changed.value)
        elif changed.key == "screen.notify":
            self.options = replace(self.options, notify=changed.value)
        elif changed.key == "screen.notify_after_s":
            self.options = replace(self.options, notify_after_s=float(changed.value))

    async def _set_up(self, *, asked: bool) -> None:
        from agentclip.ui.model_search import ModelSearch  # noqa: PLC0415  registered deferred import

        assert self.options.setup is not None
        setup = await asyncio.to_thread(self.options.setup)
        if not asked and (self.board.prompt.text or len(self.screen_stack) > 1):
            self.say("/setup finds a model")  # whoever is at work already is not interrupted
            return
        try:
            await ModelSearch(self, setup).until_chosen()
        finally:
            await setup.give_up()
