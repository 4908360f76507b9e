"""`agentclip exec`: one line through both layers, without any model."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import to_builtins

from agentclip import config, foreign, runtime
from agentclip.cli.document import document, refusal
from agentclip.cli.options import inherited_environment, working_directory
from agentclip.cli.output import say, say_json
from agentclip.cli.size import as_document, size_of, table
from agentclip.errors import CommandError
from agentclip.results import Chain, Stage
from agentclip.shell.jobs import Job
from agentclip.shell.state import command_environment


@click.command()
@click.argument("line", required=False)
@click.option("--raw", is_flag=True, help="A drop-in for bash -c: streams and exit status as they are, nothing added.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--dry-run", is_flag=True, help="Show the plan; run nothing.")
@click.option("--file", "file", metavar="F", help="Read the line from a file, - for stdin.")
@click.option("--timeout", "timeout_s", type=click.IntRange(1), metavar="S", help="Time limit in seconds.")
@click.option("--stats", is_flag=True, help="Show what the line costs the model's context: bytes and estimated tokens.")
@click.option("--print-tool-description", is_flag=True, help="Print what the model is told about its tool.")
def command(
    line: str | None,
    raw: bool,
    as_json: bool,
    dry_run: bool,
    file: str | None,
    timeout_s: int | None,
    stats: bool,
    print_tool_description: bool,
) -> int:
    """Run one LINE without any model and show exactly what the model would read."""
    settings = config.load(os.environ, working_directory(), {} if timeout_s is None else {"timeout_s": timeout_s})
    if print_tool_description:
        say(runtime.tool_description())
        return 0
    source = _source(line, file)
    if raw:
        return _raw(settings, source)
    environment = command_environment(os.environ, settings.pass_env)
    with runtime.lines(settings, environment, name_survivors) as runner:
        if dry_run:
            return _show_plan(runner.executor.plan(source), as_json=as_json)
        if stats:
            return _stats(runner, source, as_json=as_json)
        return _run(runner, source, as_json=as_json)


def name_survivors(jobs: Sequence[Job]) -> None:
    """Tell the person which jobs ended with the program, and which go on."""
    for job in jobs:
        fate = "goes on" if job.kept else "was ended with agentclip"
        click.echo(f"job {job.number} {fate}: {foreign.one_line(job.command)}", err=True)


def _source(line: str | None, file: str | None) -> str:
    if (line is None) == (file is None):
        raise click.UsageError("give one line, or --file F. Use: agentclip exec 'ls | head 5'")
    if line is not None:
        return line
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file or "").read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read {file}: {error.strerror}. Use: --file F with a readable file") from error
    return os.fsdecode(data)


def _raw(settings: config.Settings, source: str) -> int:
    with runtime.lines(settings, dict(inherited_environment()), name_survivors) as runner:
        try:
            result = runner.executor.run_raw(source, on_signals)
        except CommandError as error:
            click.echo(f"bash: line 1: {error.message}", err=True)
            return error.code.exit_status
    last = result.stages[-1] if result.stages else None
    if len(result.stages) == 1 and last is not None and last.signal and last.status == result.status:
        # As `bash -c` ends that was replaced by its only command.
        die_by(signal.Signals[last.signal])
    return result.status & 255


def die_by(number: signal.Signals) -> None:
    """End by the signal, without a core file of ours."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # KILL and STOP have no handler to take away
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def on_signals(run: runtime.Stoppable) -> None:
    """Ctrl+C starts the ladder, again kills; TERM and HUP kill at once."""
    presses = 0

    def interrupt(number: int, _: object) -> None:
        nonlocal presses
        presses += 1
        if number == signal.SIGINT and presses == 1:
            run.cancel()
        else:
            run.kill()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def _run(runner: runtime.Lines, source: str, *, as_json: bool) -> int:
    warnings = runner.executor.table.warnings
    if not as_json:
        for warning in warnings:
            click.echo(f"agentclip: {warning}", err=True)
    try:
        result, shown = runner.run(source, on_signals)
    except CommandError as error:
        return _refused(error, as_json=as_json)
    if as_json:
        say_json(document(result, shown, runner.limits.bytes, warnings))
    else:
        say(shown.text)
    return result.status & 255


def _stats(runner: runtime.Lines, source: str, *, as_json: bool) -> int:
    """What the line costs the model's context."""
    result, shown = runner.run(source, on_signals)
    raw = [result.stdout, *(stage.stderr for stage in result.stages if stage.stderr is not None)]
    rows = {
        "tool description": size_of(runtime.tool_description().encode()),
        "raw output": size_of(b"".join(Path(file.path).read_bytes()[: file.size] for file in raw)),
        "presented": size_of(shown.text.encode()),
    }
    if as_json:
        say_json({"ok": True, "exit_code": 0, "class": "ok", **as_document(rows)})
    else:
        say(table(rows))
    return 0


def _refused(error: CommandError, *, as_json: bool) -> int:
    if as_json:
        say_json(refusal(error))
    else:
        say(f"{error.line('run')}\n[exit:{error.code.exit_status} | 0ms]")
    return error.code.exit_status


def _show_plan(chain: Chain, *, as_json: bool) -> int:
    pipelines = [
        {
            "join": pipeline.join.value,
            "negated": pipeline.negated,
            "stages": [_planned(stage) for stage in pipeline.stages],
        }
        for pipeline in chain.pipelines
    ]
    if as_json:
        say_json({"pipelines": pipelines, "whole": chain.whole})
        return 0
    for pipeline in chain.pipelines:
        say(f"{pipeline.join.value}{' !' if pipeline.negated else ''}")
        for stage in pipeline.stages:
            say(f"  {stage.kind}: {stage.text}")
    return 0


def _planned(stage: Stage) -> dict[str, object]:
    return {
        "kind": str(stage.kind),
        "text": stage.text,
        "argv": list(stage.argv or ()),
        "redirects": [to_builtins(redirect) for redirect in stage.redirects],
    }
