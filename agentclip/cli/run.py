"""`agentclip run`: one task without a screen. The answer goes to stdout, what happens meanwhile to stderr."""

from __future__ import annotations

import asyncio
import os
import select
import stat

import click

from agentclip.cli.options import environment_with_keys, model_options, settings_from
from agentclip.cli.output import log_to_file
from agentclip.errors import ConfigError, ErrorCode
from agentclip.model.choose import choose_model, first_screen

STDIN_WAIT_S = 0.5
"""How long a pipe on stdin may take to have its first byte; `sleep 1000 | agentclip run TASK` must not wait for ever."""
MAX_STDIN_BYTES = 1024 * 1024


@click.command()
@click.argument("task")
@model_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--max-steps", type=click.IntRange(1), metavar="N", help="End the turn after N model calls.")
@click.option("--resume", metavar="ID", help="Go on with a saved session.")
@click.option("--continue", "go_on", is_flag=True, help="Go on with the newest session of this directory.")
def command(
    task: str,
    model: str | None,
    api_base: str | None,
    provider: str | None,
    as_json: bool,
    max_steps: int | None,
    resume: str | None,
    go_on: bool,
) -> int:
    """Do one TASK and print the answer. Text piped in is added to the task."""
    settings = settings_from(model=model, api_base=api_base, provider=provider, max_steps=max_steps)
    environ = environment_with_keys()
    chosen_model = choose_model(settings, environ)
    if chosen_model is None:
        lines = first_screen(environ)
        raise ConfigError(" ".join(lines[:2]), hint=lines[2], code=ErrorCode.MISSING_KEY)
    # The provider's process is starting: the rest of the program is imported meanwhile.
    from agentclip.cli import sessions, turn  # noqa: PLC0415  registered deferred import

    log_to_file()
    piped = piped_text()
    text = f"{task}\n\n<stdin>\n{piped}\n</stdin>" if piped else task
    work = turn.turn(settings, chosen_model, text, sessions.chosen(resume, go_on=go_on))
    return asyncio.run(work).report(as_json=as_json)


def piped_text() -> str:
    """What is piped in; empty when stdin is a terminal, closed, or a pipe that nobody writes to."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return ""
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return ""
    data = b""
    while len(data) < MAX_STDIN_BYTES and select.select([0], [], [], STDIN_WAIT_S)[0]:
        block = os.read(0, 1 << 16)
        if not block:
            break
        data += block
    return data[:MAX_STDIN_BYTES].decode("utf-8", "replace").strip()
