"""Settings of the loop. Values only."""

from __future__ import annotations

from msgspec import Struct, field

from agentclip.results import Limits


class AgentOptions(Struct, frozen=True):
    """Settings of the loop."""

    limits: Limits = field(default_factory=Limits)
    timeout_s: int | None = 120
    """Time limit of a call that names none; None for no limit."""
    max_timeout_s: int = 3600
    """The highest `timeout_s` a call may ask for."""
    max_steps: int | None = None
    """Model calls in one turn; None for no limit."""
    max_tokens: int | None = None
    """Input and output tokens of one turn as the provider counts them; None for no limit."""
    max_cost_usd: float | None = None
    """None for no limit."""
    max_time_s: float | None = None
    """Wall clock of one turn, from its prompt; None for no limit. What runs when it is over is cancelled."""
    max_retries: int = 3
    """How often one reply is asked for again after a rate limit, a server error or a lost connection."""
    max_retry_wait_s: float = 60.0
    """A provider that asks for a longer pause ends the turn instead."""
    snapshot_max_tokens: int = 150_000
    """Size of a prompt above which the conversation is shortened, whatever the model's window."""
    loop_detection: bool = True
    """Warn, then stop, a model that repeats itself."""
    judge_progress: bool = True
    """Ask a model now and then whether there is progress; a recording cannot be asked."""
