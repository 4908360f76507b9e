"""`agentclip models`: what an endpoint offers."""

from __future__ import annotations

import asyncio

import click
from msgspec import to_builtins

from agentclip.cli.options import environment_with_keys, model_options, settings_from
from agentclip.cli.output import say, say_json
from agentclip.errors import ConfigError, ErrorCode
from agentclip.model.base import ModelFacts
from agentclip.model.choose import choose_model
from agentclip.model.remote import WorkerModel
from agentclip.model.unconfigured import first_screen


@click.command()
@model_options
@click.argument("endpoint", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(endpoint: str | None, model: str | None, api_base: str | None, provider: str | None, as_json: bool) -> int:
    """List the models of the configured endpoint, or of ENDPOINT (openrouter, ollama, anthropic, ...)."""
    name = f"{endpoint}/any" if endpoint else model
    settings = settings_from(model=name, api_base=api_base, provider=provider)
    environ = environment_with_keys()
    chosen = choose_model(settings, environ)
    if chosen is None:
        lines = first_screen(environ)
        raise ConfigError(" ".join(lines[:2]), hint=lines[2], code=ErrorCode.MISSING_KEY)
    if not isinstance(chosen, WorkerModel):
        raise ConfigError(f"{chosen.name} is a recording", hint="Name an endpoint: agentclip models openrouter")
    found = asyncio.run(_listed(chosen))
    if as_json:
        say_json({"ok": True, "endpoint": chosen.settings.where, "models": [to_builtins(facts) for facts in found]})
        return 0
    for facts in found:
        window = "" if facts.context_window is None else f"{facts.context_window:,} tokens"
        pictures = {True: "text and pictures", False: "text only", None: ""}[facts.images]
        say(f"{facts.name:50} {window:>17}  {pictures}".rstrip())
    return 0


async def _listed(model: WorkerModel) -> tuple[ModelFacts, ...]:
    try:
        return await model.models()
    finally:
        await model.aclose()
