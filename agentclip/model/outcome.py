"""What both routes do alike: ask again without what an endpoint refuses, and end a reply. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import AssistantMessage, Conversation, Usage
from agentclip.model.assemble import ReplyAssembler
from agentclip.model.base import Reply
from agentclip.model.failures import NO_PICTURES, TEXT_ONLY, Refusal
from agentclip.model.protocol import Prices
from agentclip.model.wire import BodyOptions, has_images

PICTURES_LEFT_OUT = "the endpoint takes no pictures: they were replaced by a note"


def simpler(options: BodyOptions, refusal: Refusal, conversation: Conversation) -> tuple[BodyOptions, bool] | None:
    """The request without what the endpoint complains about, and whether to leave it out from now on.

    None when that is nothing we can leave out.
    """
    if refusal.status not in {400, 404, 415, 422, 500}:
        return None
    if options.stream and options.include_usage and "stream_options" in refusal.text:
        return replace(options, include_usage=False), True
    if options.images and has_images(conversation) and NO_PICTURES.search(refusal.text):
        return replace(options, images=False), TEXT_ONLY.search(refusal.text) is not None
    return None


def priced(usage: Usage | None, prices: Prices | None) -> Usage | None:
    """The usage with its cost where the prices are configured; what the provider says of it goes first."""
    if usage is None or prices is None or usage.cost_usd is not None:
        return usage
    cached = min(usage.cached_tokens, usage.input_tokens)
    cost = (usage.input_tokens - cached) * prices.input + cached * prices.cached + usage.output_tokens * prices.output
    return replace(usage, cost_usd=cost / 1_000_000)


def finished_reply(assembler: ReplyAssembler, prices: Prices | None, *, pictures_left_out: bool) -> Reply:
    """The whole reply.

    Raises:
        ModelError: it holds neither text nor calls.
    """
    message, finish = assembler.message(), assembler.finish_reason
    notes: tuple[str, ...] = (PICTURES_LEFT_OUT,) if pictures_left_out else ()
    if not message.text.strip() and not message.tool_calls:
        raise _empty_answer(finish)
    if not message.text.strip():
        message = AssistantMessage("", message.tool_calls, message.reasoning)
    if finish == "length":
        notes += ("the answer is cut: the model reached its output limit",)
    elif finish == "content_filter":
        notes += ("the answer is cut: the provider's content filter stopped it",)
    return Reply(message, priced(assembler.usage, prices), notes)


def _empty_answer(finish: str | None) -> ModelError:
    match finish:
        case "length":
            text, hint = "the model used up its output limit without an answer", "Ask for less at once"
            return ModelError(text, hint=hint, code=ErrorCode.BAD_REQUEST)
        case "content_filter":
            text, hint = "the provider's content filter stopped the answer", "Say it in other words"
            return ModelError(text, hint=hint, code=ErrorCode.BAD_REQUEST)
        case _:
            return ModelError("the model answered with nothing", code=ErrorCode.SERVER_ERROR)
