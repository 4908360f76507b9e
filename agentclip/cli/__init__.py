"""The command line: argv in, exit status out. The only place that decides exit statuses of the program itself."""

from __future__ import annotations

import difflib
import importlib
import logging
import signal
import sys
from collections.abc import Mapping, Sequence

import click

from agentclip import __version__, paths
from agentclip.errors import AgentclipError, ErrorCode, one_line

COMMANDS = {
    "chat": "agentclip.cli.chat:command",
    "config": "agentclip.cli.settings:command",
    "demo": "agentclip.cli.demo:command",
    "errors": "agentclip.cli.errors:command",
    "exec": "agentclip.cli.execute:command",
    "keymap": "agentclip.cli.keymap:command",
    "keys": "agentclip.cli.keys:command",
    "models": "agentclip.cli.models:command",
    "run": "agentclip.cli.run:command",
    "sessions": "agentclip.cli.sessions:command",
}
"""Name to module and attribute: `exec` must not pay for the screen."""

NEEDS_UNIX = "Windows lacks the pipes, signals and pseudo-terminals that commands run on. Next: start it inside WSL"


class LazyGroup(click.Group):
    """Imports a subcommand's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """All names, for `--help`."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """The command, or None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        found = getattr(importlib.import_module(module), attribute)
        assert isinstance(found, click.Command)
        return found


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="agentclip")
def program() -> None:
    r"""A terminal agent whose model has one tool, run(command="..."), shown in two layers.

    \b
    agentclip [PROMPT]          full-screen chat
    agentclip --resume [ID]     go on with a saved session
    agentclip --continue        go on with the newest session of this directory
    agentclip run TASK          one task, answer on stdout
    agentclip exec LINE         one command line through both layers, no model
    """


def main(argv: Sequence[str] | None = None, keys: Mapping[str, str] | None = None) -> int:
    """Run the program and return its exit status. `keys` were taken out of the environment."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.platform == "win32":
        click.echo(f"agentclip: {NEEDS_UNIX}", err=True)
        return ErrorCode.UNAVAILABLE.exit_status
    usage = None
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # held back while the program was loaded
        status = program.main(args=with_default_command(arguments), prog_name="agentclip", standalone_mode=False, obj=keys)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        error = AgentclipError("cancelled", code=ErrorCode.CANCELLED)
    except click.ClickException as wrong:
        usage = wrong
        hint = f"agentclip {arguments[0]} --help" if arguments[:1] and arguments[0] in COMMANDS else "agentclip --help"
        error = AgentclipError(wrong.format_message(), hint=hint, code=ErrorCode.USAGE)
    except AgentclipError as refused:
        error = refused
    except Exception as bug:
        # The boundary of the program: a bug of ours is an exit status, one line, and a trace in the log.
        logging.getLogger("agentclip").exception("the program failed")
        log = paths.state_dir() / "agentclip.log"
        error = AgentclipError(one_line(f"internal error: {bug!r}"), hint=f"Report it, with {log}")
    else:
        return status if isinstance(status, int) else 0
    return _refused(error, arguments, usage)


def _refused(error: AgentclipError, arguments: Sequence[str], usage: click.ClickException | None = None) -> int:
    """Say why nothing ran: to a person, or with `--json` as the one document."""
    from agentclip.cli.document import refusal  # noqa: PLC0415  registered deferred import
    from agentclip.cli.output import say_json  # noqa: PLC0415  registered deferred import

    if "--stream-json" in arguments:
        say_json({"type": "result", **refusal(error)})
    elif "--json" in arguments:
        say_json(refusal(error))
    elif usage is not None:
        usage.show()
    else:
        click.echo(f"agentclip: {error}", err=True)
    return error.code.exit_status if usage is None else usage.exit_code


def with_default_command(arguments: Sequence[str]) -> list[str]:
    """`agentclip PROMPT` and its flags mean `agentclip chat`; `-p TASK` means `run TASK`.

    Raises:
        click.UsageError: a single word that looks like a misspelt command, not like a prompt.
    """
    match arguments:
        case ["-h" | "--help" | "--version", *_]:
            return list(arguments)
        case ["-p" | "--print", *rest]:
            return ["run", *rest]
        case [word, *_] if word in COMMANDS:
            return list(arguments)
        case [word] if " " not in word and (near := difflib.get_close_matches(word, COMMANDS, n=1, cutoff=0.75)):
            raise click.UsageError(f"no command {word!r}. Did you mean: agentclip {near[0]}?")
        case _:
            return ["chat", *arguments]
