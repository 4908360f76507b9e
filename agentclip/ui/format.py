"""Numbers as the screen writes them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """`12ms`, `3.2s`, `45s`, `2m05s`: as in the footer the model reads."""
    if seconds < 0.9995:
        return f"{max(0, round(seconds * 1000))}ms"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    if seconds < 119.5:
        return f"{round(seconds)}s"
    return f"{int(seconds) // 60}m{int(seconds) % 60:02}s"


def clock(seconds: float) -> str:
    """`00:12`, `1:02:03`."""
    whole = max(0, int(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes:02}:{whole % 60:02}"


def size(count: int) -> str:
    """`812B`, `41KB`, `1.2MB`; KB = 1024."""
    if count < 1024:
        return f"{count}B"
    value = count / 1024
    for unit in ("KB", "MB"):
        if value < 1024:
            return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
        value /= 1024
    return f"{value:.1f}GB"


def spending(context_tokens: int | None, context_window: int | None, cost_usd: float | None) -> str:
    """`ctx 14%  $0.04`; what is not known is left out."""
    parts: list[str] = []
    if context_tokens and context_window and context_window > 0:
        parts.append(f"ctx {min(999, round(100 * context_tokens / context_window))}%")
    if cost_usd:
        parts.append(f"${cost_usd:.2f}")
    return "  ".join(parts)


def plural(count: int, noun: str) -> str:
    """`1 line`, `1,200 lines`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
