"""Themes while the screen is up: choosing one with a live preview, files that change, the terminal's own background.

In: a name, a changed file, what the terminal tells. Out: another look. Must not know: how a theme file is read.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from textual.timer import Timer

from agentclip import paths
from agentclip.errors import ConfigError
from agentclip.events import Severity
from agentclip.ui.filters import NoColour
from agentclip.ui.screen_app import ScreenApp
from agentclip.ui.terminal import BackgroundTold
from agentclip.ui.themes import AUTO, Ink, ScreenTheme, Themes, state_of_files

if TYPE_CHECKING:
    from agentclip.preferences import Preferences

SETTING = "screen.theme"
WATCHER = "theme files"
LOOK_S = 1.0
"""How often the files are looked at."""
REST_S = 0.05
"""The cursor must rest that long on a theme before it is tried: it costs as much as ten frames."""


class ThemeActions(ScreenApp):
    """Which colours the screen has."""

    def on_mount(self) -> None:
        """Look at the files from now on, if there are any to be edited."""
        self._files = state_of_files()
        self._trial: Timer | None = None
        """Before the theme under the cursor is tried."""
        self._watch_files()

    def action_theme(self, name: str = "") -> None:
        """A theme by name; without one: choose."""
        if name in {*self.themes.by_name, AUTO}:
            self.theme_wanted = name
            self.wear(self._theme_of(name))
            if self.options.preferences is not None:
                self.run_worker(self._remember(self.options.preferences, name), group="theme")
        elif name:
            self.state.say(f"no theme {name}; themes: {', '.join(self._names())}", Severity.WARNING)
        else:
            self._choose()

    def _choose(self) -> None:
        from agentclip.ui.picker import Look, Picker, Row  # noqa: PLC0415  registered deferred import

        self._look_at_files()
        self._watch_files(choosing=True)
        names = self._names()
        rows = [Row(each, each, self._detail(each), current=each == self.theme_wanted, words="theme") for each in names]
        self.push_screen(Picker(rows, Look("Themes", on_highlight=self._try)), self._chosen)

    def wear(self, theme: ScreenTheme) -> None:
        """Look like it from now on."""
        if isinstance(self.colours, NoColour):
            self.colours.theme = theme
        self.register_theme(theme.textual())
        if self.theme == theme.name:
            self.mutate_reactive(ScreenApp.theme)  # the same name, perhaps other colours
        else:
            self.theme = theme.name
        self.board.restyle(Ink(theme))
        self.call_after_refresh(self.draw_now)

    def on_background_told(self, message: BackgroundTold) -> None:
        """The terminal answered."""
        if message.dark != self.terminal_dark:
            self.terminal_dark = message.dark
            if self.theme_wanted == AUTO:
                self.wear(self._theme_of(AUTO))

    def _names(self) -> list[str]:
        return [AUTO, *self.themes.by_name]

    def _theme_of(self, name: str) -> ScreenTheme:
        return self.themes.pick(name, dark=self.terminal_dark)

    def _detail(self, name: str) -> str:
        if name == AUTO:
            return f"the terminal is {'dark' if self.terminal_dark else 'light'}"
        return "dark" if self.themes.by_name[name].dark else "light"

    def _try(self, name: str) -> None:
        if self._trial is not None:
            self._trial.stop()
        self._trial = self.set_timer(REST_S, partial(self._wear_named, name))

    def _wear_named(self, name: str) -> None:
        # Its file may be gone meanwhile, and so may the screen.
        if self.board.chat.is_attached and (name == AUTO or name in self.themes.by_name):
            self.wear(self._theme_of(name))

    def _chosen(self, name: str | None) -> None:
        if self._trial is not None:
            self._trial.stop()
        self._watch_files()
        if name is None:
            self.wear(self._theme_of(self.theme_wanted))
        else:
            self.action_theme(name)

    def _watch_files(self, *, choosing: bool = False) -> None:
        """An idle screen looks at nothing, unless there is a folder of the user's own."""
        self.workers.cancel_group(self, WATCHER)
        if choosing or paths.user_themes_dir().is_dir():
            self.run_worker(self._watch(), group=WATCHER)

    async def _watch(self) -> None:
        while True:  # a timer of Textual costs forty times what looking does
            await asyncio.sleep(LOOK_S)
            self._look_at_files()

    async def _remember(self, preferences: Preferences, name: str) -> None:
        """For the next start."""
        try:
            if (await asyncio.to_thread(preferences.row, SETTING)).value != name:
                await asyncio.to_thread(preferences.change, SETTING, name)
        except ConfigError as error:
            self.state.say(f"the theme is not kept for the next start: {error}", Severity.WARNING)
            self.plan_frame()

    def _look_at_files(self) -> None:
        now = state_of_files()
        if now == self._files:
            return
        self._files = now
        known = {str(error) for error in self.themes.errors}
        try:
            found = Themes.load(self.themes)
        except ConfigError as error:
            self.state.say(str(error), Severity.ERROR)
            return
        worn, self.themes = self.themes.by_name.get(self.theme), found
        for theme in found.by_name.values():
            self.register_theme(theme.textual())
        for wrong in found.errors:
            if str(wrong) not in known:
                self.state.say(f"{wrong}; the last good one stays", Severity.ERROR)
        changed = found.by_name.get(self.theme)
        if changed is not None and changed != worn:
            self.wear(changed)
        self.plan_frame()
