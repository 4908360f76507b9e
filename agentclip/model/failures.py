"""What an endpoint's refusal means: status, headers and text come in, one ModelError with one clear line goes out. Pure.

Providers spell the same failure in many ways; the spellings are here and nowhere else.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from msgspec import Struct

from agentclip.errors import ErrorCode, ModelError
from agentclip.model.protocol import ProviderSettings
from agentclip.model.wire import clean

MAX_TEXT_CHARS = 300
"""How much of the server's own message is shown."""

CONTEXT_TOO_LONG = re.compile(
    r"context[_ -]?(length|window|size)|maximum prompt length|longer than the model|reduce the length"
    r"|(prompt|input|request|message|conversation)s?( token count)? (is|are|was|were)? ?too (long|large)"
    r"|too many (input |prompt )?tokens|tokens? (count )?exceeds?|input token count|max_prompt_tokens",
    re.IGNORECASE,
)
UNKNOWN_MODEL = re.compile(
    r"model_not_found|not a valid model|(unknown|invalid|no such) model"
    r"|model\b.{0,200}(not exist|not found|not available|unknown)",
    re.IGNORECASE | re.DOTALL,
)
NO_PICTURES = re.compile(r"image|multi-?modal|vision|picture", re.IGNORECASE)
TEXT_ONLY = re.compile(
    r"support[a-z]* (for )?(image|vision|multi)|(image|vision)[a-z_ ]*(input)?[a-z ]* (not|n't|un) ?support"
    r"|not a (multi-?modal|vision)|text[- ]only|not support[a-z ]* (image|vision)",
    re.IGNORECASE,
)
OUT_OF_CREDIT = re.compile(
    r"insufficient[_ ](quota|balance|credit|funds)|exceeded your current quota|credit balance|billing", re.IGNORECASE
)


class Refusal(Struct, frozen=True):
    """An answer that is no reply."""

    status: int
    """HTTP status; the code inside the stream for an error sent there; 0 when there is none."""
    text: str
    """The server's own message and code, one printable line, shortened; empty when there is none."""
    is_page: bool = False
    """The body is HTML: something else than the API answered."""
    retry_after_s: float | None = None


def read_refusal(status: int, headers: Mapping[str, str], body: bytes, key: str) -> Refusal:
    """An HTTP answer as a refusal; `key` is blotted out should the server echo it."""
    text = body.decode("utf-8", "replace")
    is_page = "html" in headers.get("content-type", "") or text.lstrip()[:1] == "<"
    message = "" if is_page else _message_in(text)
    return Refusal(status, one_line(message, key), is_page, retry_after(headers))


def read_streamed_error(error: object, key: str) -> Refusal:
    """An error object inside a stream as a refusal."""
    code = error.get("code") if isinstance(error, dict) else None
    text = one_line(_message_of(error), key)
    if isinstance(code, int) and 400 <= code <= 599:
        return Refusal(code, text)
    if re.search(r"rate.?limit|too many requests", text, re.IGNORECASE):
        return Refusal(429, text)
    return Refusal(500, text)


def _message_in(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, list) and value:
        value = value[0]
    return _message_of(value.get("error", value) if isinstance(value, dict) else value)


def _message_of(error: object) -> str:
    """Message and code of an error object, whatever its form."""
    if not isinstance(error, dict):
        return str(error or "")
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    words = [error.get("message") or error.get("detail") or error.get("error"), error.get("code") or error.get("type"), raw]
    texts = [str(word) for word in words if word]
    return " - ".join(text for n, text in enumerate(texts) if text not in texts[:n])


def one_line(text: str, key: str = "") -> str:
    """One printable line of at most MAX_TEXT_CHARS characters, without the key."""
    if len(key) >= 8:  # a shorter one is a placeholder, and would blot out ordinary letters
        text = text.replace(key, "***")
    text = "".join(char if char.isprintable() else " " for char in clean(text[: 20 * MAX_TEXT_CHARS]))
    text = " ".join(text.split())
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 1] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that `Retry-After` asks for; None when it does not or makes no sense."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def as_error(refusal: Refusal, settings: ProviderSettings) -> ModelError:
    """The error of a refusal."""
    status, said = refusal.status, f": {refusal.text}" if refusal.text else ""
    if status in {401, 402, 403} or (status in {400, 429} and OUT_OF_CREDIT.search(refusal.text)):
        return _key_error(status, said, settings)
    if status == 413 or (status in {400, 422, 500} and CONTEXT_TOO_LONG.search(refusal.text)):
        return ModelError(
            f"the conversation is too long for {settings.model} ({status}){said}",
            hint="Start a new session, or choose a model with a larger context",
            code=ErrorCode.CONTEXT_TOO_LONG,
        )
    if status == 429:
        return ModelError(f"rate limit{said}", code=ErrorCode.RATE_LIMIT, retry_after_s=refusal.retry_after_s)
    if status >= 500 or status in {408, 409, 425}:
        message = f"the server failed ({_status_words(status)}){said}"
        return ModelError(message, code=ErrorCode.SERVER_ERROR, retry_after_s=refusal.retry_after_s)
    if status in {400, 404, 422} and UNKNOWN_MODEL.search(refusal.text):
        return ModelError(
            f"unknown model {settings.model} at {settings.where}{said}",
            hint="Choose another with --model",
            code=ErrorCode.UNKNOWN_MODEL,
        )
    return _address_error(refusal, said, settings)


def _key_error(status: int, said: str, settings: ProviderSettings) -> ModelError:
    variable = settings.key_variable or "the API key"
    if not settings.key:
        code, message, hint = ErrorCode.MISSING_KEY, f"{settings.where} wants a key ({status}){said}", f"Set {variable}"
    elif status in {400, 402, 429}:
        code, message = ErrorCode.BAD_KEY, f"the account has no credit left ({status}){said}"
        hint = f"Add credit to it, or put another key into {variable}"
    else:
        code, message = ErrorCode.BAD_KEY, f"{settings.where} refuses the key ({status}){said}"
        hint = f"Check {variable}"
    return ModelError(message, hint=hint, code=code)


def _address_error(refusal: Refusal, said: str, settings: ProviderSettings) -> ModelError:
    """What is left: a wrong address, or a request that the server does not like."""
    if refusal.is_page or refusal.status in {404, 405} or refusal.status < 400:
        what = "a web page" if refusal.is_page else _status_words(refusal.status)
        return ModelError(
            f"no chat completions at {settings.where}: it answers with {what}{said}",
            hint="Check --api-base; it usually ends with /v1",
            code=ErrorCode.CONFIG,
        )
    return ModelError(f"the server refused the request ({_status_words(refusal.status)}){said}", code=ErrorCode.BAD_REQUEST)


def _status_words(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
