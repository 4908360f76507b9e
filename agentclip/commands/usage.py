"""Help texts made from declarations: level 0 (one line each), usage lines and `--help`. Text only, no I/O.

Nothing here is written by hand per command, so help cannot drift from what is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from agentclip.command import CommandTable, Declaration, Parameter
from agentclip.errors import one_line

LEVEL_0_LINES = 40
LEVEL_0_CHARACTERS = 2500
SUMMARY_CHARACTERS = 160
"""A plug-in's longer summary is cut in level 0."""

_NO_USES: Mapping[str, int] = MappingProxyType({})


def flag_names(parameter: Parameter) -> tuple[str, ...]:
    """The spellings of a flag, short first."""
    return (parameter.name,) if parameter.short is None else (parameter.short, parameter.name)


def usage_line(declaration: Declaration) -> str:
    """`topic list|info|run`, `memory search <query> [-t topic_id]`; brackets around what may be left out."""
    if declaration.subcommands:
        subcommands = "|".join(sub.name.rpartition(" ")[2] for sub in declaration.subcommands)
        return f"{declaration.name} [{subcommands}]" if declaration.runs_bare else f"{declaration.name} {subcommands}"
    positionals = (p for p in declaration.parameters if not p.is_flag)
    flags = (p for p in declaration.parameters if p.is_flag)
    return " ".join([declaration.name, *map(_positional, positionals), *map(_flag, flags)])


def help_text(declaration: Declaration) -> str:
    """What `--help` prints: summary, usage, parameters, examples, exit codes, what often follows."""
    return "\n".join(_sections(declaration)) + "\n"


def tool_description_lines(table: CommandTable, uses: Mapping[str, int] = _NO_USES) -> tuple[str, ...]:
    """Level 0: `name — summary` of every word of ours, in stable order, within the budget.

    When they do not fit, the most used stay (`uses`: calls by name; registered earlier wins a tie), and the last line
    says how to find the rest.
    """
    lines = {name: f"{name} — {_cut(summary)}" for name, summary in table.summaries()}
    if _fits(list(lines.values())):
        return tuple(lines.values())
    rest = {name: line for name, line in lines.items() if name != "help"}
    kept: set[str] = set()
    for name in sorted(rest, key=lambda name: -uses.get(name, 0)):
        chosen = [line for other, line in rest.items() if other in kept or other == name]
        if not _fits([*chosen, _more(len(rest))]):
            break
        kept.add(name)
    return (*(line for name, line in rest.items() if name in kept), _more(len(rest) - len(kept)))


def _more(hidden: int) -> str:
    return f"help — {hidden} more: help WORD"


def _fits(lines: list[str]) -> bool:
    return len(lines) <= LEVEL_0_LINES and len("\n".join(lines)) <= LEVEL_0_CHARACTERS


def _cut(summary: str) -> str:
    line = one_line(summary)
    return line if len(line) <= SUMMARY_CHARACTERS else line[: SUMMARY_CHARACTERS - 3] + "..."


def _positional(parameter: Parameter) -> str:
    dots = "..." if parameter.repeated else ""
    return f"<{parameter.name}>{dots}" if parameter.required else f"[{parameter.name}]{dots}"


def _flag(parameter: Parameter) -> str:
    flag = f"{flag_names(parameter)[0]}{_value(parameter)}"
    return flag if parameter.required else f"[{flag}]"


def _value(parameter: Parameter) -> str:
    if parameter.type == "boolean":
        return ""
    return f" {parameter.value or parameter.name.lstrip('-').replace('-', '_')}"


def _sections(declaration: Declaration) -> Iterator[str]:
    yield f"{declaration.name} — {declaration.summary}"
    yield f"usage: {usage_line(declaration)}"
    if declaration.subcommands:
        yield from ("", "Subcommands:")
        yield from _columns([(usage_line(sub), sub.summary) for sub in declaration.subcommands])
        yield f"  Each has its own help: {declaration.subcommands[0].name} --help"
    yield from ("", "Parameters:")
    rows = [(_spelling(p), f"{_facts(p)}  {p.description}") for p in declaration.parameters]
    yield from _columns([*rows, ("--help", "boolean  show this text; nothing is run")])
    if declaration.notes:
        yield from ("", *declaration.notes)
    yield from ("", "Examples:")
    yield from (f"  {example}" for example in declaration.examples)
    yield from ("", "Exit codes:")
    yield from (f"  {code:<3}  {meaning}" for code, meaning in declaration.exit_codes)
    if declaration.often_followed_by:
        yield from ("", f"Often followed by: {', '.join(declaration.often_followed_by)}")


def _spelling(parameter: Parameter) -> str:
    return f"{', '.join(flag_names(parameter))}{_value(parameter)}" if parameter.is_flag else _positional(parameter)


def _facts(parameter: Parameter) -> str:
    facts: list[str] = [parameter.type]
    if parameter.minimum is not None or parameter.maximum is not None:
        low = "" if parameter.minimum is None else parameter.minimum
        facts.append(f"{low}..{'' if parameter.maximum is None else parameter.maximum}")
    if parameter.default is not None:
        facts.append(f"default {parameter.default}")
    return ", ".join(facts)


def _columns(rows: list[tuple[str, str]]) -> Iterator[str]:
    width = min(32, max(len(left) for left, _ in rows))
    yield from (f"  {left:<{width}}  {right}" for left, right in rows)
