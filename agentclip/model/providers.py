"""Well-known endpoints, and which of them an environment has a key for. Pure: no network, nothing is read but the mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OWN_KEY_VARIABLE = "AGENTCLIP_API_KEY"
"""The key for an `--api-base` that is none of the well-known endpoints: their keys are never sent anywhere else."""


@dataclass(frozen=True, slots=True)
class Provider:
    """An endpoint that speaks chat completions."""

    name: str
    prefix: str
    """`openrouter` in `--model openrouter/NAME`."""
    api_base: str
    key_variable: str = ""
    """Empty for a local server, which needs none."""
    model_names: tuple[str, ...] = ()
    """Beginnings of model names that are its own and need no prefix."""
    example: str = ""
    """A value for `--model`, for hints; empty where only the person knows what is installed."""

    @property
    def is_local(self) -> bool:
        """Runs on this machine."""
        return not self.key_variable


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        "OpenAI", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", ("gpt-", "o1", "o3", "o4", "chatgpt-"), "gpt-5-mini"
    ),
    Provider(
        "OpenRouter", "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", (), "openrouter/openrouter/auto"
    ),
    Provider("DeepSeek", "deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", ("deepseek-",), "deepseek-chat"),
    Provider("Groq", "groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", (), "groq/openai/gpt-oss-120b"),
    Provider(
        "Mistral",
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        ("mistral-", "magistral-", "devstral-", "codestral-", "ministral-"),
        "mistral-medium-latest",
    ),
    Provider("xAI", "xai", "https://api.x.ai/v1", "XAI_API_KEY", ("grok-",), "grok-4"),
    Provider("Ollama", "ollama", "http://127.0.0.1:11434/v1"),
    Provider("LM Studio", "lmstudio", "http://127.0.0.1:1234/v1"),
    Provider("llama.cpp", "llamacpp", "http://127.0.0.1:8080/v1"),
    Provider("vLLM", "vllm", "http://127.0.0.1:8000/v1"),
)

KEY_VARIABLES: tuple[str, ...] = (OWN_KEY_VARIABLE, *(provider.key_variable for provider in PROVIDERS if provider.key_variable))


@dataclass(frozen=True, slots=True)
class Looked:
    """What was looked for."""

    provider: Provider
    found: bool | None
    """Whether its key is set; None for a local server, of which only a connection would tell."""


def find_providers(env: Mapping[str, str]) -> tuple[Looked, ...]:
    """Every well-known endpoint in order of preference, and whether `env` holds its key."""
    return tuple(Looked(provider, None if provider.is_local else has_key(provider, env)) for provider in PROVIDERS)


def has_key(provider: Provider, env: Mapping[str, str]) -> bool:
    """Whether the environment holds a key of the provider; a blank one is none."""
    return bool(provider.key_variable and env.get(provider.key_variable, "").strip())
