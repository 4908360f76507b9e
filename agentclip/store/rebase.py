"""A session folder that was moved: paths in its events are set to where the files are now. Pure."""

from __future__ import annotations

import os
import re

from msgspec.structs import replace

from agentclip.events import (
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    CommandStarted,
    Event,
    SnapshotTaken,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.messages import Image
from agentclip.results import ChainResult, StageResult, StreamFile

OUTPUT_NAME = "cmd-output"


def rebase(event: Event, folder: str) -> Event:
    """The event with every path into a `cmd-output` folder set into this one, by base name."""
    match event:
        case CommandStarted() if (path := _path(event.stdout_path, folder)) != event.stdout_path:
            return replace(event, stdout_path=path)
        case CommandFinished():
            return _finished(event, folder)
        case CallAnswered() if (images := _images(event.message.images, folder)) is not event.message.images:
            return replace(event, message=replace(event.message, images=images))
        case TurnStarted() | UserMessageFolded() if event.message.images:
            return replace(event, message=replace(event.message, images=_images(event.message.images, folder)))
        case SnapshotTaken():
            return replace(event, text=_FOLDER.sub(lambda _: folder, event.text))
        case AssistantReplied() | _:
            return event


def _finished(event: CommandFinished, folder: str) -> CommandFinished:
    images, result = _images(event.shown.images, folder), _result(event.result, folder)
    if images is event.shown.images and result is event.result:
        return event
    return replace(event, result=result, shown=replace(event.shown, images=images))


def _result(result: ChainResult, folder: str) -> ChainResult:
    if os.path.dirname(result.stdout.path) == folder:
        return result
    stages = tuple(_stage(stage, folder) for stage in result.stages)
    return replace(result, stdout=_stream(result.stdout, folder), stages=stages, images=_images(result.images, folder))


def _stage(stage: StageResult, folder: str) -> StageResult:
    return replace(stage, stderr=_stream(stage.stderr, folder)) if stage.stderr else stage


def _stream(stream: StreamFile, folder: str) -> StreamFile:
    return replace(stream, path=_path(stream.path, folder))


def _images(images: tuple[Image, ...], folder: str) -> tuple[Image, ...]:
    if all(_path(image.path, folder) == image.path for image in images):
        return images
    return tuple(replace(image, path=_path(image.path, folder)) for image in images)


_FOLDER = re.compile(rf"/[^\s<>&'\"]*/{OUTPUT_NAME}(?=[/\s])")
"""Inside a text; a folder with odd characters in its name keeps its old one there."""


def _path(path: str, folder: str) -> str:
    if path.startswith(folder + "/"):
        return path
    parent, name = os.path.split(path)
    return os.path.join(folder, name) if os.path.basename(parent) == OUTPUT_NAME and parent != folder else path
