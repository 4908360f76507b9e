"""The report by which changes of Layer 2 and of our texts are judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

from agentclip.cli.size import size_of
from agentclip.commands.usage import LEVEL_0_CHARACTERS
from agentclip.results import Limits
from tests.benchmarks.context_report import report, table
from tests.cli.program import agentclip


def test_the_report_covers_thirty_outputs_and_is_the_same_each_time() -> None:
    said = report()
    rows = said["outputs"]
    assert isinstance(rows, list)
    assert len(rows) >= 30
    assert json.loads(json.dumps(said)) == json.loads(json.dumps(report()))
    assert len(table(said).splitlines()) == len(rows) + 3


def test_no_output_costs_more_than_its_budget() -> None:
    rows = report()["outputs"]
    assert isinstance(rows, list)
    limits = Limits()
    most = limits.bytes + limits.stderr_bytes + limits.tail_lines * limits.line_chars * 4 + 2000
    assert {row["name"] for row in rows if row["shown_bytes"] > most} == set()
    quiet = {
        row["name"]: row["shown_tokens"] for row in rows if row["name"] in {"picture", "archive", "nothing", "progress bar"}
    }
    assert max(quiet.values()) < 60, quiet


def test_tokens_are_estimated_by_a_rule_of_thumb() -> None:
    assert (size_of(b"").tokens, size_of(b"four").tokens, size_of(b"fives").tokens) == (0, 1, 2)
    assert size_of("日本".encode()).tokens == 2


def test_exec_shows_what_a_line_costs(tmp_path: Path) -> None:
    shown = agentclip("exec", "--stats", "seq 5000", cwd=tmp_path).stdout.decode()
    assert re.search(r"^raw output +23,893 +5,974$", shown, re.MULTILINE)
    said = json.loads(agentclip("exec", "--stats", "--json", "seq 5000", cwd=tmp_path).stdout)
    assert said["presented"]["bytes"] < said["raw_output"]["bytes"] == 23_893
    assert said["tool_description"]["bytes"] < 2 * LEVEL_0_CHARACTERS
