"""Which local servers answer right now. Addresses come in; a short question goes to this machine and nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from urllib.parse import urlsplit

from agentclip.model.providers import Provider

PATIENCE_S = 1.0
"""Nothing local needs longer to list its models."""
MAX_BYTES = 64 * 1024


async def answering(providers: Iterable[Provider]) -> frozenset[str]:
    """The prefixes of those that list their models, all asked at once."""
    asked = tuple(providers)
    answers = await asyncio.gather(*(lists_models(each.api_base) for each in asked))
    return frozenset(each.prefix for each, answered in zip(asked, answers, strict=True) if answered)


async def lists_models(api_base: str) -> bool:
    """Whether a model server is there: another program's page on the same port is none."""
    parts = urlsplit(api_base)
    request = f"GET {parts.path}/models HTTP/1.0\r\nHost: {parts.hostname}\r\nAccept: application/json\r\n\r\n"
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            with contextlib.closing(writer):
                writer.write(request.encode())
                answer = await reader.read(MAX_BYTES)
                while b'"data"' not in answer and len(answer) < MAX_BYTES and (more := await reader.read(MAX_BYTES)):
                    answer += more
    except (OSError, TimeoutError):
        return False
    status = answer.partition(b"\r\n")[0].split()
    return len(status) > 1 and status[1] == b"200" and b'"data"' in answer
