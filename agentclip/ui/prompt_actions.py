"""What the prompt asks for: tasks, `!` lines, slash words."""

from __future__ import annotations

from agentclip.agent.words import told
from agentclip.ui.actions import WORDS
from agentclip.ui.prompt import Prompt
from agentclip.ui.screen_app import ScreenApp


class PromptActions(ScreenApp):
    """From the prompt to the agent and the other actions."""

    async def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """A task, a `!` line or a command of the screen."""
        text = message.text
        if text.startswith("!") and text[1:].strip():
            self.agent.shell(text[1:].strip())
        elif text.startswith("/") and text.split()[0].count("/") == 1 and "\n" not in text:  # not a path
            await self._command(text)
        else:
            self.agent.submit(text)
        self.board.chat.follow()
        self.plan_frame()

    def on_prompt_follow(self) -> None:
        """End on an empty box."""
        self.board.chat.follow()

    async def _command(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        action = WORDS.get(word)
        if action is None:
            self.state.say(*told(self.agent, word, rest))
        elif action.operands:
            await self.run_action(f"{action.does}({rest.strip()!r})")
        else:
            await self.run_action(action.does)
