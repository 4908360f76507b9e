"""The budgets of one turn: steps and usage come in; the end of the turn goes out once a budget is used up.

Asked between steps, so what a step finished is always kept. It knows no model and stores nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from msgspec import Struct

from agentclip.agent.options import AgentOptions
from agentclip.agent.reply import NOTHING, total
from agentclip.errors import ErrorCode
from agentclip.events import TurnEnd, TurnFinished
from agentclip.messages import Usage

_GO_ON = "what was done is kept: say go on, or raise the limit"


class Budget(Struct):
    """What a turn may use, and what it has used."""

    options: AgentOptions
    steps: int = 0
    """Model calls that were begun."""
    usage: Usage = NOTHING
    reported: bool = True
    """False once a reply came without usage."""
    is_late: bool = False
    """The time is up."""

    def add(self, usage: Usage | None) -> None:
        """Count a reply. None when the provider does not say what it used."""
        self.usage = total(self.usage, usage)
        self.reported = self.reported and usage is not None

    @contextlib.contextmanager
    def clock(self, stop: Callable[[], object], stopping: Callable[[], bool]) -> Iterator[None]:
        """Call `stop` when the time is up before the block ends; a turn that is stopping already is left to stop as it does."""
        if self.options.max_time_s is None:
            yield
            return

        def ring() -> None:
            if not stopping():
                self.is_late = True
                stop()

        timer = asyncio.get_running_loop().call_later(self.options.max_time_s, ring)
        try:
            yield
        finally:
            timer.cancel()

    def end(self) -> TurnFinished | None:
        """How the turn must end now; None while everything is within its limit.

        A limit that cannot be watched, because the provider does not report what is limited, counts as used up.
        """
        reason = self._steps() or self._tokens() or self._cost() or self._time()
        return _limit(reason) if reason else None

    def after_cancel(self, end: TurnFinished) -> TurnFinished:
        """The end of a turn that was cancelled because its time was up; any other end as it is."""
        reason = self._time() if end.reason is TurnEnd.CANCELLED else ""
        return _limit(reason) if reason else end

    def _steps(self) -> str:
        limit = self.options.max_steps
        if limit is None or self.steps < limit:
            return ""
        return f"{self.steps} {'step' if self.steps == 1 else 'steps'} done, the limit of a turn (--max-steps, agent.max_steps)"

    def _tokens(self) -> str:
        limit = self.options.max_tokens
        if limit is None:
            return ""
        if not self.reported:
            return "the provider reports no usage, so --max-tokens (agent.max_tokens) cannot be kept"
        used = self.usage.input_tokens + self.usage.output_tokens
        return (
            f"{used:,} tokens used of {limit:,}, the limit of a turn (--max-tokens, agent.max_tokens)" if used >= limit else ""
        )

    def _cost(self) -> str:
        limit, cost = self.options.max_cost_usd, self.usage.cost_usd
        if limit is None:
            return ""
        if cost is None:
            return "the cost of this model is unknown, so --max-cost (agent.max_cost_usd) cannot be kept; use --max-tokens"
        return (
            f"{cost:.4f} USD used of {limit:g}, the limit of a turn (--max-cost, agent.max_cost_usd)" if cost >= limit else ""
        )

    def _time(self) -> str:
        if not self.is_late:
            return ""
        return f"{self.options.max_time_s:g} s are over, the time of a turn (--max-time, agent.max_time_s)"


def _limit(reason: str) -> TurnFinished:
    return TurnFinished(TurnEnd.LIMIT, f"stopped: {reason}; {_GO_ON}", ErrorCode.BUDGET)
