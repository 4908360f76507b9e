"""The commands' facts, from real sessions on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentclip.errors import ErrorCode, SessionError
from agentclip.events import AssistantReplied, CommandStarted, TurnEnd, TurnFinished, TurnStarted, UserMessageFolded
from agentclip.messages import AssistantMessage, UserMessage
from agentclip.results import Chain, Join, Pipeline, Stage, StageKind
from agentclip.sources import SessionTopics, command_uses
from agentclip.store.listing import LOG_NAME
from agentclip.store.session import Session


def go_on() -> None:
    """Nobody stops the search."""


def saved(folder: Path, prompt: str, *, keep: bool = False) -> Session:
    session = Session.create(folder, "/srv", "some-model", "1")
    session.append(TurnStarted(UserMessage(prompt)))
    session.append(AssistantReplied(AssistantMessage('I look into the "log"')))
    session.append(CommandStarted(1, "a", "grep -c Ärger log.txt", Chain("", ()), "/nowhere"))
    session.append(UserMessageFolded(UserMessage("and the\nbackup")))
    if not keep:
        session.close()
    return session


def found(folder: Path, *words: str) -> list[tuple[str, str]]:
    return [(match.kind, match.text) for match in SessionTopics(folder).search(words, go_on)]


def test_prompts_answers_and_commands_are_searched_in_any_case(tmp_path: Path) -> None:
    saved(tmp_path, "Deploy the app")
    assert found(tmp_path, "dePLOY") == [("prompt", "Deploy the app")]
    assert found(tmp_path, '"LOG"') == [("answer", 'I look into the "log"')]
    assert found(tmp_path, "äRGER") == [("run 1", "grep -c Ärger log.txt")]
    assert found(tmp_path, "backup", "and") == [("prompt", "and the\nbackup")]
    assert found(tmp_path, "some-model") == found(tmp_path, "AssistantReplied") == found(tmp_path, "/nowhere") == []


def test_damaged_lines_and_missing_logs_do_not_end_a_search(tmp_path: Path) -> None:
    session = saved(tmp_path, "Deploy")
    with (session.folder / LOG_NAME).open("ab") as log:
        log.write(b'{"type":"TurnStarted" deploy torn\n\xff\xfe"type":"TurnStarted"\n')
    other = saved(tmp_path, "deploy again")
    (other.folder / LOG_NAME).unlink()
    assert found(tmp_path, "deploy") == [("prompt", "Deploy")]
    assert found(tmp_path / "nowhere", "deploy") == []


def test_nothing_is_read_ahead_and_a_stop_is_heard(tmp_path: Path) -> None:
    saved(tmp_path, "one deploy")
    asked = 0

    def count() -> None:
        nonlocal asked
        asked += 1

    next(SessionTopics(tmp_path).search(["deploy"], count))
    assert asked <= 2

    def stop() -> None:
        raise SessionError("stopped")

    with pytest.raises(SessionError, match="stopped"):
        list(SessionTopics(tmp_path).search(["deploy"], stop))


def test_a_saved_session_is_renamed_and_gets_its_first_prompt_back(tmp_path: Path) -> None:
    session = saved(tmp_path, "Deploy the app")
    topics = SessionTopics(tmp_path)
    assert topics.rename(session.id, "Release\nof May") == "Release of May"
    assert topics.info(session.id).title == "Release of May"
    assert topics.rename(session.id, "") == "Deploy the app"
    assert topics.info(session.id).title == "Deploy the app"


def test_the_session_that_asks_renames_itself_and_one_open_elsewhere_is_refused(tmp_path: Path) -> None:
    session = saved(tmp_path, "Deploy the app", keep=True)
    assert SessionTopics(tmp_path, session).rename(session.id, "Mine") == "Mine"
    session.append(TurnFinished(TurnEnd.ANSWERED))
    assert SessionTopics(tmp_path).info(session.id).title == "Mine"
    with pytest.raises(SessionError) as refused:
        SessionTopics(tmp_path).rename(session.id, "Theirs")
    assert refused.value.code is ErrorCode.SESSION_BUSY
    session.close()


def test_the_uses_of_commands_are_counted_in_pipelines_and_chains(tmp_path: Path) -> None:
    session = saved(tmp_path, "hello", keep=True)
    stages = tuple(Stage(name, 0, (name,), kind=StageKind.COMMAND, argv=(name,)) for name in ("topic", "see", "topic"))
    whole = Stage("for i in 1; do see x; done", 0, None, kind=StageKind.SHELL)
    pipelines = (Pipeline(Join.ALWAYS, negated=False, stages=stages), Pipeline(Join.ALWAYS, negated=False, stages=(whole,)))
    session.append(CommandStarted(2, "b", "", Chain("", pipelines), "/nowhere"))
    assert dict(command_uses(session)) == {"topic": 2, "see": 1}
    session.close()
