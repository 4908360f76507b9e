"""From settings to the Model of a session. Settings and keys come in; a Model goes out, its process already starting.

Light on purpose: the provider's process imports while the rest of the program does.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentclip import paths
from agentclip.config import Settings
from agentclip.model.base import Model
from agentclip.model.catalog import ModelChoice, make_model
from agentclip.model.providers import find_providers
from agentclip.model.remote import WorkerModel


def choose_model(settings: Settings, environ: Mapping[str, str]) -> Model | None:
    """The configured model, or the usual one of the first provider with a key; None when there is neither.

    `environ` holds the keys too. A provider's process starts at once, so that its imports overlap with ours.

    Raises:
        ConfigError: nobody serves that name, or its key is missing.
    """
    name = settings.model or ("default" if settings.api_base else _usual_model(environ))
    if name is None:
        return None
    choice = ModelChoice(
        name,
        settings.api_base,
        key_variable=settings.api_key_env,
        stall_timeout_s=settings.stall_s,
        stream=settings.stream,
    )
    model = make_model(choice, environ, paths.state_dir() / "model.log")
    if isinstance(model, WorkerModel):
        model.start()
    return model


def first_screen(environ: Mapping[str, str]) -> tuple[str, ...]:
    """What to say when no model is configured: what was looked for, and what can be done all the same."""
    keys = [looked.provider.key_variable for looked in find_providers(environ) if not looked.provider.is_local]
    servers = [looked.provider for looked in find_providers(environ) if looked.provider.is_local]
    return (
        "No model is configured.",
        f"Looked for a key in: {', '.join(keys)} (none is set), and for `model.name` in {paths.config_file()}.",
        "A local server works without a key: " + ", ".join(f"{each.name} --api-base {each.api_base}" for each in servers),
        "What works now: lines that begin with ! run through both layers, for example  !ls -la | head 5",
        "See a recorded session whose commands really run:  agentclip demo",
    )


def _usual_model(environ: Mapping[str, str]) -> str | None:
    found = (looked.provider.example for looked in find_providers(environ) if looked.found and looked.provider.example)
    return next(found, None)
