"""From settings to the Model of a session. Settings and keys come in; a Model goes out, its process already starting.

Light on purpose: the provider's process imports while the rest of the program does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from agentclip import paths
from agentclip.config import Settings
from agentclip.errors import ConfigError
from agentclip.model.base import Model
from agentclip.model.catalog import ModelChoice, make_model
from agentclip.model.protocol import Prices
from agentclip.model.providers import Route, usual_model
from agentclip.model.remote import WorkerModel


def choose_model(settings: Settings, environ: Mapping[str, str]) -> Model | None:
    """The configured model, or the usual one of the first provider with a key; None when there is neither.

    `environ` holds the keys too. A provider's process starts at once, so that its imports overlap with ours.

    Raises:
        ConfigError: nobody serves that name, its key is missing, a setting has no such value.
    """
    name = settings.model or ("default" if settings.api_base else usual_model(environ))
    if name is None:
        return None
    model = _made(settings, name, environ)
    if isinstance(model, WorkerModel):
        model.start()
    return model


def choose_light_model(settings: Settings, environ: Mapping[str, str]) -> Model | None:
    """The model of `loop.model`, at the same endpoint unless its name says otherwise; None when there is none configured.

    Its process starts with its first request. Raises ConfigError.
    """
    return None if settings.loop_model is None else _made(settings, settings.loop_model, environ)


def _made(settings: Settings, name: str, environ: Mapping[str, str]) -> Model:
    choice = ModelChoice(
        name,
        settings.api_base,
        key_variable=settings.api_key_env,
        key_file=None if settings.api_key_file is None else os.path.expanduser(settings.api_key_file),
        stall_timeout_s=settings.stall_s,
        images=settings.images,
        stream=settings.stream,
        route=None if settings.provider is None else Route(settings.provider),
        text_protocol=settings.tool_protocol == "text",
        context_window=settings.context_window or None,
        prices=_prices(settings.prices),
    )
    return make_model(choice, environ, paths.state_dir() / "model.log")


def _prices(entries: Sequence[str]) -> Prices | None:
    """`input=0.25`, `output=2` and perhaps `cached=0.025`. Raises ConfigError."""
    if not entries:
        return None
    given: dict[str, float] = {}
    for entry in entries:
        name, _, amount = entry.partition("=")
        if name not in {"input", "output", "cached"} or not re.fullmatch(r"\d{1,9}(\.\d+)?", amount):
            raise ConfigError(f"`model.prices` holds {entry!r}", hint="Allowed: input=0.25, output=2, cached=0.025")
        given[name] = float(amount)
    if not {"input", "output"} <= given.keys():
        raise ConfigError("`model.prices` needs `input` and `output`", hint="Write it as: input=0.25, output=2")
    return Prices(given["input"], given["output"], given.get("cached", given["input"]))
