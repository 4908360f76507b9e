"""The way to a model, and the settings: which question follows which. What is asked stands in `first_run.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from agentclip.errors import AgentclipError, ConfigError, ErrorCode
from agentclip.events import Severity
from agentclip.preferences import Preference
from agentclip.ui.first_run import DEMO, AskKey, FirstModelPicker, PlacePicker, Waiting
from agentclip.ui.picker import Ask
from agentclip.ui.settings_screen import SettingsScreen
from agentclip.ui.setup_api import Place, Setup, Wish
from agentclip.ui.shelves import OfferedModel
from agentclip.ui.theme_actions import ThemeActions
from agentclip.ui.themes import AUTO

T = TypeVar("T")
OF_THE_KEY = frozenset({ErrorCode.MISSING_KEY, ErrorCode.BAD_KEY})
THEME = "screen.theme"
STORED = "Only you can read the file that it is stored in."


class BackError(Exception):
    """The person goes back to the list of places; the text is why, empty when there is nothing to say."""


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
        assert self.options.setup is not None
        setup = await asyncio.to_thread(self.options.setup)
        if not asked and (self.board.prompt.text or len(self.screen_stack) > 1):
            self.say("/setup finds a model")  # whoever is at work already is not interrupted
            return
        try:
            await self._until_chosen(setup)
        finally:
            await setup.give_up()

    async def _until_chosen(self, setup: Setup) -> None:
        said = ""
        while True:
            places = {place.id: place for place in await asyncio.to_thread(setup.places)}
            chosen = await self.push_screen_wait(PlacePicker(setup, tuple(places.values()), said))
            if chosen is None:
                return
            if chosen == DEMO.id:
                setup.play_demo()
                self.end(0)
                return
            try:
                await self._at(setup, places[chosen])
            except BackError as back:
                said = str(back)
            else:
                return

    async def _at(self, setup: Setup, place: Place) -> None:
        """Ask what is needed for one place, until its model has answered. Raises BackError."""
        wish = Wish(place)
        if place.is_other:
            address = await self._answer(Ask("Address of the server, as http://127.0.0.1:8080/v1", ""))
            try:
                wish = setup.at(address if "://" in address else f"http://{address}")
            except AgentclipError as error:
                raise BackError(str(error)) from error
        wish, models = await self._reach(setup, wish)
        place = wish.place
        said = ""
        while True:
            model = await self.push_screen_wait(FirstModelPicker(place, models, said))
            if model is None:
                raise BackError
            tried = await self._wait(f"asking {model} for a word…{_slowly(place)}", setup.try_out(wish, model))
            if not isinstance(tried, AgentclipError):
                break
            said = str(tried)
            if tried.code in OF_THE_KEY:
                wish = await self._with_key(wish, said)
        await self._keep(setup, wish, model)

    async def _reach(self, setup: Setup, wish: Wish) -> tuple[Wish, Sequence[OfferedModel]]:
        """Ask the place what it offers, and for a key as long as it wants one. Raises BackError."""
        place = wish.place
        if place.key_variable and not place.key_source and not place.is_other:
            wish = await self._with_key(wish)
        while True:
            found = await self._wait(f"asking {place.name} what it offers…{_slowly(place)}", setup.offered(wish))
            if not isinstance(found, AgentclipError):
                return wish, found
            if found.code in OF_THE_KEY:
                wish = await self._with_key(wish, str(found))
            elif found.code in {ErrorCode.NETWORK, ErrorCode.UNAVAILABLE, ErrorCode.USAGE} or place.is_other:
                raise BackError(str(found))
            else:
                return wish, ()

    async def _with_key(self, wish: Wish, said: str = "") -> Wish:
        place = wish.place
        key = await self._answer(AskKey(f"Key for {place.name} ({place.key_variable})", said or STORED))
        return Wish(place, wish.api_base, key)

    async def _answer(self, question: Ask | AskKey) -> str:
        answer = await self.push_screen_wait(question)
        if not answer:
            raise BackError
        return answer

    async def _wait(self, what: str, work: Awaitable[T]) -> T | AgentclipError:
        result = await self.push_screen_wait(Waiting(what, _whole(work)))
        if result is None:
            raise BackError
        return result if isinstance(result, AgentclipError) else result[0]

    async def _keep(self, setup: Setup, wish: Wish, model: str) -> None:
        try:
            told = await setup.keep(wish, model)
        except AgentclipError as error:
            self.state.say(str(error), Severity.ERROR)
        else:
            self.state.say(told)
        self.plan_frame()


async def _whole(work: Awaitable[T]) -> tuple[T]:
    """So that a result of None is not taken for giving up."""
    return (await work,)


def _slowly(place: Place) -> str:
    return " (loading what speaks with it takes some seconds)" if place.is_slow else ""
