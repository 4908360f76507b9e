"""The model when none is configured: every prompt is answered with what to do about it; `!` lines work without it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation
from agentclip.model.base import Model, Part


class UnconfiguredModel:
    """Meets the Protocol, never answers."""

    name = "no model"
    context_window = None

    async def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:  # noqa: ARG002  nobody reads it
        """Say what is missing. Raises ModelError always."""
        message, hint = (
            "no model is configured",
            "agentclip keys set PROVIDER stores a key; or start with --api-base URL or --model NAME",
        )
        raise ModelError(message, hint=hint, code=ErrorCode.MISSING_KEY)
        yield  # makes this a generator, as the Protocol has it

    async def aclose(self) -> None:
        """Nothing to end."""


_: type[Model] = UnconfiguredModel
