"""The way to a model, question by question. What is asked stands in `first_run.py`.

In: what can be set up, a screen to ask on. Out: a model that has answered, kept for the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from agentclip.errors import AgentclipError, ErrorCode
from agentclip.events import Severity
from agentclip.ui.first_run import DEMO, AskKey, FirstModelPicker, PlacePicker, Waiting
from agentclip.ui.picker import Ask
from agentclip.ui.screen_app import ScreenApp
from agentclip.ui.setup_api import Place, Setup, Wish
from agentclip.ui.shelves import OfferedModel

T = TypeVar("T")
OF_THE_KEY = frozenset({ErrorCode.MISSING_KEY, ErrorCode.BAD_KEY})
STORED = "Only you can read the file that it is stored in."


class BackError(Exception):
    """The person goes back to the list of places; the text is why, empty when there is nothing to say."""


class ModelSearch:
    """One of them."""

    def __init__(self, screen: ScreenApp, setup: Setup) -> None:
        self._screen = screen
        self._setup = setup

    async def until_chosen(self) -> None:
        """Ask until a model has answered or the person gives up."""
        setup, said = self._setup, ""
        while True:
            places = {place.id: place for place in await asyncio.to_thread(setup.places)}
            chosen = await self._screen.push_screen_wait(PlacePicker(setup, tuple(places.values()), said))
            if chosen is None:
                return
            if chosen == DEMO.id:
                setup.play_demo()
                self._screen.end(0)
                return
            try:
                await self._at(places[chosen])
            except BackError as back:
                said = str(back)
            else:
                return

    async def _at(self, place: Place) -> None:
        """Ask what is needed for one place, until its model has answered. Raises BackError."""
        wish = Wish(place)
        if place.is_other:
            address = await self._answer(Ask("Address of the server, as http://127.0.0.1:8080/v1", ""))
            try:
                wish = self._setup.at(address if "://" in address else f"http://{address}")
            except AgentclipError as error:
                raise BackError(str(error)) from error
        wish, models = await self._reach(wish)
        place = wish.place
        said = ""
        while True:
            model = await self._screen.push_screen_wait(FirstModelPicker(place, models, said))
            if model is None:
                raise BackError
            tried = await self._wait(f"asking {model} for a word…{_slowly(place)}", self._setup.try_out(wish, model))
            if not isinstance(tried, AgentclipError):
                break
            said = str(tried)
            if tried.code in OF_THE_KEY:
                wish = await self._with_key(wish, said)
        await self._keep(wish, model)

    async def _reach(self, wish: Wish) -> tuple[Wish, Sequence[OfferedModel]]:
        """Ask the place what it offers, and for a key as long as it wants one. Raises BackError."""
        place = wish.place
        if place.key_variable and not place.key_source and not place.is_other:
            wish = await self._with_key(wish)
        while True:
            found = await self._wait(f"asking {place.name} what it offers…{_slowly(place)}", self._setup.offered(wish))
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
        answer = await self._screen.push_screen_wait(question)
        if not answer:
            raise BackError
        return answer

    async def _wait(self, what: str, work: Awaitable[T]) -> T | AgentclipError:
        result = await self._screen.push_screen_wait(Waiting(what, _whole(work)))
        if result is None:
            raise BackError
        return result if isinstance(result, AgentclipError) else result[0]

    async def _keep(self, wish: Wish, model: str) -> None:
        try:
            told = await self._setup.keep(wish, model)
        except AgentclipError as error:
            self._screen.state.say(str(error), Severity.ERROR)
        else:
            self._screen.state.say(told)
        self._screen.plan_frame()


async def _whole(work: Awaitable[T]) -> tuple[T]:
    """So that a result of None is not taken for giving up."""
    return (await work,)


def _slowly(place: Place) -> str:
    return " (loading what speaks with it takes some seconds)" if place.is_slow else ""
