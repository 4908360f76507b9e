"""The corpus of command lines, and the rules by which a line may differ from run to run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RULES = {
    "clock": "prints the time of day",
    "process": "prints process ids",
    "random": "prints random numbers or names",
    "race": "two processes write to the same stream at once",
}
"""Why two runs of one line by bash itself may print different bytes. The exit status is compared all the same."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the corpus."""

    line: str
    rule: str | None
    """The rule of non-determinism it falls under; None for a deterministic line."""


def entries() -> list[Entry]:
    """All entries of lines.txt, in order."""
    found: list[list[str]] = []
    rules: list[str | None] = []
    rule: str | None = None
    for text in Path(__file__).with_name("lines.txt").read_text(encoding="utf-8").split("\n"):
        mark, rest = text[:1], text[2:]
        if mark == "$":
            found.append([rest])
            rules.append(rule)
            rule = None
        elif mark == ">":
            found[-1].append(rest)
        elif mark == "~":
            rule = rest
    return [Entry("\n".join(lines), rule) for lines, rule in zip(found, rules, strict=True)]
