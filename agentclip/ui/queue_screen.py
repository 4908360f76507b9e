"""What waits, to choose from: Enter takes an entry back into the prompt, Delete takes it out.

In: an agent. Out: the text of the chosen entry, which waits no longer. The agent may take entries from the front meanwhile.
"""

from __future__ import annotations

from typing import ClassVar

from agentclip.agent.queue_edit import Queued, replace_waiting
from agentclip.ui.actions import Place
from agentclip.ui.picker import Look, Picker, Row

LOOK_S = 0.2
"""Between two looks at what still waits."""


class QueueScreen(Picker[tuple[int, str]]):
    """Values are an entry's place from the end, 1 for the newest, and its text: those stay when the agent takes the oldest."""

    PLACE: ClassVar[Place] = Place.QUEUE

    def __init__(self, agent: Queued) -> None:
        self._agent = agent
        self._shown = agent.queue
        look: Look[tuple[int, str]] = Look("What waits", empty="nothing waits", hint="Del take out")
        super().__init__(_rows(self._shown), look)

    def on_mount(self) -> None:
        """The agent may take one at any time."""
        self.set_interval(LOOK_S, self._look_again)

    def action_choose(self) -> None:
        """Enter: into the prompt."""
        self._look_again()
        chosen = self.chosen
        if chosen is not None:
            replace_waiting(self._agent, len(self._shown) - chosen[0], ())
            self.dismiss(chosen)

    def action_drop(self) -> None:
        """Delete."""
        self._look_again()
        chosen = self.chosen
        if chosen is not None:
            replace_waiting(self._agent, len(self._shown) - chosen[0], ())
            self._look_again()

    def _look_again(self) -> None:
        if self._agent.queue != self._shown:
            self._shown = self._agent.queue
            self.fill(_rows(self._shown))


def _rows(waiting: tuple[str, ...]) -> list[Row[tuple[int, str]]]:
    return [Row(text, (len(waiting) - at, text), detail=f"waits as {at + 1}") for at, text in enumerate(waiting)]
