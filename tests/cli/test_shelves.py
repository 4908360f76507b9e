"""What the screen can choose from, against a real conversation: the session that is open here, models of an endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentclip import paths
from agentclip.cli.course import Course
from agentclip.cli.shelves import KnownModels, SavedSessions
from agentclip.config import Settings
from agentclip.errors import ConfigError, ErrorCode, ModelError, SessionError
from agentclip.model.choose import choose_model
from agentclip.runtime import Conversation, conversation, open_session
from agentclip.store.listing import list_sessions
from agentclip.ui.shelves import OfferedModel
from tests.fake_model.server import FakeModel, run, text


@dataclass
class Open:
    """A session at work."""

    course: Course
    talk: Conversation


@asynccontextmanager
async def at_work(settings: Settings, cwd: Path, environ: dict[str, str] | None = None) -> AsyncIterator[Open]:
    course = Course(settings, environ or {})
    model = choose_model(settings, course.environ)
    assert model is not None
    session = open_session(None, cwd, model.name)
    async with conversation(settings, model, session) as talk:
        course.talk = talk
        yield Open(course, talk)


def settings_for(server: FakeModel) -> Settings:
    return Settings(model="fake-model", api_base=server.url)


async def test_the_session_that_is_open_here_is_renamed_copied_and_described_but_not_removed(tmp_path: Path) -> None:
    with FakeModel([run("echo hi"), text("**done**")]) as server:
        async with at_work(settings_for(server), tmp_path) as here:
            shelf = SavedSessions(here.course)
            await here.talk.agent.turn("look around\nplease")
            identifier = here.talk.session.id
            shelf.rename(identifier, "another name")
            assert here.talk.agent.title == "another name"
            about = shelf.about(identifier)
            for part in (str(tmp_path), "model fake-model", identifier, "1 turn, 1 run", "> look around", "**done**"):
                assert part in about
            with pytest.raises(SessionError, match="open here"):
                shelf.delete(identifier)
            assert shelf.check(identifier) == identifier
            copy = shelf.fork(identifier)
            assert shelf.check(copy[:-2]) == copy
            shelf.delete(copy)
            assert [each.id for each in shelf.listed()] == [identifier]
        assert [facts.title for facts in list_sessions(paths.sessions_dir())] == ["another name"]


def test_what_is_not_there_is_a_session_error() -> None:
    shelf = SavedSessions(Course(Settings(), {}))
    assert list(shelf.listed()) == []
    for ask in (shelf.about, shelf.check, shelf.fork, shelf.delete):
        with pytest.raises(SessionError):
            ask("nosuch")
    with pytest.raises(SessionError):
        shelf.rename("nosuch", "x")


async def test_models_are_those_of_the_endpoint_in_use(tmp_path: Path) -> None:
    with FakeModel([text("b")], models=["fake-model", "big"], windows={"big": 32768}) as server:
        async with at_work(settings_for(server), tmp_path) as here:
            shelf = KnownModels(here.course)
            assert shelf.configured() == [OfferedModel("fake-model", "configured")]
            assert await shelf.offered() == [OfferedModel("fake-model", ""), OfferedModel("big", "32,768 tokens")]
            await shelf.use("big")
            assert here.talk.agent.model_name == "big"
            assert here.course.settings.model == "big"
            await here.talk.agent.turn("hi")
            assert server.last.body["model"] == "big"
            assert await shelf.offered()


async def test_names_keep_the_prefix_of_their_provider(tmp_path: Path) -> None:
    settings = Settings(model="openrouter/openrouter/auto")
    async with at_work(settings, tmp_path, {"OPENROUTER_API_KEY": "k"}) as here:
        shelf = KnownModels(here.course)
        assert [each.name for each in shelf.configured()] == ["openrouter/openrouter/auto"]
        model = here.talk.models[0]
        assert shelf.prefix(model) == "openrouter/"  # type: ignore[arg-type]  # it has a worker


async def test_what_goes_wrong_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    with FakeModel() as server:
        async with at_work(settings_for(server), tmp_path) as here:
            shelf = KnownModels(here.course)
            server.close()
            with pytest.raises(ModelError):
                await shelf.offered()
            with pytest.raises(ConfigError):
                await shelf.use("replay:/no/such/file")
            assert here.talk.agent.model_name == "fake-model"
            assert here.course.settings.model == "fake-model"


async def test_before_there_is_a_session_it_says_so() -> None:
    shelf = KnownModels(Course(Settings(model="x"), {}))
    with pytest.raises(ConfigError, match="still being made") as refused:
        await shelf.offered()
    assert refused.value.code is ErrorCode.UNAVAILABLE
    with pytest.raises(ConfigError, match="still being made"):
        await shelf.use("y")


def test_keys_are_not_in_what_a_course_says_of_itself() -> None:
    assert "secret" not in repr(Course(Settings(), {"OPENAI_API_KEY": "secret"}))
