"""Which model is to answer next: a wish comes in while a turn runs, a change goes out when none does. Closes no model."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from agentclip.model.base import Model


class Succession(Struct):
    """Of one session."""

    _next: Model | None = None
    _freed: asyncio.Future[Model] | None = None

    def name(self, model: Model) -> asyncio.Future[Model]:
        """Make this model the next; what comes back is the model that nobody needs any more, once that is so."""
        self._free(self._next)
        self._next, self._freed = model, asyncio.get_running_loop().create_future()
        return self._freed

    def take(self, old: Model) -> Model | None:
        """The model that answers from now on instead of `old`; None when that stays."""
        model, self._next = self._next, None
        if model is not None:
            self._free(old)
        return model

    def _free(self, model: Model | None) -> None:
        if model is not None and self._freed is not None and not self._freed.done():
            self._freed.set_result(model)
