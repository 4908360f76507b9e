"""`agentclip [PROMPT]`: the full-screen chat, or line by line. Imports next to nothing: the first picture waits for it."""

from __future__ import annotations

import gc
import os
from contextlib import nullcontext

import click

from agentclip.cli.course import Course
from agentclip.cli.options import environment_with_keys, model_options, settings_from
from agentclip.cli.terminals import is_screen, needs_lines
from agentclip.ui.first_picture import first_picture

SIGNALLED = 128
"""From this exit status on a signal ended the screen: no other session begins."""


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
        resume = _chosen(resume, go_on=go_on)  # what is wrong with it is said before there is any picture
    if on_screen and resume != "":
        with first_picture(settings.theme, os.environ, new=resume is None):
            from agentclip.cli.begin import begin  # noqa: PLC0415  registered deferred import

            status = begin(course, prompt, resume)
    else:
        status = _talk(course, prompt, resume, go_on=go_on, by_line=by_line)
    while course.ahead and status < SIGNALLED:
        status = _talk(course, None, course.ahead.pop(), go_on=False, by_line=by_line)
    return status


def _chosen(resume: str | None, *, go_on: bool) -> str | None:
    if not resume and not go_on:
        return resume
    from agentclip.cli.saved import chosen  # noqa: PLC0415  registered deferred import

    return chosen(resume, go_on=go_on)


def _talk(course: Course, prompt: str | None, resume: str | None, *, go_on: bool, by_line: bool) -> int:
    on_screen = is_screen() and not by_line
    with first_picture(course.settings.theme, os.environ, new=False) if on_screen else nullcontext():
        from agentclip.cli.talk import Wish, talk  # noqa: PLC0415  registered deferred import

        _let_go()
        return talk(course, Wish(prompt, resume, go_on=go_on, by_line=by_line))


def _let_go() -> None:
    """Free what a screen before this one has left: it took everything it had out of the collector's sight."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
