"""The built-in commands over a machine without conversations and jobs."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from agentclip.command import CommandTable
from agentclip.commands.catalog import built_in_commands
from agentclip.commands.jobs import JobFacts
from agentclip.commands.topic import TopicFacts, TopicRun
from agentclip.errors import SessionError


class NoTopics:
    def list(self, limit: int | None) -> Sequence[TopicFacts]:
        del limit
        return ()

    def info(self, topic: str) -> TopicFacts:
        raise SessionError(f"no session {topic!r}")

    def runs(self, topic: str) -> Sequence[TopicRun]:
        raise SessionError(f"no session {topic!r}")


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
