"""`agentclip errors`: all error codes, for people, for programs and for docs/errors.md."""

from __future__ import annotations

import click

from agentclip.cli.output import say, say_json
from agentclip.errors import ErrorCode

HEAD = """\
# Errors

Made by `agentclip errors --markdown` from `agentclip/errors.py`; a test compares.

A command that stops says `[error] CMD: WHAT (CODE). Use: NEXT` on stderr, and NEXT works as written. With `--json` the document
has `error{code, message, hint, input, retryable, details}`. `code` is for branching; texts may change.
Programs of the machine keep their own exit codes; two and above mean: do not judge the result.

| code | exit | class | meaning | usual next step |
|---|---|---|---|---|
"""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--markdown", is_flag=True, help="The page docs/errors.md.")
def command(as_json: bool, markdown: bool) -> int:
    """List all error codes with exit status, class, meaning and usual next step."""
    if as_json:
        say_json({"ok": True, "exit_code": 0, "class": "ok", "errors": [_row(code) for code in ErrorCode]})
    elif markdown:
        say(page().removesuffix("\n"))
    else:
        for code in ErrorCode:
            say(f"{code.value:<20} {code.exit_status:>3}  {code.category:<12} {code.meaning}. Next: {code.hint}")
    return 0


def page() -> str:
    """docs/errors.md."""
    rows = (f"| `{c.value}` | {c.exit_status} | {c.category} | {c.meaning} | {c.hint} |\n" for c in ErrorCode)
    return HEAD + "".join(rows)


def _row(code: ErrorCode) -> dict[str, object]:
    return {
        "code": code.value,
        "exit_code": code.exit_status,
        "class": code.category,
        "retryable": code.category == "retry",
        "meaning": code.meaning,
        "hint": code.hint,
    }
