"""The way to a first model, on the screen: what is offered, which question follows which, and that a key is never seen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from textual import events
from textual.pilot import Pilot

from agentclip.errors import ErrorCode, ModelError
from agentclip.ui.app import ChatApp
from agentclip.ui.first_run import HiddenInput
from agentclip.ui.setup_api import Place, Setup, Wish
from agentclip.ui.shelves import OfferedModel
from tests.ui.screens import make_app, screen_text, send, until
from tests.ui.scripted import ScriptedAgent

SECRET = "ac-secret-222"
CLOUD = Place("cloud", "Cloud", "https://cloud.example/v1", "CLOUD_API_KEY", usual_model="big")
STORED = Place("kept", "Kept", "https://kept.example/v1", "KEPT_API_KEY", key_source="/keys/KEPT_API_KEY", usual_model="mid")
LOCAL = Place("local", "Local", "http://127.0.0.1:1/v1", is_local=True)
OTHER = Place("other", "Another address", "", "AGENTCLIP_API_KEY", is_other=True)
FIRST = ("No model is configured.",)


class ScriptedSetup:
    """Meets Setup: says what a test put in, keeps what the screen asked for."""

    def __init__(
        self, offered: Mapping[str, Sequence[str] | ModelError], *, key: str = "", refused: Sequence[str] = ()
    ) -> None:
        self._offered = offered
        self._key = key
        self._refused = refused
        self.kept: list[tuple[Wish, str]] = []
        self.demo = False
        self.given_up = 0
        self.local: asyncio.Future[frozenset[str]] | None = None
        """None: nobody answers, at once."""

    def places(self) -> Sequence[Place]:
        return (STORED, CLOUD, LOCAL, OTHER)

    def at(self, address: str) -> Wish:
        if address.startswith("http://x"):
            return Wish(OTHER, address)
        raise ModelError(f"{address} is no address", code=ErrorCode.CONFIG)

    async def answering(self) -> frozenset[str]:
        return frozenset() if self.local is None else await self.local

    async def offered(self, wish: Wish) -> Sequence[OfferedModel]:
        if self._key and wish.key != self._key:
            raise ModelError("refuses the key", code=ErrorCode.BAD_KEY)
        found = self._offered[wish.place.id]
        if isinstance(found, ModelError):
            raise found
        return [OfferedModel(name) for name in found]

    async def try_out(self, wish: Wish, model: str) -> None:
        assert wish.place
        if model in self._refused:
            raise ModelError(f"unknown model {model}", code=ErrorCode.UNKNOWN_MODEL)

    async def keep(self, wish: Wish, model: str) -> str:
        self.kept.append((wish, model))
        return f"{model} is kept"

    async def give_up(self) -> None:
        self.given_up += 1

    def play_demo(self) -> None:
        self.demo = True


_: type[Setup] = ScriptedSetup


def app_with(agent: ScriptedAgent, setup: ScriptedSetup) -> ChatApp:
    return make_app(agent, setup=lambda: setup, first_screen=FIRST)


async def shown(pilot: Pilot[int], *texts: str) -> str:
    app = pilot.app
    assert isinstance(app, ChatApp)

    def all_there() -> bool:
        laid_out = app.screen._compositor.size == app.size  # noqa: SLF001  a screen that was just pushed has no size yet
        return laid_out and all(text in screen_text(app) for text in texts)

    await until(pilot, all_there)
    return screen_text(app)


async def test_without_a_model_the_screen_begins_with_the_question_for_one(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({})
    setup.local = asyncio.get_running_loop().create_future()
    async with app_with(agent, setup).run_test(size=(140, 40)) as pilot:
        text = await shown(pilot, "Where shall the model be?", "Demo")
        for part in ("key stored: KEPT_API_KEY", "needs a key: CLOUD_API_KEY", "asking…", "any OpenAI-compatible server"):
            assert part in text
        setup.local.set_result(frozenset({"local"}))
        text = await shown(pilot, "answers now")
        assert text.index("Local ") < text.index("Kept ") < text.index("Demo ") < text.index("Cloud ")


async def test_escape_goes_on_without_a_model_and_the_word_asks_again(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({})
    app = app_with(agent, setup)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(pilot, "Where shall")
        await pilot.press("escape")
        await until(pilot, lambda: setup.given_up == 1)
        assert "No model is configured." in screen_text(app)
        await send(pilot, "!ls")
        await until(pilot, lambda: agent.calls == ["shell ls"])
        await send(pilot, "/setup")
        await shown(pilot, "Where shall")


async def test_whoever_types_already_is_not_interrupted(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({})
    app = app_with(agent, setup)
    typed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def late() -> Setup:
        asyncio.run_coroutine_threadsafe(typed.wait(), loop).result(20)
        return setup

    app = make_app(agent, setup=late, first_screen=FIRST)
    async with app.run_test(size=(100, 30)) as pilot:
        app.board.prompt.insert("!l")
        typed.set()
        await shown(pilot, "/setup finds a model")
        assert len(app.screen_stack) == 1


async def test_a_key_is_asked_for_until_it_is_right_and_never_drawn(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({"cloud": ["small", "big"]}, key=SECRET)
    app = app_with(agent, setup)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(pilot, "Where shall")
        await pilot.press(*"cloud", "enter")
        await shown(pilot, "Key for Cloud (CLOUD_API_KEY)")
        await pilot.press(*"wrong", "enter")
        text = await shown(pilot, "refuses the key")
        assert "wrong" not in text
        box = app.screen.query_one(HiddenInput)
        box.post_message(events.Paste(f"{SECRET}\nmore"))
        text = await shown(pilot, "•" * len(SECRET))
        assert SECRET not in text
        box.select_all()
        assert box.selected_text == ""
        await pilot.press("enter")
        await shown(pilot, "Models of Cloud", "> * big")
        await pilot.press("enter")
        await until(pilot, lambda: bool(setup.kept))
        await shown(pilot, "big is kept")
        assert setup.kept == [(Wish(CLOUD, "", SECRET), "big")]
        assert SECRET not in repr(setup.kept)
        assert SECRET not in screen_text(app)


async def test_a_model_that_does_not_answer_is_not_kept_and_any_name_can_be_typed(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({"kept": ["one", "two"]}, refused=["one"])
    app = app_with(agent, setup)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(pilot, "Where shall")
        await pilot.press(*"kept", "enter")
        await shown(pilot, "Models of Kept")
        await pilot.press("enter")
        await shown(pilot, "unknown model one")
        await pilot.press(*"mine", "enter")
        await until(pilot, lambda: setup.kept == [(Wish(STORED), "mine")])


@pytest.mark.parametrize("size", [(80, 24), (50, 12)])
async def test_a_place_that_is_away_leads_back_with_the_reason(agent: ScriptedAgent, size: tuple[int, int]) -> None:
    setup = ScriptedSetup({"local": ModelError("nobody listens [red]there", code=ErrorCode.NETWORK)})
    app = app_with(agent, setup)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, "Where shall")
        await pilot.press(*"local", "enter")
        await shown(pilot, "nobody listens [red]there", "Where shall")


async def test_an_address_that_is_typed_needs_no_key_where_the_server_wants_none(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({"other": ["m"]})
    app = app_with(agent, setup)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(pilot, "Where shall")
        await pilot.press(*"another", "enter")
        await shown(pilot, "Address of the server")
        await pilot.press("y", "enter")
        await shown(pilot, "is no address")
        await pilot.press(*"another", "enter")
        await shown(pilot, "Address of the server")
        await pilot.press(*"http://x", "enter")
        await shown(pilot, "Models of Another address")
        await pilot.press("enter")
        await until(pilot, lambda: setup.kept == [(Wish(OTHER, "http://x"), "m")])


async def test_escape_goes_one_question_back(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({"kept": ["one"]})
    app = app_with(agent, setup)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(pilot, "Where shall")
        await pilot.press(*"cloud", "enter")
        await shown(pilot, "Key for Cloud")
        await pilot.press("escape")
        await shown(pilot, "Where shall")
        await pilot.press(*"kept", "enter")
        await shown(pilot, "Models of Kept")
        await pilot.press("escape")
        await shown(pilot, "Where shall")
        assert not setup.kept


async def test_the_demo_begins_when_this_screen_has_ended(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({})
    app = app_with(agent, setup)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(pilot, "Where shall")
        await pilot.press(*"demo", "enter")
        await until(pilot, lambda: setup.demo and agent.closed)
    assert app.return_value == 0


async def test_escape_gives_up_what_does_not_answer(agent: ScriptedAgent) -> None:
    setup = ScriptedSetup({"kept": ["one"]})
    cancelled = asyncio.Event()

    async def never(wish: Wish) -> Sequence[OfferedModel]:
        try:
            await asyncio.Event().wait()
        finally:
            assert wish.place == STORED
            cancelled.set()
        return ()

    setup.offered = never  # type: ignore[method-assign]  # a place that hangs
    async with app_with(agent, setup).run_test(size=(100, 30)) as pilot:
        await shown(pilot, "Where shall")
        await pilot.press(*"kept", "enter")
        await shown(pilot, "asking Kept what it offers")
        await pilot.press("escape")
        await shown(pilot, "Where shall")
        await until(pilot, cancelled.is_set)
