"""The prompt: a multi-line box. Sends on Enter, folds long pastes, keeps a history, edits what still waits.

Out: messages. Must not know: the agent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from agentclip.ui.actions import ACTIONS, Place, bindings
from agentclip.ui.foreign import visible
from agentclip.ui.format import plural
from agentclip.ui.keymap import KeyMap

FOLD_LINES = 15
"""A paste of more lines becomes one token."""
FOLD_CHARACTERS = 4000
TORN_PASTE_S = 1.0
QUIT = next(action for action in ACTIONS if action.id == "app.quit")


class Prompt(TextArea):
    """The box at the bottom."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Place.PROMPT)

    class Sent(Message):
        """The person pressed Enter on a text that is not blank."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Follow(Message):
        """End on an empty box: to the end of Chat."""

    def __init__(self, unqueue: Callable[[], str | None]) -> None:
        super().__init__(id="prompt", compact=True, highlight_cursor_line=False, placeholder="type here…")
        self.cursor_blink = False
        self.history_lines: list[str] = []
        """What was sent, oldest first."""
        self._unqueue = unqueue
        self._browsing: int | None = None
        """Index into the history while going through it."""
        self._folded: dict[str, str] = {}
        """Token to the pasted text."""
        self._pasted_s = 0.0
        """When the last token was made."""
        self._torn = ""
        self._quit_keys = tuple(QUIT.keys.split(","))

    def use_keys(self, keymap: KeyMap) -> None:
        """The person's keys instead of the usual ones."""
        self._bindings.apply_keymap(keymap.textual())
        self._quit_keys = tuple(keymap.keys(QUIT).split(","))

    def load(self, text: str) -> None:
        """Put a text into the box, the cursor behind it."""
        self.text = text
        self.move_cursor(self.document.end)

    def put_away(self) -> bool:
        """Clear the box, keeping its text in the history; False when there was none."""
        text = self._whole()
        if not text.strip():
            return False
        self._remember(text)
        self.load("")
        return True

    def action_send(self) -> None:
        """Enter."""
        text = self._whole()
        if not text.strip():
            return
        self._remember(text)
        self.load("")
        self._folded.clear()
        self.post_message(self.Sent(text.strip("\n")))

    def action_newline(self) -> None:
        """A new line in the text."""
        self.insert("\n")

    def action_cursor_line_end(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  the signature is Textual's
        """End: of the line, on an empty box of Chat."""
        if self.text:
            super().action_cursor_line_end(select)
        else:
            self.post_message(self.Follow())

    def action_cursor_up(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  the signature is Textual's
        """Up: on an empty box what still waits, then the history; else the cursor."""
        if select or (self.text and (self._browsing is None or not self.cursor_at_first_line)):
            super().action_cursor_up(select)
            return
        waiting = self._unqueue() if not self.text else None
        if waiting is not None:
            self.load(waiting)
            return
        at = len(self.history_lines) if self._browsing is None else self._browsing
        if at > 0:
            self._browse(at - 1)

    def action_cursor_down(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  the signature is Textual's
        """Down: forward in the history, else the cursor."""
        if select or self._browsing is None or not self.cursor_at_last_line:
            super().action_cursor_down(select)
            return
        if self._browsing + 1 < len(self.history_lines):
            self._browse(self._browsing + 1)
        else:
            self.load("")
            self._browsing = None

    def on_text_area_changed(self) -> None:
        """Typing ends going through the history."""
        if self._browsing is not None and self.text != self.history_lines[self._browsing]:
            self._browsing = None

    async def _on_key(self, event: events.Key) -> None:
        """Bindings act here and now: bubbling up to the app, they would overtake or be overtaken by the keys around them."""
        bindings = self._bindings.key_to_bindings.get(event.key, ())
        action = bindings[0].action if bindings else ""
        if event.key in self._quit_keys and not self.text:
            action = "app.end_of_file"
        if action:
            event.stop()
            event.prevent_default()
            await self.run_action(action)
            return
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        """Marks for control characters; a long paste becomes a token that is expanded when sent."""
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        text = "\n".join(visible(line) for line in text.split("\n"))
        self._take_back_torn_paste()
        text, self._torn = self._torn + text, ""
        lines = text.count("\n") + 1
        if lines > FOLD_LINES or len(text) > FOLD_CHARACTERS:
            token = f"[paste {len(self._folded) + 1}: {plural(lines, 'line')}, {plural(len(text), 'character')}]"
            self._folded[token] = text
            self._pasted_s = time.monotonic()
            text = token
        self.replace(text, *self.selection)

    def _take_back_torn_paste(self) -> None:
        """Terminals without paste marks deliver one paste in several bursts: what follows at once belongs to the last token."""
        token = next(reversed(self._folded), "")
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if not token or time.monotonic() - self._pasted_s > TORN_PASTE_S or not line[:column].endswith(token):
            return
        self._torn = self._folded.pop(token)
        self.delete((row, column - len(token)), (row, column))

    def _whole(self) -> str:
        text = self.text
        for token, pasted in self._folded.items():
            text = text.replace(token, pasted)
        return text

    def _remember(self, text: str) -> None:
        if not self.history_lines or self.history_lines[-1] != text:
            self.history_lines.append(text)
        self._browsing = None

    def _browse(self, at: int) -> None:
        self._browsing = at
        self.load(self.history_lines[at])
