"""The built-in commands over a machine without conversations and jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from agentclip.command import CommandTable
from agentclip.commands.catalog import built_in_commands
from agentclip.commands.jobs import JobFacts
from agentclip.commands.topic import TopicFacts, TopicMatch, TopicRun
from agentclip.errors import SessionError


class NoTopics:
    def list(self, limit: int | None) -> Sequence[TopicFacts]:
        del limit
        return ()

    def info(self, topic: str) -> TopicFacts:
        raise SessionError(f"no session {topic!r}")

    def runs(self, topic: str) -> Sequence[TopicRun]:
        raise SessionError(f"no session {topic!r}")

    def search(self, words: Sequence[str], stop: Callable[[], None]) -> Iterator[TopicMatch]:
        del words, stop
        return iter(())

    def rename(self, topic: str, title: str) -> str:
        raise SessionError(f"no session {topic!r} to be called {title}")


class NoJobs:
    def list(self) -> tuple[JobFacts, ...]:
        return ()

    def wait(self, number: int, timeout_s: float, cancelled: threading.Event) -> None:
        del number, timeout_s, cancelled

    def kill(self, number: int) -> None:
        del number

    def keep(self, number: int) -> None:
        del number


def built_in() -> CommandTable:
    return built_in_commands(NoTopics(), NoJobs())
