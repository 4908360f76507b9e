"""One event to one line of JSON and back. Bytes in, values out; it knows no file.

A line: `{"v":1,"seq":7,"time":1770000000.123,"type":"TurnStarted", ...the event's own fields}`.
"""

from __future__ import annotations

import functools
import json
import re
import typing

import msgspec

from agentclip.events import CallAnswered, Event, Recorded
from agentclip.messages import Image, ToolMessage, Usage

VERSION = 1

TYPES: dict[str, type] = {cls.__name__: cls for cls in typing.get_args(Event)}


class UnreadableLineError(Exception):
    """The line is no event that this version knows."""


class _Head(msgspec.Struct):
    v: int
    seq: int
    time: float
    type: str


_head = msgspec.json.Decoder(_Head)


class _Shown(msgspec.Struct):
    text: str
    images: tuple[Image, ...] = ()


class _Answer(msgspec.Struct):
    number: int
    seq: int
    time: float
    tool_call_id: str | None
    shown: _Shown


_answer = msgspec.json.Decoder(_Answer)


class _Call(msgspec.Struct):
    id: str


class _Said(msgspec.Struct):
    tool_calls: tuple[_Call, ...]


class Paid(msgspec.Struct):
    """Of an AssistantReplied what it used, and the ids of its calls."""

    message: _Said
    usage: Usage | None = None
    partial: bool = False


_paid = msgspec.json.Decoder(Paid)

_HEAD = re.compile(rb'\{"v":' + str(VERSION).encode() + rb',"seq":(\d{1,15}),"time":(\d{1,15}(?:\.\d+)?),"type":"(\w+)"')
"""How `encode` begins a line."""


@functools.cache
def _decoder(name: str) -> msgspec.json.Decoder[Event]:
    return msgspec.json.Decoder(TYPES[name])


def encode(recorded: Recorded) -> bytes:
    """Return the line, newline included. Never fails because of what a string holds: half surrogates become U+FFFD."""
    head = f'{{"v":{VERSION},"seq":{recorded.seq},"time":{recorded.time:.3f},'.encode()
    return head + encode_event(recorded.event)[1:] + b"\n"


def encode_event(event: Event) -> bytes:
    """`{"type":"TurnStarted", ...}`, on one line."""
    head = f'{{"type":"{type(event).__name__}"'.encode()
    try:
        body = msgspec.json.encode(event)
    except UnicodeEncodeError:
        body = json.dumps(_sound(msgspec.to_builtins(event)), ensure_ascii=False, separators=(",", ":")).encode()
    return head + (b"}" if body == b"{}" else b"," + body[1:])


def decode(line: bytes) -> Recorded:
    """Return the event of a line.

    Raises:
        UnreadableLineError: not JSON, not of this version, of an unknown type, or without a field it needs.
    """
    try:
        if (sound := _HEAD.match(line)) and (name := sound[3].decode()) in TYPES:
            return Recorded(int(sound[1]), float(sound[2]), _decoder(name).decode(line))
        head = _head.decode(line)
        if head.v != VERSION:
            raise UnreadableLineError(f"version {head.v}")
        if head.type not in TYPES:
            raise UnreadableLineError(f"type {head.type}")
        return Recorded(head.seq, head.time, _decoder(head.type).decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableLineError(str(error)) from error


def decode_answer(line: bytes) -> Recorded | None:
    """Of a CommandFinished only what the model reads, as a CallAnswered: a fifth of the work. None for a run of the person.

    Its reason is the number of the run.

    Raises:
        UnreadableLineError: as `decode`.
    """
    try:
        answer = _answer.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableLineError(str(error)) from error
    if answer.tool_call_id is None:
        return None
    message = ToolMessage(answer.tool_call_id, answer.shown.text, answer.shown.images)
    return Recorded(answer.seq, answer.time, CallAnswered(message, str(answer.number)))


def decode_paid(line: bytes) -> Paid:
    """Of an AssistantReplied only what it cost: a third of the work.

    Raises:
        UnreadableLineError: as `decode`.
    """
    try:
        return _paid.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableLineError(str(error)) from error


def seq_of(beginning: bytes) -> int | None:
    """The place of an event in its log, by the first 64 bytes of its line; None for one that does not look as usual."""
    found = _HEAD.match(beginning)
    return int(found[1]) if found else None


def _sound(value: object) -> object:
    """The same builtins with every string encodable as UTF-8."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {key: _sound(item) for key, item in value.items()}
        case list() | tuple():
            return [_sound(item) for item in value]
        case _:
            return value
