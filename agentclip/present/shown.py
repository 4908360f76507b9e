"""Layer 2 as the loop and `exec` use it: what must be looked up is looked up, then the text is made.

In: a finished run, limits, and the machine that hints are about. Out: a Presented.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentclip.present.excerpt import kind_of_stream
from agentclip.present.machine import Machine
from agentclip.present.naming import name_by_content
from agentclip.present.navigation import hints
from agentclip.present.presenter import capped, present
from agentclip.results import ChainResult, Limits, Presented


def show(result: ChainResult, limits: Limits, machine: Machine | None = None) -> Presented:
    """Name a binary spool by its content, find the next steps, make the text. Without a machine there are no hints."""
    limits = capped(limits)
    try:
        kind = kind_of_stream(result.stdout, limits.lines, limits.encoding) if result.stdout.size > 0 else None
    except OSError:
        kind = None
    if kind is not None:
        name_by_content(result.stdout, limits)
    if machine is None:
        return present(result, limits)
    return present(result, limits, hints(result, kind, replace(machine, cwd=result.cwd or machine.cwd)))
