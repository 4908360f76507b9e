"""Well-known endpoints, and which of them an environment has a key for.

Pure: no network, nothing is read but the mapping. Imports next to nothing: the first picture of the screen waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Route(StrEnum):
    """Which code in the worker talks to the endpoint."""

    DIRECT = "direct"
    """Chat completions over httpx: starts in a tenth of a second."""
    LITELLM = "litellm"
    """Any provider; loading it takes seconds."""


OWN_KEY_VARIABLE = "AGENTCLIP_API_KEY"
"""The key for an `--api-base` that is none of the well-known endpoints: their keys are never sent anywhere else."""


class Provider(Struct, frozen=True):
    """An endpoint."""

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
    route: Route = Route.DIRECT
    """DIRECT where it speaks chat completions."""

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
    Provider(
        "Anthropic",
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        ("claude-",),
        "claude-sonnet-4-5",
        Route.LITELLM,
    ),
    Provider(
        "Gemini",
        "gemini",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        ("gemini-",),
        "gemini-2.5-flash",
        Route.LITELLM,
    ),
    Provider("Ollama", "ollama", "http://127.0.0.1:11434/v1"),
    Provider("LM Studio", "lmstudio", "http://127.0.0.1:1234/v1"),
    Provider("llama.cpp", "llamacpp", "http://127.0.0.1:8080/v1"),
    Provider("vLLM", "vllm", "http://127.0.0.1:8000/v1"),
)

BY_LITELLM: tuple[Provider, ...] = (
    Provider("Azure", "azure", "", "AZURE_API_KEY", route=Route.LITELLM),
    Provider("Bedrock", "bedrock", "", route=Route.LITELLM),
    Provider("Cerebras", "cerebras", "", "CEREBRAS_API_KEY", route=Route.LITELLM),
    Provider("Cohere", "cohere_chat", "", "COHERE_API_KEY", route=Route.LITELLM),
    Provider("Fireworks", "fireworks_ai", "", "FIREWORKS_AI_API_KEY", route=Route.LITELLM),
    Provider("Hugging Face", "huggingface", "", "HUGGINGFACE_API_KEY", route=Route.LITELLM),
    Provider("NVIDIA NIM", "nvidia_nim", "", "NVIDIA_NIM_API_KEY", route=Route.LITELLM),
    Provider("Perplexity", "perplexity", "", "PERPLEXITYAI_API_KEY", route=Route.LITELLM),
    Provider("SambaNova", "sambanova", "", "SAMBANOVA_API_KEY", route=Route.LITELLM),
    Provider("Together", "together_ai", "", "TOGETHERAI_API_KEY", route=Route.LITELLM),
    Provider("Vertex", "vertex_ai", "", route=Route.LITELLM),
)
"""Named with their prefix; their addresses and all credentials but one key (AWS_*, GOOGLE_*, AZURE_API_BASE) litellm knows."""

KEY_VARIABLES: tuple[str, ...] = (
    OWN_KEY_VARIABLE,
    *(each.key_variable for each in (*PROVIDERS, *BY_LITELLM) if each.key_variable),
)


class Looked(Struct, frozen=True):
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


def usual_model(env: Mapping[str, str]) -> str | None:
    """A model of the first provider whose key is there; None when no key is."""
    found = (looked.provider.example for looked in find_providers(env) if looked.found and looked.provider.example)
    return next(found, None)
