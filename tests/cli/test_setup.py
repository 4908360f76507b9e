"""A first model from the screen, whole: places, keys on disk, trials against a real server, and what stands in the files."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentclip import paths
from agentclip.cli.course import DEMO, Course
from agentclip.cli.setup import OTHER, ModelSetup
from agentclip.config import Settings
from agentclip.errors import ConfigError, ErrorCode, ModelError
from agentclip.events import TurnEnd
from agentclip.keystore import KeyFile, put, stored
from agentclip.model.unconfigured import UnconfiguredModel
from agentclip.runtime import conversation, open_session
from agentclip.ui.setup_api import Wish
from tests.fake_model.server import FakeModel, text
from tests.ui.pty_session import on_terminal

SECRET = "ac-secret-222"


@asynccontextmanager
async def without_model(cwd: Path, environ: dict[str, str]) -> AsyncIterator[tuple[Course, ModelSetup]]:
    course = Course(Settings(), environ)
    model = UnconfiguredModel()
    session = open_session(None, cwd, model.name)
    async with conversation(course.settings, model, session) as talk:
        course.talk = talk
        setup = ModelSetup(course)
        try:
            yield course, setup
        finally:
            await setup.give_up()


async def test_a_key_and_a_model_are_tried_kept_and_used_in_the_same_session(tmp_path: Path) -> None:
    own = paths.config_file()
    own.parent.mkdir(parents=True)
    own.write_text('# mine\n[model]\napi_key_file = "~/old"\n[run]\ntimeout_s = 5\n')
    with FakeModel([text("ok"), text("hello")], key=SECRET, models=["small"]) as server:
        async with without_model(tmp_path, {"OPENAI_BASE_URL": server.url}) as (course, setup):
            place = next(each for each in setup.places() if each.id == "openai")
            assert place.key_source == ""
            with pytest.raises(ModelError, match="refuses the key"):
                await setup.offered(Wish(place, key="wrong"))
            wish = Wish(place, key=f" {SECRET} ")
            assert [each.name for each in await setup.offered(wish)] == ["small"]
            await setup.try_out(wish, "small")
            assert stored(paths.keys_dir()) == {}
            assert str(paths.keys_dir() / "OPENAI_API_KEY") in await setup.keep(wish, "small")
            assert course.talk is not None
            ended = await course.talk.agent.turn("hi")
            assert (ended.reason, course.talk.agent.model_name) == (TurnEnd.ANSWERED, "openai/small")
            assert server.violations == []
            assert isinstance(course.environ["OPENAI_API_KEY"], KeyFile)
    assert (paths.keys_dir() / "OPENAI_API_KEY").read_text() == f"{SECRET}\n"
    assert own.read_text().startswith("# mine\n")
    assert tomllib.loads(own.read_text()) == {"model": {"name": "openai/small"}, "run": {"timeout_s": 5}}


async def test_what_is_tried_and_not_kept_leaves_nothing(tmp_path: Path) -> None:
    with FakeModel([text("ok")], models=["small"]) as server:
        async with without_model(tmp_path, {}) as (_, setup):
            wish = setup.at(f"{server.url}/")
            assert wish == Wish(OTHER, server.url)
            await setup.try_out(wish, "small")
    assert not paths.config_file().exists()
    assert not paths.keys_dir().exists()


async def test_places_with_a_key_come_first_and_say_where_it_is(tmp_path: Path) -> None:
    file = put(tmp_path / "keys", "GROQ_API_KEY", SECRET)
    async with without_model(tmp_path, {"XAI_API_KEY": "k", "GROQ_API_KEY": KeyFile(file)}) as (course, setup):
        places = setup.places()
        assert [(each.id, each.key_source) for each in places[:2]] == [("groq", str(file)), ("xai", "environment")]
        assert places[-1] == OTHER
        setup.play_demo()
        assert course.ahead == [None, DEMO]


async def test_a_known_address_is_its_provider_and_nonsense_is_none(tmp_path: Path) -> None:
    async with without_model(tmp_path, {}) as (_, setup):
        assert setup.at("https://api.groq.com/openai/v1/").place.id == "groq"
        assert setup.at("http://127.0.0.1:11434/v1").place.id == "ollama"
        with pytest.raises(ConfigError, match="is not an address"):
            setup.at("nowhere")


async def test_a_variable_that_goes_before_the_kept_key_is_named(tmp_path: Path) -> None:
    with FakeModel([text("ok", repeat=True)], key=SECRET, models=["small"]) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "old"}
        async with without_model(tmp_path, environ) as (_, setup):
            place = next(each for each in setup.places() if each.id == "openai")
            with pytest.raises(ModelError) as refused:
                await setup.try_out(Wish(place), "small")
            assert refused.value.code is ErrorCode.BAD_KEY
            told = await setup.keep(Wish(place, key=SECRET), "small")
            assert "the environment's OPENAI_API_KEY goes before" in told


def test_from_nothing_to_an_answer_in_a_terminal_and_the_key_is_nowhere_but_in_its_file() -> None:
    with FakeModel([text("ok"), text("hello there"), text("welcome back")], key=SECRET, models=["small"]) as server:
        with on_terminal("-m", "agentclip", size=(100, 30)) as session:
            session.wait_for("Where shall the model be?")
            session.type("another")
            session.wait_for("(1 of 1,")
            session.type("\r")
            session.wait_for("Address of the server")
            session.type(server.url)
            session.wait_for(server.url)
            session.type("\r")
            session.wait_for("Key for Another address")
            session.type(f"\x1b[200~{SECRET}\x1b[201~")
            session.wait_for("•" * len(SECRET))
            session.type("\r")
            session.wait_for("Models of Another address")
            session.type("\r")
            session.wait_for("small answers from here on")
            session.type("hi\r")
            session.wait_for("hello there")
            session.type("\x04")
            assert session.wait_for_end() == 0
            assert SECRET.encode() not in session.sent
        file = paths.keys_dir() / "AGENTCLIP_API_KEY"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        home = Path(os.environ["HOME"])
        assert [each for each in home.rglob("*") if each.is_file() and SECRET.encode() in each.read_bytes()] == [file]
        with on_terminal("-m", "agentclip", "hi again", size=(100, 30)) as session:
            session.wait_for("welcome back")
            session.wait_for(" idle ")
            session.type("\x04")
            assert session.wait_for_end() == 0
        assert server.violations == []


def test_the_demo_of_the_first_screen_leads_back_to_it() -> None:
    with on_terminal("-m", "agentclip", size=(100, 30)) as session:
        session.wait_for("Where shall the model be?")
        session.type("demo")
        session.wait_for("(1 of 1,")
        session.type("\r")
        session.wait_for("replay:demo")
        session.type("\x04")
        session.wait_for("Where shall the model be?")
        session.type("\x1b")
        session.wait_for(lambda: "Where shall" not in session.text)
        session.type("!echo $((6 * 7))\r")
        session.wait_for("= 42")
        session.type("\x04")
        assert session.wait_for_end() == 0
