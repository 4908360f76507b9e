"""Names become endpoints; keys go only where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentclip.errors import ConfigError, ErrorCode
from agentclip.model.catalog import ModelChoice, make_model, provider_settings
from agentclip.model.providers import KEY_VARIABLES, PROVIDERS, find_providers
from agentclip.model.remote import WorkerModel
from agentclip.model.replay import ReplayModel

KEYS = {"OPENAI_API_KEY": "sk-openai", "OPENROUTER_API_KEY": "sk-or", "AGENTCLIP_API_KEY": "sk-own"}
LOCAL = "http://127.0.0.1:8080/v1"


def chosen(model: str, env: dict[str, str] | None = None, **more: Any) -> tuple[str, str, str, str]:
    settings = provider_settings(ModelChoice(model, **more), KEYS if env is None else env)
    return settings.api_base, settings.model, settings.key, settings.key_variable


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("gpt-5-mini", ("https://api.openai.com/v1", "gpt-5-mini", "sk-openai", "OPENAI_API_KEY")),
        ("openai/anything", ("https://api.openai.com/v1", "anything", "sk-openai", "OPENAI_API_KEY")),
        ("openrouter/a/b", ("https://openrouter.ai/api/v1", "a/b", "sk-or", "OPENROUTER_API_KEY")),
        ("ollama/qwen3:8b", ("http://127.0.0.1:11434/v1", "qwen3:8b", "", "")),
    ],
)
def test_a_name_finds_its_well_known_endpoint(model: str, found: tuple[str, ...]) -> None:
    assert chosen(model) == found


def test_the_only_endpoint_with_a_key_serves_a_name_that_is_nobodys() -> None:
    env = {"GROQ_API_KEY": "gsk", "OPENAI_API_KEY": " "}
    assert chosen("llama-9", env) == ("https://api.groq.com/openai/v1", "llama-9", "gsk", "GROQ_API_KEY")


@pytest.mark.parametrize("env", [{}, KEYS])
def test_a_name_that_nobody_serves_says_the_ways_out(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"llama-9.*--api-base URL.*openrouter") as caught:
        chosen("llama-9", env)
    assert caught.value.code is ErrorCode.UNKNOWN_MODEL


def test_a_missing_key_names_its_variable() -> None:
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY is not set") as caught:
        chosen("deepseek-chat")
    assert caught.value.code is ErrorCode.MISSING_KEY


def test_the_key_of_a_well_known_endpoint_is_never_sent_to_another_address() -> None:
    assert chosen("gpt-5-mini", api_base="https://gateway.example/v1")[2:] == ("sk-own", "AGENTCLIP_API_KEY")
    assert chosen("gpt-5-mini", {"OPENAI_API_KEY": "sk-openai"}, api_base=LOCAL)[2] == ""
    assert chosen("gpt-5-mini", api_base="https://api.openai.com.evil.example/v1")[2] == "sk-own"
    assert chosen("gpt-5-mini", api_base="http://api.openai.com/v1")[2] == "sk-own"
    assert chosen("gpt-5-mini", api_base="https://api.openai.com:444/v1")[2] == "sk-own"


def test_an_address_that_is_well_known_gets_its_key_however_it_is_written() -> None:
    base, model, key, _ = chosen("openai/gpt-5-mini", api_base=" https://api.openai.com/v1/chat/completions/ ")
    assert (base, model, key) == ("https://api.openai.com/v1", "gpt-5-mini", "sk-openai")


def test_the_name_is_left_alone_at_an_address_of_ones_own() -> None:
    assert chosen("openai/gpt-oss-20b", api_base=LOCAL)[1] == "openai/gpt-oss-20b"


def test_openai_may_be_moved_by_its_own_variable() -> None:
    env = {**KEYS, "OPENAI_BASE_URL": "https://eu.example/v1/"}
    assert chosen("gpt-5-mini", env)[:3] == ("https://eu.example/v1", "gpt-5-mini", "sk-openai")


def test_a_key_given_otherwise_wins() -> None:
    assert chosen("gpt-5-mini", key="sk-file\n")[2] == "sk-file"


@pytest.mark.parametrize(
    "base",
    [
        "127.0.0.1:8080",
        "ftp://host",
        "http://",
        "http://[::1",
        "http://127.0.0.1:99999/v1",
        "http://ho st/v1",
        "http://a\nb/v1",
        "\ud800",
    ],
)
def test_what_is_no_address_is_refused(base: str) -> None:
    with pytest.raises(ConfigError, match="is not an address") as caught:
        chosen("m", api_base=base)
    str(caught.value).encode()


def test_no_model_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="no model"):
        chosen(" ")


def test_the_key_is_not_in_the_text_of_the_settings() -> None:
    choice = ModelChoice("gpt-5-mini", key="sk-hidden")
    assert "sk-hidden" not in repr(choice) + repr(provider_settings(choice, {}))


def test_a_recording_and_an_endpoint_become_models_without_starting_anything(tmp_path: Path) -> None:
    demo = make_model(ModelChoice("replay:demo"), {}, tmp_path / "log")
    assert isinstance(demo, ReplayModel)
    assert demo.name == "replay:demo"
    remote = make_model(ModelChoice("m", LOCAL), {}, tmp_path / "log")
    assert isinstance(remote, WorkerModel)
    assert (remote.name, remote.worker_pid, (tmp_path / "log").exists()) == ("m", None, False)


def test_what_was_looked_for_is_told_without_looking_anywhere_else() -> None:
    looked = {one.provider.name: one.found for one in find_providers({"XAI_API_KEY": "k", "GROQ_API_KEY": ""})}
    assert looked["xAI"] is True
    assert looked["Groq"] is looked["OpenAI"] is False
    assert looked["Ollama"] is looked["vLLM"] is None
    assert len(looked) == len(PROVIDERS)


def test_every_example_is_served_by_its_own_endpoint() -> None:
    env = dict.fromkeys(KEY_VARIABLES, "k")
    for provider in PROVIDERS:
        if provider.example:
            assert chosen(provider.example, env)[0] == provider.api_base
