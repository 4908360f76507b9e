"""The direct provider: chat completions of OpenAI-compatible endpoints over httpx. Runs in the worker only.

A conversation comes in; parts and a Reply go out, or one ModelError. It never repeats a failed request: the loop does that
where the person sees it. It only asks again, once each, without what an endpoint says it cannot take.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing

import msgspec

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation
from agentclip.model.assemble import ReplyAssembler, ReplyTooLongError
from agentclip.model.base import ModelFacts, Part
from agentclip.model.facts import read_models
from agentclip.model.failures import Refusal, as_error, one_line, read_refusal, read_streamed_error
from agentclip.model.httpx_alone import httpx
from agentclip.model.outcome import finished_reply, simpler
from agentclip.model.protocol import ProviderSettings
from agentclip.model.sse import EventStream, EventTooLongError
from agentclip.model.transport import connection_lost, headers, make_client, transport_error
from agentclip.model.wire import BodyOptions, call_ids, has_images, request_body

MAX_REFUSAL_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 32 * 1024 * 1024
AFTER_FINISH_S = 5.0
"""After the finish_reason only usage and the end may come; an endpoint that holds them back is not waited for longer."""
DONE = "[DONE]"


class _RefusedError(Exception):
    """An HTTP answer other than 2xx."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


class OpenAIEndpoint:
    """One endpoint; keeps its connections."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        self._options = BodyOptions(settings.model, stream=settings.stream, images=settings.images)
        self._client: httpx.AsyncClient | None = None
        self.context_window: int | None = None
        """Nobody told yet: the list of models may."""

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

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
            except _RefusedError as refused:
                found = simpler(options, refused.refusal, conversation)
                if found is None:
                    raise as_error(refused.refusal, self.settings) from refused
                options, lasting = found
                if lasting:
                    self._options = options
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise transport_error(error, self.settings) from error
            except (EventTooLongError, ReplyTooLongError) as error:
                raise ModelError(f"the answer does not end: {error}", code=ErrorCode.BAD_REQUEST) from error
            else:
                return

    async def models(self) -> tuple[ModelFacts, ...]:
        """What the endpoint offers. Raises ModelError."""
        self._client = self._client or make_client(self.settings)
        try:
            response = await self._client.get(f"{self.settings.api_base}/models", headers=headers(self.settings))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise transport_error(error, self.settings) from error
        if not response.is_success:
            refusal = read_refusal(response.status_code, response.headers, response.content, self.settings.key)
            raise as_error(refusal, self.settings)
        return read_models(self._decode(response.text))

    async def _attempt(self, conversation: Conversation, options: BodyOptions) -> AsyncGenerator[Part, None]:
        # Pictures are read from the disk and turned into base64 here: not on the loop that must hear a cancel.
        body = await asyncio.to_thread(_encode, conversation, options)
        assembler = ReplyAssembler(call_ids(conversation))
        url = f"{self.settings.api_base}/chat/completions"
        self._client = self._client or make_client(self.settings)
        async with self._client.stream("POST", url, content=body, headers=headers(self.settings)) as response:
            if not response.is_success:
                await self._refuse(response)
            chunks = response.aiter_bytes()
            async with aclosing(self._read(response, chunks, assembler)) as parts:
                async for part in parts:
                    yield part
            left_out = has_images(conversation) and not options.images
            yield finished_reply(assembler, self.settings.prices, pictures_left_out=left_out)
            await _drain(chunks)

    async def _refuse(self, response: httpx.Response) -> None:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) >= MAX_REFUSAL_BYTES:
                break
        raise _RefusedError(read_refusal(response.status_code, response.headers, bytes(body), self.settings.key))

    async def _read(
        self, response: httpx.Response, chunks: AsyncIterator[bytes], assembler: ReplyAssembler
    ) -> AsyncGenerator[Part, None]:
        """The parts of an answer, by what it really is: a stream, or one JSON document although a stream was asked for."""
        kind = response.headers.get("content-type", "")
        if "event-stream" in kind:
            reading = self._read_stream(chunks, assembler)
        else:
            reading = self._read_whole(response, chunks, assembler)
        async with aclosing(reading) as parts:
            async for part in parts:
                yield part

    async def _read_stream(self, chunks: AsyncIterator[bytes], assembler: ReplyAssembler) -> AsyncGenerator[Part, None]:
        stream = EventStream()
        done = ended = False
        while not (done or ended):
            chunk = await _next_chunk(chunks, assembler)
            ended = chunk == b""
            for data in stream.end() if ended else stream.feed(chunk):
                if data.strip() == DONE:
                    done = True
                    break
                for part in self._feed(data, assembler):
                    yield part
        if not done and assembler.finish_reason is None:
            raise connection_lost()

    def _feed(self, data: str, assembler: ReplyAssembler) -> Iterator[Part]:
        value = self._decode(data)
        if value.get("error"):
            raise as_error(read_streamed_error(value["error"], self.settings.key), self.settings)
        yield from assembler.feed(value)

    async def _read_whole(
        self, response: httpx.Response, chunks: AsyncIterator[bytes], assembler: ReplyAssembler
    ) -> AsyncGenerator[Part, None]:
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                raise ReplyTooLongError(f"more than {MAX_ANSWER_BYTES} bytes")
        if body.lstrip()[:1] == b"<":
            raise as_error(read_refusal(response.status_code, response.headers, bytes(body), self.settings.key), self.settings)
        if body.lstrip().startswith((b"data:", b":", b"event:")):  # a stream without its content type
            for data in [*(stream := EventStream()).feed(bytes(body)), *stream.end()]:
                if data.strip() != DONE:
                    for part in self._feed(data, assembler):
                        yield part
            return
        for part in self._feed(body.decode("utf-8", "replace"), assembler):
            yield part

    def _decode(self, data: str) -> dict[str, object]:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            said = one_line(data, self.settings.key)[:80]
            message = f"the server's answer is not JSON: {said}" if said else "the server's answer is empty"
            raise ModelError(message, hint="Check --api-base", code=ErrorCode.SERVER_ERROR) from error
        return value if isinstance(value, dict) else {}


def _encode(conversation: Conversation, options: BodyOptions) -> bytes:
    return msgspec.json.encode(request_body(conversation, options, read_image))


def read_image(path: str, limit: int) -> bytes:
    """At most `limit` bytes of a picture. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(limit)


async def _next_chunk(chunks: AsyncIterator[bytes], assembler: ReplyAssembler) -> bytes:
    """The next bytes; b"" at the end, and also when nothing is missing any more but the connection fails."""
    if assembler.finish_reason is None:
        return await anext(chunks, b"")
    try:
        async with asyncio.timeout(AFTER_FINISH_S):
            return await anext(chunks, b"")
    except (httpx.TransportError, TimeoutError):
        return b""


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of the answer, so that the connection can be used again."""
    try:
        async with asyncio.timeout(0.2):
            async for _ in chunks:
                pass
    except (httpx.HTTPError, httpx.StreamError, TimeoutError):
        return
