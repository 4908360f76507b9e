"""Keys act one after the other, each after all that the one before it did.

By itself Textual's app acts at once on keys of its own, while letters that came before them still wait for the widget that has
the focus: `word Ctrl+C` would clear nothing and `Tab Enter` would stay in the prompt. On slow lines, in what was typed before
the first frame and under load many keys come at once. Behind every key goes a message the same way, from the widget up to the
app, and once more; the next key leaves when it has arrived. The mouse stands in line behind keys that wait.

In: keys, pastes and the mouse of the driver. Out: the same to who has the focus, in order. Must not know: what keys mean.
"""

from __future__ import annotations

import time
from collections import deque

from textual import events, on
from textual.app import App
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, TextArea

from agentclip.ui.modal import Modal

LOOK_S = 0.02
MAX_WAIT_S = 0.5
"""Longer no key waits for others: a cancel behind many slow ones comes through."""


class KeyDone(Message, bubble=True):
    """All that a key before it meant is done; at the second time also what was posted for it, as a box does with Enter."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times


class KeysInOrder(App[int]):
    """An app whose keys wait for each other."""

    def __init__(self) -> None:
        super().__init__()
        self._coming: deque[tuple[float, events.Event]] = deque()
        """When each came, and what."""
        self._under_way: KeyDone | None = None
        self._receiver: Widget | None = None
        """Who got the last key."""
        self._letter = False
        """The last key was one, and went into a box for text."""
        self._looking_again = False

    @property
    def keys_wait(self) -> bool:
        """Whether there are some that have not left yet."""
        return bool(self._coming)

    async def on_event(self, event: events.Event) -> None:
        """Everything that is typed stands in line."""
        busy = bool(self._coming) or self._under_way is not None
        typed = isinstance(event, events.Key | events.Paste)
        if not event.is_forwarded and (typed or (busy and isinstance(event, events.InputEvent))):
            self._coming.append((time.monotonic(), event))
            await self._pass_on()
        else:
            await super().on_event(event)

    async def on_key_done(self, message: KeyDone) -> None:
        """The next key."""
        if message is not self._under_way:
            return
        self._under_way = None
        if message.times == 1 and not self._letter:
            self._send_behind(2)
        await self._pass_on()

    def _send_behind(self, times: int) -> None:
        message = KeyDone(times)
        if self._receiver is not None and self._receiver.post_message(message):
            self._under_way = message

    async def _pass_on(self) -> None:
        while self._coming and self.screen_stack and not self._must_wait(*self._coming[0]):
            _, event = self._coming.popleft()
            if isinstance(self.screen, Modal) and isinstance(event, events.Key | events.Paste):
                self.screen.take_focus()
            self._receiver = self.focused or self.screen
            self._letter = _letter(event) and isinstance(self._receiver, TextArea | Input)
            await super().on_event(event)
            self._send_behind(1)
        if self._coming and self.screen_stack and not self._looking_again:
            self._looking_again = True
            self.set_timer(LOOK_S, self._look_again)

    @on(events.DescendantFocus)
    async def _somebody_listens(self) -> None:
        await self._pass_on()

    async def _look_again(self) -> None:
        """Who got the last key may be gone, and what comes behind it with it."""
        self._looking_again = False
        if self._receiver is None or not self._receiver.is_attached:
            self._under_way = None
        await self._pass_on()

    def _must_wait(self, since_s: float, event: events.Event) -> bool:
        if time.monotonic() - since_s > MAX_WAIT_S:
            return False
        if self._under_way is None:
            return isinstance(self.screen, Modal) and not self.screen.begun
        return not (self._letter and _letter(event) and self._receiver is self.focused)  # letters move no focus


def _letter(event: events.Event) -> bool:
    return isinstance(event, events.Key) and event.is_printable
