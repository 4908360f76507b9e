"""The session in one line: facts in, text out. What matters most stays when there is little room."""

from __future__ import annotations

from msgspec import Struct

from agentclip.foreign import one_line
from agentclip.line.text import cells, fitted

GAP = "  "


class Facts(Struct, frozen=True):
    """What is known."""

    model: str
    sandbox: str
    state: str
    busy_s: float | None
    """Since when something runs; None when nothing does."""
    size: int
    """Bytes of the stdout that grows."""
    tokens: int | None
    """Of the conversation; None when nobody told."""
    window: int | None
    cost_usd: float | None
    waiting: int


def status_line(facts: Facts, width: int) -> str:
    """At most `width - 1` cells."""
    parts = {
        "model": one_line(facts.model),
        "context": _context(facts),
        "cost": f"${facts.cost_usd:.2f}" if facts.cost_usd else "",
        "waiting": f"{facts.waiting} waiting" if facts.waiting else "",
        "state": _state(facts),
        "sandbox": facts.sandbox,
    }
    room = width - 1
    kept = {}
    for name in ("state", "sandbox", "waiting", "context", "model", "cost"):
        need = cells(parts[name]) + len(GAP)
        if parts[name] and need <= room:
            kept[name] = parts[name]
            room -= need
    return fitted(GAP.join(kept[name] for name in parts if name in kept), max(1, width - 1))


def _context(facts: Facts) -> str:
    if facts.tokens is None:
        return ""
    return f"ctx {round(100 * facts.tokens / facts.window)}%" if facts.window else f"ctx {facts.tokens:,}"


def _state(facts: Facts) -> str:
    if facts.busy_s is None:
        return facts.state
    size = f" {facts.size / 1024:,.0f}KB" if facts.size >= 1024 else ""
    return f"{facts.state} {int(facts.busy_s) // 60:02}:{int(facts.busy_s) % 60:02}{size}"
