"""The model when none is configured: every prompt is answered with what to do about it; `!` lines work without it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

from agentclip import paths
from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation
from agentclip.model.base import Model, Part
from agentclip.model.providers import find_providers


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


def first_screen(environ: Mapping[str, str]) -> tuple[str, ...]:
    """What to say when no model is configured: what was looked for, and what can be done all the same."""
    keys = [looked.provider.key_variable for looked in find_providers(environ) if not looked.provider.is_local]
    servers = [looked.provider for looked in find_providers(environ) if looked.provider.is_local]
    return (
        "No model is configured.",
        f"Looked for a key in: {', '.join(keys)} (none is set), and for `model.name` in {paths.config_file()}.",
        "A local server works without a key: " + ", ".join(f"{each.name} --api-base {each.api_base}" for each in servers),
        "Store a key without showing it:  agentclip keys set PROVIDER",
        "What works now: lines that begin with ! run through both layers, for example  !ls -la | head 5",
        "See a recorded session whose commands really run:  agentclip demo",
    )
