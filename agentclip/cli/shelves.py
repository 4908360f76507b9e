"""What a screen can choose from: sessions as `agentclip sessions` has them, models as `agentclip models` lists them.

In: the course of this program. Out: what `ui.shelves` asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agentclip import paths
from agentclip.cli.course import Course
from agentclip.errors import ConfigError, ErrorCode, SessionError, one_line
from agentclip.events import AssistantReplied, CommandStarted, TurnStarted
from agentclip.model.base import ModelFacts
from agentclip.model.choose import choose_model
from agentclip.model.providers import BY_LITELLM, PROVIDERS, find_providers
from agentclip.model.remote import WorkerModel
from agentclip.runtime import Conversation
from agentclip.store import copies
from agentclip.store.facts import read_facts
from agentclip.store.history import StoredEvents
from agentclip.store.listing import find, list_sessions
from agentclip.store.session import Session
from agentclip.ui.format import plural
from agentclip.ui.shelves import ModelShelf, OfferedModel, SavedSession, SessionShelf

SHOWN_CHARS = 2000
"""Of a prompt or an answer in a preview."""


class SavedSessions:
    """Those of this machine."""

    def __init__(self, course: Course) -> None:
        self._course = course

    def listed(self) -> Sequence[SavedSession]:
        """Newest first. Raises SessionError."""
        return [
            SavedSession(facts.id, facts.title, facts.cwd, facts.updated_s, facts.turns, facts.model)
            for facts in list_sessions(paths.sessions_dir())
        ]

    def about(self, identifier: str) -> str:
        """What it is about, in a few lines. Raises SessionError."""
        folder = find(paths.sessions_dir(), identifier)
        facts = read_facts(folder)
        events = copies.events_of(folder)
        amounts = [plural(events.number_of(TurnStarted), "turn"), plural(events.number_of(CommandStarted), "run")]
        lines = [*_last_words(events), ", ".join(amounts)]
        if facts is not None:
            lines += [f"model {one_line(facts.model)}", one_line(facts.cwd)]
            lines += [f"last used {_when(facts.updated_s)}, begun {_when(facts.created_s)}"]
        lines += [identifier]
        return "\n".join(lines)

    def check(self, identifier: str) -> str:
        """The whole id of a session that can be opened. Raises SessionError."""
        current = self._current()
        if current is not None and current.begun and current.id == identifier:
            return identifier
        session = Session.open(paths.sessions_dir(), identifier)
        session.close()
        return session.id

    def fork(self, identifier: str) -> str:
        """Copy it as it is now. Raises SessionError."""
        return copies.fork(find(paths.sessions_dir(), identifier)).id

    def rename(self, identifier: str, title: str) -> None:
        """Give it another title. Raises SessionError."""
        current = self._current()
        if current is not None and current.id == identifier:
            current.rename(title)
            return
        session = Session.open(paths.sessions_dir(), identifier)
        try:
            session.rename(title)
        finally:
            session.close()

    def delete(self, identifier: str) -> None:
        """Remove it for good. Raises SessionError."""
        current = self._current()
        if current is not None and current.id == identifier:
            raise SessionError("this session is the one that is open here", hint="Go to another one first")
        copies.delete(find(paths.sessions_dir(), identifier))

    def _current(self) -> Session | None:
        return None if self._course.talk is None else self._course.talk.session


class KnownModels:
    """Those of the endpoint in use, and the usual ones of providers with a key."""

    def __init__(self, course: Course) -> None:
        self._course = course

    def configured(self) -> Sequence[OfferedModel]:
        """What can be said without asking anybody."""
        settings = self._course.settings
        found = {} if settings.model is None else {settings.model: "configured"}
        if settings.loop_model:
            found.setdefault(settings.loop_model, "configured, to judge progress")
        if not settings.api_base:
            for looked in find_providers(self._course.environ):
                if looked.found and looked.provider.example:
                    found.setdefault(looked.provider.example, f"{looked.provider.name}, the usual one")
        return [OfferedModel(name, detail) for name, detail in found.items()]

    async def offered(self) -> Sequence[OfferedModel]:
        """What the endpoint in use offers. Raises AgentclipError."""
        model = self._talk().models[0]
        if not isinstance(model, WorkerModel):
            raise ConfigError(f"{model.name} offers no others", hint="Type the name of a model")
        prefix = self.prefix(model)
        return [OfferedModel(f"{prefix}{facts.name}", _detail(facts)) for facts in await model.models()]

    async def use(self, name: str) -> None:
        """Let it answer as soon as nothing runs. Raises AgentclipError."""
        talk = self._talk()
        settings = replace(self._course.settings, model=name)
        model = await asyncio.to_thread(choose_model, settings, self._course.environ)
        assert model is not None, "it has a name"
        self._course.use_model(name)
        await talk.use_model(model)

    def _talk(self) -> Conversation:
        if self._course.talk is None:
            raise ConfigError("the session is still being made", hint="Try again in a moment", code=ErrorCode.UNAVAILABLE)
        return self._course.talk

    def prefix(self, model: WorkerModel) -> str:
        """What to write before a name that the endpoint told, so that it means the same endpoint."""
        if self._course.settings.api_base:
            return ""
        known = model.settings.known_as or model.name
        prefix, slash, _ = known.partition("/")
        return f"{prefix}/" if slash and prefix in {each.prefix for each in (*PROVIDERS, *BY_LITELLM)} else ""


def _last_words(events: StoredEvents) -> list[str]:
    """The last prompt with the sign it has in Chat, the last answer."""
    prompt = next((r.event.message.text for r in events.newest(TurnStarted) if isinstance(r.event, TurnStarted)), "")
    replies = (r.event.message.text for r in events.newest(AssistantReplied) if isinstance(r.event, AssistantReplied))
    answer = next(filter(None, replies), "")
    return [line for sign, text in (("> ", prompt), ("", answer)) if text for line in (sign + _short(text), "")]


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _detail(facts: ModelFacts) -> str:
    window = "" if facts.context_window is None else f"{facts.context_window:,} tokens"
    return ", ".join(filter(None, (window, "pictures" if facts.images else "")))


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


_sessions: type[SessionShelf] = SavedSessions
_models: type[ModelShelf] = KnownModels
