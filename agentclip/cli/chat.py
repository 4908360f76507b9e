"""`agentclip [PROMPT]`: the full-screen chat, or line by line. Imports next to nothing: the first picture waits for it."""

from __future__ import annotations

import gc
import os
from contextlib import nullcontext

import click

from agentclip import paths
from agentclip.cli.course import Course
from agentclip.cli.options import environment_with_keys, model_options, settings_from
from agentclip.cli.terminals import is_screen, needs_lines
from agentclip.ui.first_picture import first_picture


@click.command()
@click.argument("prompt", required=False)
@model_options
@click.option("--resume", is_flag=False, flag_value="", metavar="[ID]", help="Go on with a saved session.")
@click.option("--continue", "go_on", is_flag=True, help="Go on with the newest session of this directory.")
@click.option("--theme", metavar="NAME", help="Theme of the screen.")
@click.option("--line", "by_line", is_flag=True, help="Line by line, without the full screen.")
def command(
    prompt: str | None,
    model: str | None,
    api_base: str | None,
    provider: str | None,
    resume: str | None,
    go_on: bool,
    theme: str | None,
    by_line: bool,
) -> int:
    """Full-screen chat; a PROMPT is sent at once."""
    settings = settings_from(model=model, api_base=api_base, provider=provider, theme=theme)
    by_line = by_line or needs_lines()
    course = Course(settings, environment_with_keys())
    on_screen = is_screen() and not by_line
    if on_screen:
        gc.disable()  # it would walk ten times through modules that stay, 20 ms of them; the screen turns it on
    if on_screen and resume:
        from agentclip.store.listing import find  # noqa: PLC0415  registered deferred import

        find(paths.sessions_dir(), resume)  # a misspelt id is said without any picture before
    if on_screen and resume is None and not go_on:
        with first_picture(settings.theme, os.environ):
            from agentclip.cli.begin import begin  # noqa: PLC0415  registered deferred import

            status = begin(course, prompt)
        if not course.ahead:
            return status
        prompt, resume = None, course.ahead.pop()
        _let_go()
    with first_picture(settings.theme, os.environ, new=False) if on_screen else nullcontext():
        from agentclip.cli.talk import Wish, talk  # noqa: PLC0415  registered deferred import

        status = talk(course, Wish(prompt, resume, go_on=go_on, by_line=by_line))
    while course.ahead:
        _let_go()
        status = talk(course, Wish(None, course.ahead.pop(), go_on=False, by_line=by_line))
    return status


def _let_go() -> None:
    """Free what the screen before has left: it took everything it had out of the collector's sight."""
    gc.unfreeze()
    gc.collect()
