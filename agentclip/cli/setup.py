"""Setting a model up from the screen: places from the table of providers, trials in provider processes, what is kept on disk.

In: the course of this program. Out: what `ui.setup_api` asks for.
"""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from agentclip import keystore, paths
from agentclip.cli.course import DEMO, Course
from agentclip.config import Settings
from agentclip.errors import ConfigError, ErrorCode
from agentclip.keystore import KeyFile
from agentclip.messages import Conversation, UserMessage
from agentclip.model.catalog import clean_base
from agentclip.model.choose import choose_model
from agentclip.model.nearby import answering
from agentclip.model.providers import OWN_KEY_VARIABLE, PROVIDERS, Provider, Route, has_key
from agentclip.model.remote import WorkerModel
from agentclip.preferences import write
from agentclip.ui.setup_api import Place, Setup, Wish
from agentclip.ui.shelves import OfferedModel
from agentclip.undumpable import make_undumpable

OTHER = Place("other", "Another address", "", OWN_KEY_VARIABLE, is_other=True)
TRIAL = Conversation("Answer with one word.", (UserMessage("Say ok."),), ())
PATIENCE_S = 90.0
"""A local model is read from the disk before its first word."""
ANY_MODEL = "any"
"""Listing needs a name and asks for none."""


class ModelSetup:
    """Of one program."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._trials: dict[tuple[Wish, str], WorkerModel] = {}
        make_undumpable()  # a key may be typed

    def places(self) -> Sequence[Place]:
        """Those with a key, local ones, the others, an address of one's own."""
        found = [_place(each, self._course.environ) for each in PROVIDERS]
        return (*sorted(found, key=lambda place: (not place.key_source, not place.is_local)), OTHER)

    def at(self, address: str) -> Wish:
        """A place by its address: a known one, or one of the person's own. Raises ConfigError: it is no address."""
        base = clean_base(address)
        known = next((each for each in PROVIDERS if each.api_base == base), None)
        return Wish(OTHER, base) if known is None else Wish(_place(known, self._course.environ))

    async def answering(self) -> frozenset[str]:
        """Ids of local places that answer right now."""
        return await answering(each for each in PROVIDERS if each.is_local)

    async def offered(self, wish: Wish) -> Sequence[OfferedModel]:
        """What can be had there. Raises AgentclipError."""
        trial = await self._trial(wish, wish.place.usual_model or ANY_MODEL)
        return [OfferedModel(facts.name, _window(facts.context_window)) for facts in await trial.models()]

    async def try_out(self, wish: Wish, model: str) -> None:
        """Return once the model has begun to answer a word. Raises AgentclipError."""
        trial = await self._trial(wish, model)
        try:
            async with asyncio.timeout(PATIENCE_S), aclosing(trial.reply(TRIAL)) as parts:
                async for _ in parts:
                    return
        except TimeoutError:
            message = f"{model} has not answered for {PATIENCE_S:.0f} seconds"
            raise ConfigError(message, hint="Try again, or another one", code=ErrorCode.UNAVAILABLE) from None

    async def keep(self, wish: Wish, model: str) -> str:
        """Store key and name, go on with the model as soon as nothing runs; what to tell. Raises AgentclipError."""
        talk = self._course.talk
        if talk is None:
            raise ConfigError("the session is still being made", hint="Try again in a moment", code=ErrorCode.UNAVAILABLE)
        trial = await self._trial(wish, model)
        told = await asyncio.to_thread(self._store, wish, model)
        del self._trials[wish, model]
        await self.give_up()
        self._course.settings = self._settings(wish, model)
        await talk.use_model(trial)
        return told

    async def give_up(self) -> None:
        """End what was begun and not kept."""
        trials, self._trials = list(self._trials.values()), {}
        for trial in trials:
            await trial.aclose()

    def play_demo(self) -> None:
        """After this screen: the recorded session, then a new one."""
        self._course.ahead[:] = [None, DEMO]

    async def _trial(self, wish: Wish, model: str) -> WorkerModel:
        """A model in a process of its own, the same one for the same wish."""
        found = self._trials.get((wish, model))
        if found is None:
            environ = self._course.environ if wish.key is None else ChainMap(_typed(wish), dict(self._course.environ))
            made = await asyncio.to_thread(choose_model, self._settings(wish, model), environ)
            assert isinstance(made, WorkerModel), "no place is a recording"
            found = self._trials[wish, model] = made
        return found

    def _settings(self, wish: Wish, model: str) -> Settings:
        """Ours, but of what belongs to an endpoint only this one's."""
        return replace(
            self._course.settings,
            model=_name(wish.place, model),
            api_base=wish.api_base or None,
            api_key_env=None,
            api_key_file=None,
            provider=None,
        )

    def _store(self, wish: Wish, model: str) -> str:
        told = []
        if wish.key is not None:
            variable = wish.place.key_variable
            file = keystore.put(paths.keys_dir(), variable, wish.key)
            told.append(f"{variable} is stored in {file}")
            if self._course.environ.get(variable, "").strip() and not isinstance(self._course.environ[variable], KeyFile):
                told.append(f"at the next start the environment's {variable} goes before the stored key")
            self._course.environ = ChainMap({variable: KeyFile(file)}, dict(self._course.environ))
        of_another = dict.fromkeys(("model.api_key_env", "model.api_key_file", "model.provider"))
        here = {"model.name": _name(wish.place, model), "model.api_base": wish.api_base or None}
        write(paths.config_file(), {**of_another, **here})
        told.append(f"the model is kept in {paths.config_file()}")
        source = self._course.settings.sources.get("model.name", str(paths.config_file()))
        if source != str(paths.config_file()):
            told.append(f"at the next start {source} goes before it")
        return "; ".join(told)


def _place(provider: Provider, environ: Mapping[str, str]) -> Place:
    key = environ.get(provider.key_variable, "") if has_key(provider, environ) else ""
    return Place(
        provider.prefix,
        provider.name,
        provider.api_base,
        provider.key_variable,
        key_source=str(key) if isinstance(key, KeyFile) else "environment" if key else "",
        usual_model=provider.example.removeprefix(f"{provider.prefix}/"),
        is_local=provider.is_local,
        is_slow=provider.route is Route.LITELLM,
    )


def _name(place: Place, model: str) -> str:
    return model if place.is_other else f"{place.id}/{model}"


def _typed(wish: Wish) -> dict[str, str]:
    return {} if wish.key is None else {wish.place.key_variable: keystore.clean_key(wish.key)}


def _window(tokens: int | None) -> str:
    return "" if tokens is None else f"{tokens:,} tokens"


_: type[Setup] = ModelSetup
