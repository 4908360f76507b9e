"""What waits, as a list: edit it, take it out, also while the agent takes from it; and the same by a word in the line mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentclip.agent.queue_edit import replace_waiting
from agentclip.agent.waiting import Kind, Queue, Waiting
from tests.ui.screens import make_app, screen_text, send, until
from tests.ui.scripted import ScriptedAgent

WIDE = (140, 40)


class Waiter(ScriptedAgent):
    """Everything that is sent waits."""

    def __init__(self, folder: Path, *texts: str) -> None:
        super().__init__(folder)
        self.waiting = Queue()
        for each in texts:
            self.submit(each)

    @property
    def queue(self) -> tuple[str, ...]:
        return self.waiting.texts()

    @queue.setter
    def queue(self, _value: tuple[str, ...]) -> None:
        return

    def submit(self, text: str) -> None:
        self.waiting.add(Waiting(text))

    def shell(self, line: str) -> None:
        self.waiting.add(Waiting(line, Kind.SHELL))

    def compress(self) -> None:
        self.waiting.add(Waiting("/compress", Kind.COMPRESS))

    def unqueue(self) -> str | None:
        return self.waiting.take_back()


@pytest.mark.parametrize(
    ("at", "texts", "left"),
    [
        (0, (), ("!ls -l", "/compress", "two\nlines")),
        (1, (), ("one", "/compress", "two\nlines")),
        (3, (), ("one", "!ls -l", "/compress")),
        (1, ("!pwd", "and this"), ("one", "!pwd", "and this", "/compress", "two\nlines")),
    ],
)
def test_an_entry_is_replaced_in_its_place_and_every_kind_stays_what_it_is(
    tmp_path: Path, at: int, texts: tuple[str, ...], left: tuple[str, ...]
) -> None:
    agent = Waiter(tmp_path, "one")
    agent.shell("ls -l")
    agent.compress()
    agent.submit("two\nlines")
    taken = agent.queue[at]
    assert replace_waiting(agent, at, texts) == taken
    assert agent.queue == left
    kinds = {"one": Kind.PROMPT, "ls -l": Kind.SHELL, "pwd": Kind.SHELL, "/compress": Kind.COMPRESS}
    while agent.waiting:
        entry = agent.waiting.take()
        assert entry.kind is kinds.get(entry.text, Kind.PROMPT)


async def test_one_in_the_middle_is_taken_out_and_another_one_edited(tmp_path: Path) -> None:
    agent = Waiter(tmp_path, "one", "two [red]\x1b[31m", "three")
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("x")
        await pilot.press(*"half", "f4")
        await until(pilot, lambda: "What waits" in screen_text(app) and "> one" in screen_text(app))
        await pilot.press("down")
        await until(pilot, lambda: "> two [red]␛[31m" in screen_text(app))
        await pilot.press("delete")
        assert list(agent.queue) == ["one", "three"]
        await until(pilot, lambda: "> three" in screen_text(app))
        await pilot.press("up", "enter")
        await until(pilot, lambda: app.board.prompt.text == "one")
        assert list(agent.queue) == ["three"]
        await pilot.press(*" more", "enter")
        await until(pilot, lambda: list(agent.queue) == ["three", "one more"])
        await pilot.press("up", "backspace", *["backspace"] * 7, "up", *["backspace"] * 5, "up")
        assert app.board.prompt.text == "one more", "then the history"
        agent.end()


async def test_what_the_agent_takes_meanwhile_leaves_the_list_and_no_other_one_is_hit(tmp_path: Path) -> None:
    agent = Waiter(tmp_path, "one", "two", "three")
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("x")
        await send(pilot, "/queue")
        await until(pilot, lambda: "> one" in screen_text(app))
        await pilot.press("down")
        agent.waiting.take()
        await pilot.press("delete")
        assert list(agent.queue) == ["three"]
        agent.waiting.take()
        await until(pilot, lambda: "nothing waits" in screen_text(app))
        await pilot.press("delete", "enter", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.board.prompt.text == ""
        agent.end()
