"""All other providers, through litellm. Runs in the worker, and only there is litellm imported: it takes seconds.

A conversation comes in as chat completions, litellm translates it; its chunks are read as those of the direct route are.
"""

from __future__ import annotations

import ast
import asyncio
import logging
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import httpx
import litellm
import openai

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation
from agentclip.model.assemble import ReplyAssembler, ReplyTooLongError
from agentclip.model.base import ModelFacts, Part
from agentclip.model.failures import Refusal, as_error, read_refusal
from agentclip.model.openai import read_image
from agentclip.model.outcome import finished_reply, simpler
from agentclip.model.protocol import ProviderSettings
from agentclip.model.transport import causes_of, connection_lost, is_this_machine, transport_error
from agentclip.model.wire import BodyOptions, call_ids, has_images, request_body

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
PREAMBLE = re.compile(r"^(litellm\.)?(\w+Error: )?(litellm\.)?(\w+: )?(\w*Exception\w* - )?")
"""What litellm writes in front of the provider's own words."""


class LitellmEndpoint:
    """One model of one provider."""

    def __init__(self, settings: ProviderSettings) -> None:
        _quieten()
        if settings.api_base and is_this_machine(settings.api_base):
            for name in PROXIES:
                os.environ.pop(name, None)
        self.settings = settings
        self.facts = _facts(settings)
        """From litellm's own tables; empty for a model or an address that they do not know."""
        known_blind = bool(self.facts) and not self.facts.get("supports_vision")
        self._options = BodyOptions(settings.model, stream=settings.stream, images=settings.images and not known_blind)

    @property
    def context_window(self) -> int | None:
        """Tokens that a request may have, by litellm's tables."""
        tokens = self.facts.get("max_input_tokens")
        return tokens if isinstance(tokens, int) else None

    async def aclose(self) -> None:
        """Close the connections."""
        await litellm.close_litellm_async_clients()

    async def models(self) -> tuple[ModelFacts, ...]:
        """The provider's chat models that litellm knows of; nothing is asked over the network."""
        provider = self.settings.litellm_provider
        rows = ((name, row) for name, row in litellm.model_cost.items() if row.get("litellm_provider") == provider)
        return tuple(
            ModelFacts(name.removeprefix(f"{provider}/"), row.get("max_input_tokens"), bool(row.get("supports_vision")))
            for name, row in rows
            if row.get("mode") == "chat"
        )

    async def reply(self, conversation: Conversation) -> AsyncGenerator[Part, None]:
        """Stream one reply. Closing the generator closes the socket.

        Raises:
            ModelError: refused, failed, cut in the middle.
        """
        options = self._options
        while True:
            try:
                async with aclosing(self._attempt(conversation, options)) as parts:
                    async for part in parts:
                        yield part
            except (openai.OpenAIError, httpx.HTTPError) as error:
                refusal = self._refusal(error)
                found = simpler(options, refusal, conversation)
                if found is None:
                    raise self._error(refusal, error) from error
                options, lasting = found
                if lasting:
                    self._options = options
            except TimeoutError as error:
                message = f"the server sent nothing for {self.settings.stall_timeout_s:g} s"
                raise ModelError(message, code=ErrorCode.NETWORK) from error
            except ReplyTooLongError as error:
                raise ModelError(f"the answer does not end: {error}", code=ErrorCode.BAD_REQUEST) from error
            else:
                return

    async def _attempt(self, conversation: Conversation, options: BodyOptions) -> AsyncGenerator[Part, None]:
        request = await asyncio.to_thread(self._request, conversation, options)
        assembler = ReplyAssembler(call_ids(conversation))
        async with asyncio.timeout(self.settings.stall_timeout_s):
            answer = await litellm.acompletion(**request)
        chunks = self._chunks(answer) if options.stream else _once(answer.model_dump())
        async with aclosing(chunks) as read:
            async for chunk in read:
                for part in assembler.feed(self._with_cost(chunk)):
                    yield part
        if options.stream and answer.received_finish_reason is None:  # litellm makes a `stop` of its own out of nothing
            raise connection_lost()
        left_out = has_images(conversation) and not options.images
        yield finished_reply(assembler, self.settings.prices, pictures_left_out=left_out)

    async def _chunks(self, stream: Any) -> AsyncGenerator[dict[str, Any], None]:
        try:
            while True:
                async with asyncio.timeout(self.settings.stall_timeout_s):
                    chunk = await anext(stream, None)
                if chunk is None:
                    return
                yield chunk.model_dump()
        finally:
            await stream.aclose()  # leaving a loop over it would keep the socket open

    def _request(self, conversation: Conversation, options: BodyOptions) -> dict[str, Any]:
        settings = self.settings
        # An address that litellm knows by itself is left to it: for some providers a given one changes more than the host.
        address = None if settings.well_known and settings.litellm_provider != "openai" else settings.api_base
        if address and settings.litellm_provider == "anthropic":
            address = address.removesuffix("/v1")
        return {
            **request_body(conversation, options, read_image),
            "custom_llm_provider": settings.litellm_provider,
            "api_base": address,
            "api_key": settings.key or ("none" if address else None),
            "timeout": httpx.Timeout(settings.stall_timeout_s, connect=settings.connect_timeout_s),
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
        }

    def _with_cost(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """A chunk whose usage says what it costs, by the prices of the provider itself, or nothing of it."""
        usage = chunk.get("usage")
        if not usage:
            return chunk
        cost = None
        if self.facts.get("input_cost_per_token") is not None and self.settings.prices is None:
            used = litellm.Usage(**{key: value for key, value in usage.items() if key != "cost"})
            provider = self.facts.get("litellm_provider")
            cost = sum(litellm.cost_per_token(self.settings.model, usage_object=used, custom_llm_provider=provider))
        return {**chunk, "usage": {**usage, "cost": cost}}

    def _refusal(self, error: Exception) -> Refusal:
        """What the provider refused; status 0 when it did not answer at all."""
        error = getattr(error, "original_exception", None) or error
        answers = (cause.response.status_code for cause in causes_of(error) if isinstance(cause, httpx.HTTPStatusError))
        status = next(answers, getattr(error, "status_code", None))  # litellm makes 400 of some that it does not know
        if isinstance(error, openai.APIConnectionError | httpx.HTTPError) or not isinstance(status, int):
            status = 0
        headers = getattr(error, "litellm_response_headers", None) or getattr(getattr(error, "response", None), "headers", {})
        return read_refusal(status, headers or {}, _words(error).encode("utf-8", "replace"), self.settings.key)

    def _error(self, refusal: Refusal, error: Exception) -> ModelError:
        for cause in causes_of(error):
            if isinstance(cause, TimeoutError | openai.APITimeoutError):
                message = f"the server sent nothing for {self.settings.stall_timeout_s:g} s"
                return ModelError(message, code=ErrorCode.NETWORK)
            if isinstance(cause, httpx.TransportError):
                return transport_error(cause, self.settings)
        if refusal.status == 0:
            return ModelError(f"no answer from {self.settings.where}: {refusal.text}", code=ErrorCode.NETWORK)
        return as_error(refusal, self.settings)


async def _once(value: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    yield value


def _words(error: Exception) -> str:
    """The provider's own words inside litellm's."""
    text = PREAMBLE.sub("", str(getattr(error, "message", error)), count=1)
    if text.startswith(("b'", 'b"')):
        try:
            return str(ast.literal_eval(text).decode("utf-8", "replace"))
        except (ValueError, SyntaxError, AttributeError):
            return text
    return text


def _facts(settings: ProviderSettings) -> Mapping[str, Any]:
    if not settings.well_known:
        return {}
    names = (settings.known_as, f"{settings.litellm_provider}/{settings.model}", settings.model)
    found: Mapping[str, Any] = next((litellm.model_cost[name] for name in names if name in litellm.model_cost), {})
    return found


def _quieten() -> None:
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx", "openai", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
