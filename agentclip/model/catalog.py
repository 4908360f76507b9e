"""From a model's name to a Model. Names, addresses and an environment come in; no connection is made here.

replay:FILE         a recording (`replay:demo` is the one that ships)
PREFIX/NAME         a well-known endpoint, `openrouter/NAME`, `ollama/NAME`, or a provider of litellm's, `bedrock/NAME`
NAME                the endpoint that `api_base` names, or the one whose models are called so, or the only one with a key
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from agentclip.errors import ConfigError, ErrorCode
from agentclip.keystore import KeyFile, check
from agentclip.model.base import Model
from agentclip.model.protocol import Prices, ProviderSettings
from agentclip.model.providers import BY_LITELLM, OWN_KEY_VARIABLE, PROVIDERS, Provider, Route, has_key
from agentclip.model.remote import WorkerModel
from agentclip.model.replay import DEMO, PREFIX, ReplayModel
from agentclip.model.wire import clean


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What the configuration says of the model."""

    model: str
    """As the person writes it."""
    api_base: str | None = None
    """`http://127.0.0.1:8080/v1`; None for the well-known endpoint that the name belongs to."""
    key: str | None = field(default=None, repr=False)
    """A key from elsewhere than the environment; None to take it from a variable."""
    key_variable: str | None = None
    """The variable that holds the key; None for the endpoint's own."""
    stall_timeout_s: float = 120.0
    images: bool = True
    """False when the model is known to take text only."""
    stream: bool = True
    route: Route | None = None
    """None for the one that fits the endpoint."""
    key_file: str | None = None
    """Holds the key alone; goes before every variable. Only the provider's process reads it."""
    text_protocol: bool = False
    """The model has no tool calling."""
    context_window: int | None = None
    """None to find it out."""
    prices: Prices | None = None
    """None to believe the provider or the tables."""


def make_model(choice: ModelChoice, env: Mapping[str, str], log: Path) -> Model:
    """The model of that name; its process, when it needs one, writes its stderr to `log` and is not started yet.

    Raises:
        ConfigError: nobody serves that name, its key is missing, the recording is not readable.
    """
    if choice.model.startswith(PREFIX):
        name = choice.model.removeprefix(PREFIX)
        return ReplayModel(DEMO if name == DEMO.stem else Path(name))
    # Every other model runs in the worker; which provider serves it there is decided by `worker.make_endpoint`.
    return WorkerModel(choice.model, provider_settings(choice, env), log)


def provider_settings(choice: ModelChoice, env: Mapping[str, str]) -> ProviderSettings:
    """Where the model is and with which key.

    Raises:
        ConfigError: no such endpoint, not an address, the key is missing or its file open to others.
    """
    if not choice.model.strip():
        raise ConfigError("no model is chosen", hint="Pass --model NAME", code=ErrorCode.MISSING_KEY)
    place = _place(choice, env)
    key, variable, file = ("", choice.key_file, choice.key_file) if choice.key_file else _key(choice, place, env)
    if file:
        check(file)
    provider = place.provider
    return ProviderSettings(
        model=clean(place.model),
        api_base=place.api_base,
        key=clean(key),
        key_variable=variable,
        key_file=file,
        stall_timeout_s=choice.stall_timeout_s,
        images=choice.images,
        stream=choice.stream,
        route=place.route,
        litellm_provider=place.litellm_provider,
        well_known=place.well_known,
        known_as=f"{provider.prefix}/{place.model}" if provider is not None and place.well_known else "",
        text_protocol=choice.text_protocol,
        context_window=choice.context_window,
        prices=choice.prices,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Who serves the model, and how."""

    model: str
    """As the endpoint knows it."""
    api_base: str
    """Empty where only litellm knows the address."""
    provider: Provider | None
    """None for an address that is none of the well-known."""
    route: Route
    litellm_provider: str = ""
    well_known: bool = True


def _place(choice: ModelChoice, env: Mapping[str, str]) -> _Place:
    model, provider, well_known = choice.model, None, True
    if choice.api_base:
        base = clean_base(choice.api_base)
        provider = next((known for known in PROVIDERS if _server(known.api_base) == _server(base)), None)
        well_known = provider is not None
    else:
        provider, base = _endpoint_of(choice, env)
        well_known = base == provider.api_base
    if provider is not None and model.startswith(f"{provider.prefix}/"):
        model = model.removeprefix(f"{provider.prefix}/")
    route = choice.route or (Route.DIRECT if provider is None else provider.route)
    if route is Route.DIRECT:
        if provider is not None and provider.route is Route.LITELLM:
            raise ConfigError(f"the direct route does not speak with {provider.name}", hint="Leave --provider out")
        return _Place(model, base, provider, route, well_known=well_known)
    litellm_provider = "openai"
    if provider is not None and provider.route is Route.LITELLM:
        litellm_provider = provider.prefix
    elif provider is None and (served := _served_by_litellm(model)) is not None:
        litellm_provider, model = served.prefix, model.removeprefix(f"{served.prefix}/")
    return _Place(model, base, provider, route, litellm_provider, well_known)


def _served_by_litellm(model: str) -> Provider | None:
    known = (provider for provider in (*PROVIDERS, *BY_LITELLM) if provider.route is Route.LITELLM)
    return next((provider for provider in known if model.startswith(f"{provider.prefix}/")), None)


def _key(choice: ModelChoice, place: _Place, env: Mapping[str, str]) -> tuple[str, str, str]:
    """The key, the variable it comes from or should come from, and the file that holds it in place of the variable."""
    provider = place.provider
    variable = choice.key_variable or (OWN_KEY_VARIABLE if provider is None else provider.key_variable)
    key = choice.key if choice.key is not None else env.get(variable, "")
    if isinstance(key, KeyFile):
        return "", variable, str(key)
    key = key.strip()
    if not key and (choice.key_variable or (provider is not None and provider.key_variable)):
        raise ConfigError(
            f"no key for {place.api_base if provider is None else provider.name}: {variable} is not set",
            hint=f"Set it with: export {variable}=..., or store it: agentclip keys set {variable}",
            code=ErrorCode.MISSING_KEY,
        )
    return key, variable, ""


def _endpoint_of(choice: ModelChoice, env: Mapping[str, str]) -> tuple[Provider, str]:
    """The well-known endpoint that a name belongs to, and its address; empty where only litellm knows it."""
    model, (prefix, slash, name) = choice.model, choice.model.partition("/")
    with_key = [provider for provider in PROVIDERS if has_key(provider, env)]
    candidates = [
        *(provider for provider in (*PROVIDERS, *BY_LITELLM) if model.startswith(f"{provider.prefix}/")),
        *(provider for provider in PROVIDERS if model.startswith(provider.model_names)),
    ]
    if not candidates and choice.route is Route.LITELLM and slash and name:
        variable = f"{prefix.upper()}_API_KEY"
        candidates = [Provider(prefix, prefix, "", variable if env.get(variable) else "", route=Route.LITELLM)]
    if not candidates and len(with_key) == 1:
        candidates = with_key
    if not candidates:
        raise ConfigError(
            f"nobody is known to serve the model {clean(model)}",
            hint="Pass --api-base URL, or write PROVIDER/NAME with one of "
            + ", ".join(provider.prefix for provider in (*PROVIDERS, *BY_LITELLM)),
            code=ErrorCode.UNKNOWN_MODEL,
        )
    provider = candidates[0]
    moved = env.get("OPENAI_BASE_URL", "").strip() if provider.prefix == "openai" else ""
    return provider, clean_base(moved) if moved else provider.api_base


def clean_base(api_base: str) -> str:
    """The address without what people add to it.

    Raises:
        ConfigError: not an http address.
    """
    base = clean(api_base).strip().rstrip("/").removesuffix("/chat/completions")
    if not base.startswith(("http://", "https://")) or _server(base) is None or not base.isprintable() or " " in base:
        raise ConfigError(f"api base {clean(api_base)!r} is not an address", hint="Write it as http://127.0.0.1:8080/v1")
    return base


def _server(address: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port; None when there is no host or the address cannot be split."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None
