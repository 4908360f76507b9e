"""`agentclip run`: one task without a screen. The answer goes to stdout, what happens meanwhile to stderr."""

from __future__ import annotations

import os
import select
import stat

import click

from agentclip.cli.options import environment_with_keys, model_options, settings_from
from agentclip.cli.output import log_to_file
from agentclip.errors import ConfigError, ErrorCode
from agentclip.model.choose import choose_model
from agentclip.model.unconfigured import first_screen

STDIN_WAIT_S = 0.5
"""How long a pipe on stdin may take to have its first byte; `sleep 1000 | agentclip run TASK` must not wait for ever."""
STDIN_PAUSE_S = 5.0
"""How long it may pause after that."""
MAX_STDIN_BYTES = 1024 * 1024


@click.command()
@click.argument("task")
@model_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--stream-json", is_flag=True, help="Each event as one line of JSON on stdout; the last line is the result.")
@click.option("--max-steps", type=click.IntRange(1), metavar="N", help="End the turn after N model calls.")
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="End the turn after N tokens, in and out.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="End the turn at this cost.")
@click.option("--max-time", type=click.IntRange(1), metavar="S", help="End the turn after S seconds.")
@click.option("--expect-file", "files", multiple=True, metavar="P", help="The task must create or modify this file.")
@click.option("--expect-cmd", "lines", multiple=True, metavar="LINE", help="This line must exit 0 after the task.")
@click.option("--resume", metavar="ID", help="Go on with a saved session.")
@click.option("--continue", "go_on", is_flag=True, help="Go on with the newest session of this directory.")
def command(
    task: str,
    model: str | None,
    api_base: str | None,
    provider: str | None,
    as_json: bool,
    stream_json: bool,
    max_steps: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    max_time: int | None,
    files: tuple[str, ...],
    lines: tuple[str, ...],
    resume: str | None,
    go_on: bool,
) -> int:
    """Do one TASK and print the answer. Text piped in is added to the task."""
    limits = {"max_steps": max_steps, "max_tokens": max_tokens, "max_cost_usd": max_cost, "max_time_s": max_time}
    settings = settings_from(model=model, api_base=api_base, provider=provider, **limits)
    if not task.strip():
        raise click.UsageError("TASK is empty")
    environ = environment_with_keys()
    chosen_model = choose_model(settings, environ)
    if chosen_model is None:
        missing = first_screen(environ)
        raise ConfigError(" ".join(missing[:2]), hint=missing[2], code=ErrorCode.MISSING_KEY)
    # The provider's process is starting: the rest of the program is imported meanwhile.
    from agentclip.cli import turn  # noqa: PLC0415  registered deferred import

    log_to_file()
    output = turn.Output.STREAM if stream_json else turn.Output.JSON if as_json else turn.Output.TEXT
    wanted = turn.Task(with_stdin(task), files, lines, resume, go_on, output)
    return turn.run(settings, chosen_model, wanted)


def with_stdin(task: str) -> str:
    """The task and the text that is piped in."""
    piped = piped_text().strip()
    return f"{task}\n\n<stdin>\n{piped}\n</stdin>" if piped else task


def piped_text() -> str:
    """What is piped in; empty when stdin is a terminal, closed, or a pipe that nobody writes to."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return ""
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return ""
    data = b""
    while len(data) <= MAX_STDIN_BYTES:
        if not select.select([0], [], [], STDIN_PAUSE_S if data else STDIN_WAIT_S)[0]:
            what = f"only its first {len(data)} bytes are used" if data else "nothing of it is used"
            click.echo(f"agentclip: stdin is open but nothing more came: {what}", err=True)
            break
        block = os.read(0, 1 << 16)
        if not block:
            break
        data += block
    if len(data) > MAX_STDIN_BYTES:
        click.echo(f"agentclip: stdin is long: only its first {MAX_STDIN_BYTES} bytes are used", err=True)
    return data[:MAX_STDIN_BYTES].decode("utf-8", "replace")
