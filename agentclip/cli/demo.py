"""`agentclip demo`: a recorded conversation whose commands are really run, on the screen or as text."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from agentclip import runtime
from agentclip.cli.options import settings_from
from agentclip.cli.output import log_to_file, say
from agentclip.cli.screen import Opening, show
from agentclip.cli.terminals import is_screen
from agentclip.config import Settings
from agentclip.events import AssistantReplied, CommandFinished, Event, TurnEnd, TurnFinished
from agentclip.model.base import Model
from agentclip.model.choose import choose_model
from agentclip.store.session import Session

MODEL = "replay:demo"
PROMPT = "Show me what you can do. (This is a recording; the commands really run, in a scratch folder.)"


@click.command()
@click.option("--text", "as_text", is_flag=True, help="Play it as text, without the screen.")
@click.option("--theme", metavar="NAME", help="Theme of the screen.")
def command(as_text: bool, theme: str | None) -> int:
    """Play a recorded conversation whose commands really run. Needs no key and no network."""
    if as_text or not is_screen():
        return play_as_text()
    return play_on_screen(settings_from(model=MODEL, theme=theme))


def play_on_screen(settings: Settings) -> int:
    """Play it on the screen until the person quits."""
    settings = replace(settings, model=MODEL, api_base=None)
    with tempfile.TemporaryDirectory(prefix="agentclip-demo-") as folder:
        model, session = _opened(settings, folder)
        return asyncio.run(show(settings, model, session, Opening(PROMPT)))


def play_as_text() -> int:
    """Play it on stdout; the exit status is 0 unless something broke."""
    settings = settings_from(model=MODEL)
    log_to_file()
    with tempfile.TemporaryDirectory(prefix="agentclip-demo-") as folder:
        end = asyncio.run(_play(settings, folder))
    return 0 if end.reason is TurnEnd.ANSWERED else 1


async def _play(settings: Settings, folder: str) -> TurnFinished:
    model, session = _opened(settings, folder)
    async with runtime.conversation(settings, model, session) as talk:
        talk.agent.subscribe(_print)
        say(f"> {PROMPT}\n")
        return await talk.agent.turn(PROMPT)


def _opened(settings: Settings, folder: str) -> tuple[Model, Session]:
    model = choose_model(settings, {})
    assert model is not None, "the recording ships"
    return model, runtime.open_session(None, Path(folder), model.name)


def _print(event: Event) -> None:
    match event:
        case AssistantReplied(message) if message.text:
            say(message.text + "\n")
        case CommandFinished(result=result, shown=shown):
            say(f"$ {result.chain.source}\n{shown.text}\n")
        case _:
            pass
