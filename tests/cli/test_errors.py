"""`agentclip errors` and docs/errors.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import agentclip
from agentclip.cli.errors import page
from agentclip.errors import AgentclipError, ErrorCode, category_of
from tests.cli.program import agentclip as program
from tests.cli.program import document_of
from tests.commands.hints import check_hint

PACKAGE = Path(agentclip.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"

CLASSES = {
    1: "finding", 2: "invalid", 3: "limit", 69: "unavailable", 70: "internal", 75: "retry", 77: "denied", 78: "config",
    124: "timeout", 126: "environment", 127: "environment", 130: "signal", 153: "signal",
}  # fmt: skip
"""The table of the design: what the caller decides by."""


def test_the_page_of_the_docs_is_the_one_that_the_program_makes(tmp_path: Path) -> None:
    """`agentclip errors --markdown > docs/errors.md` mends it."""
    written = (DOCS / "errors.md").read_text(encoding="utf-8")
    assert written == page()
    assert program("errors", "--markdown", cwd=tmp_path).stdout.decode() == written


def test_json_lists_all_codes(tmp_path: Path) -> None:
    rows = document_of("errors", "--json", cwd=tmp_path)["errors"]
    assert [row["code"] for row in rows] == [code.value for code in ErrorCode]
    assert json.loads(json.dumps(rows))[0] == {
        "code": "NOT_FOUND",
        "exit_code": 1,
        "class": "finding",
        "retryable": False,
        "meaning": "nothing fits what was asked for",
        "hint": "help",
    }


@pytest.mark.parametrize("code", ErrorCode)
def test_a_code_has_the_class_of_its_status_a_meaning_and_a_next_step(code: ErrorCode) -> None:
    assert code.category == CLASSES[code.exit_status] == category_of(code.exit_status)
    assert code.name == code.value
    assert code.meaning.isprintable()
    assert "|" not in code.meaning + code.hint
    check_hint(code.hint)


def test_every_code_is_used() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    used = set(re.findall(r"ErrorCode\.([A-Z_]+)", source))
    assert used == {code.name for code in ErrorCode}


@pytest.mark.parametrize(
    ("message", "hint", "text"),
    [
        ("it broke", "", "it broke"),
        ("it broke", "ls", "it broke. Next: ls"),
        ("it broke.", "ls", "it broke. Next: ls"),
        ("what now?", "ls", "what now? Next: ls"),
        ("it broke", "Check the key.", "it broke. Next: Check the key."),
    ],
)
def test_message_and_hint_are_joined_by_one_full_stop(message: str, hint: str, text: str) -> None:
    assert str(AgentclipError(message, hint=hint)) == text
