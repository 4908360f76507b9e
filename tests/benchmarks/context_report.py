"""What the model's context costs: the tool description, and what is presented of a fixed set of outputs.

    python -m tests.benchmarks.context_report            a table
    python -m tests.benchmarks.context_report --json     the same for a comparison of two versions

Tokens are estimated as in `agentclip exec --stats`. The numbers change only when Layer 2 or a text of ours changes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from agentclip import runtime
from agentclip.cli.size import size_of
from agentclip.present.presenter import present
from agentclip.results import Limits
from tests.benchmarks.outputs import Output, outputs
from tests.present.runs import Ran, Run


@dataclass(frozen=True, slots=True)
class Row:
    """One output."""

    name: str
    raw_bytes: int
    raw_tokens: int
    shown_bytes: int
    shown_tokens: int
    shown_lines: int


def report() -> dict[str, object]:
    """The tool description, every output, and the sums."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [_row(name, output, Path(folder)) for name, output in outputs()]
    return {
        "tool_description": to_builtins(size_of(runtime.tool_description().encode())),
        "outputs": [to_builtins(row) for row in rows],
        "raw_tokens": sum(row.raw_tokens for row in rows),
        "shown_tokens": sum(row.shown_tokens for row in rows),
    }


def _row(name: str, output: Output, folder: Path) -> Row:
    ran = Ran(output.command, output.status, stderr=output.stderr or None)
    text = present(Run(stdout=output.stdout, pipelines=((ran,),)).result(folder), Limits()).text
    raw, shown = size_of(output.stdout + output.stderr), size_of(text.encode())
    return Row(name, raw.bytes, raw.tokens, shown.bytes, shown.tokens, text.count("\n") + 1)


def table(said: dict[str, object]) -> str:
    """For people."""
    rows = said["outputs"]
    assert isinstance(rows, list)
    lines = [f"{'':<18}{'raw bytes':>12}{'tokens':>10}{'shown bytes':>13}{'tokens':>8}{'lines':>7}"]
    lines += [
        f"{row['name']:<18}{row['raw_bytes']:>12,}{row['raw_tokens']:>10,}{row['shown_bytes']:>13,}"
        f"{row['shown_tokens']:>8,}{row['shown_lines']:>7}"
        for row in rows
    ]
    lines.append(f"{'sum':<30}{said['raw_tokens']:>10,}{'':>13}{said['shown_tokens']:>8,}")
    lines.append(f"tool description: {said['tool_description']}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(report(), indent=1) if "--json" in sys.argv else table(report()))  # noqa: T201  a script
