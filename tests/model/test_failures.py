"""The many spellings of one failure."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Any

import msgspec
import pytest

from agentclip.errors import ErrorCode
from agentclip.model.failures import MAX_TEXT_CHARS, Refusal, as_error, read_refusal, read_streamed_error, retry_after
from agentclip.model.protocol import ProviderSettings

SETTINGS = ProviderSettings("m-1", "https://api.example.com/v1", key="sk-secret", key_variable="EXAMPLE_API_KEY")


def error_of(status: int, body: Any = b"", settings: ProviderSettings = SETTINGS, **headers: str) -> tuple[ErrorCode, str]:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    error = as_error(read_refusal(status, headers, raw, settings.key), settings)
    return error.code, str(error)


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


TOO_LONG = [
    said("Requested tokens", code="context_length_exceeded"),
    said("prompt is too long: 205880 tokens > 200000 maximum"),
    said("The input (267657) is longer than the model's context length (262143)"),
    said("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
    said("the request exceeds the available context size, try increasing it", type="exceed_context_size_error"),
    said("This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    said("Please reduce the length of the messages or completion."),
    said("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    said("Input is too long for requested model."),
    {"object": "error", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"},
]


@pytest.mark.parametrize("body", TOO_LONG)
@pytest.mark.parametrize("status", [400, 422])
def test_a_context_that_is_too_long_is_recognised(status: int, body: dict[str, Any]) -> None:
    code, text = error_of(status, body)
    assert code is ErrorCode.CONTEXT_TOO_LONG
    assert "Start a new session" in text


def test_413_without_a_body_is_too_long() -> None:
    assert error_of(413)[0] is ErrorCode.CONTEXT_TOO_LONG


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (
            401,
            said("Incorrect API key"),
            ErrorCode.BAD_KEY,
            "refuses the key (401): Incorrect API key. Next: Check EXAMPLE_API_KEY",
        ),
        (403, said("Forbidden"), ErrorCode.BAD_KEY, "Check EXAMPLE_API_KEY"),
        (402, said("Insufficient Balance"), ErrorCode.BAD_KEY, "no credit left"),
        (429, said("You exceeded", code="insufficient_quota"), ErrorCode.BAD_KEY, "no credit left"),
        (429, said("Too many"), ErrorCode.RATE_LIMIT, "rate limit: Too many"),
        (
            404,
            said("The model `m-1` does not exist"),
            ErrorCode.UNKNOWN_MODEL,
            "unknown model m-1 at https://api.example.com/v1",
        ),
        (404, {"error": 'model "m-1" not found, try pulling it first'}, ErrorCode.UNKNOWN_MODEL, "try pulling it first"),
        (400, said("m-1 is not a valid model ID"), ErrorCode.UNKNOWN_MODEL, "Choose another with --model"),
        (404, b"404 page not found", ErrorCode.CONFIG, "it usually ends with /v1"),
        (404, {"detail": "Not Found"}, ErrorCode.CONFIG, "Not Found"),
        (405, b"", ErrorCode.CONFIG, "405 Method Not Allowed"),
        (301, b"", ErrorCode.CONFIG, "301 Moved Permanently"),
        (200, b"<!doctype html><title>hi</title>", ErrorCode.CONFIG, "a web page"),
        (500, said("oops"), ErrorCode.SERVER_ERROR, "500 Internal Server Error): oops"),
        (502, b"<html><h1>Bad Gateway</h1></html>", ErrorCode.SERVER_ERROR, "502 Bad Gateway)"),
        (529, said("Overloaded"), ErrorCode.SERVER_ERROR, "(529): Overloaded"),
        (408, b"", ErrorCode.SERVER_ERROR, "408 Request Timeout"),
        (400, said("Invalid value: 'x'"), ErrorCode.BAD_REQUEST, "refused the request (400 Bad Request): Invalid value: 'x'"),
        (422, {"detail": [{"msg": "field required"}]}, ErrorCode.BAD_REQUEST, "field required"),
        (400, [said("in a list")], ErrorCode.BAD_REQUEST, "in a list"),
        (400, {"error": "plain"}, ErrorCode.BAD_REQUEST, "plain"),
        (418, b"\xff\xfe", ErrorCode.BAD_REQUEST, "418"),
    ],
)
def test_each_refusal_has_its_code_and_one_line_that_says_what_to_do(
    status: int, body: Any, code: ErrorCode, words: str
) -> None:
    found, text = error_of(status, body)
    assert found is code
    assert words in text
    assert "\n" not in text


def test_without_a_key_the_variable_to_set_is_named() -> None:
    keyless = ProviderSettings("m-1", "http://127.0.0.1:1/v1", key_variable="AGENTCLIP_API_KEY")
    code, text = error_of(401, said("no"), keyless)
    assert code is ErrorCode.MISSING_KEY
    assert text.endswith("Set AGENTCLIP_API_KEY")


def test_the_words_of_the_server_are_one_short_printable_line_without_the_key() -> None:
    evil = "bad sk-secret \x1b[31mred\x07\r\nline two \u202e \0 [red]" + "x" * 100_000
    text = error_of(400, said(evil))[1]
    assert "sk-secret" not in text
    assert text.isprintable()
    assert "bad *** [31mred line two" in text
    assert len(text) < MAX_TEXT_CHARS + 100


def test_the_upstream_of_a_gateway_is_quoted() -> None:
    body = said("Provider returned error", code=400, metadata={"raw": "image too small"})
    assert "Provider returned error - 400 - image too small" in error_of(400, body)[1]


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"{" * 10, b"null", b"[]", b"3", b'{"error": null}', b'{"error": [1]}', b"<" * 9]
)
@pytest.mark.parametrize("status", [400, 500])
def test_no_body_breaks_the_reading(status: int, body: bytes) -> None:
    assert error_of(status, body)[0] in {ErrorCode.BAD_REQUEST, ErrorCode.SERVER_ERROR, ErrorCode.CONFIG}


@pytest.mark.parametrize(
    ("header", "seconds"), [("2", 2.0), ("1.5", 1.5), ("", None), ("soon", None), ("-3", None), ("9" * 30, None), ("nan", None)]
)
def test_retry_after_in_seconds(header: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": header}) == seconds


def test_retry_after_as_a_date() -> None:
    seconds = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert seconds is not None
    assert 25 < seconds < 31
    assert retry_after({"retry-after": formatdate(0, usegmt=True)}) == 0


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"message": "busy", "code": 503}, 503),
        ({"message": "Rate limit reached", "code": "rate_limit_exceeded"}, 429),
        ({"message": "x", "code": True}, 500),
        ({"message": "x", "code": 7}, 500),
        ("text only", 500),
        ([1, 2], 500),
    ],
)
def test_an_error_inside_a_stream_is_sorted_like_one_before_it(error: Any, status: int) -> None:
    assert read_streamed_error(error, "").status == status


def test_an_error_inside_a_stream_may_say_that_the_context_is_too_long() -> None:
    refusal = read_streamed_error({"message": "prompt is too long"}, "")
    assert as_error(refusal, SETTINGS).code is ErrorCode.CONTEXT_TOO_LONG
    assert as_error(Refusal(0, "x"), SETTINGS).code is ErrorCode.CONFIG
