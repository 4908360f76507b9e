"""The prompt: a multi-line box. Sends on Enter, folds long pastes, goes through a history, edits what still waits, completes.

Out: messages. Must not know: the agent, files.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import BindingsMap, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea

from agentclip.foreign import FOREIGN
from agentclip.history import Entries
from agentclip.ui.actions import ACTIONS, Place, bindings
from agentclip.ui.completion import Completion, Taken
from agentclip.ui.foreign import visible
from agentclip.ui.format import plural
from agentclip.ui.history_search import HistorySearch
from agentclip.ui.keymap import KeyMap, said_keys
from agentclip.ui.layout import PLACEHOLDER
from agentclip.ui.popup import Popup

FOLD_LINES = 15
"""A paste of more lines becomes one token."""
FOLD_CHARACTERS = 4000
TORN_PASTE_S = 1.0
LONGEST_COMPLETED = 2000
"""Characters of a line that is looked at for completion."""
QUIT = next(action for action in ACTIONS if action.id == "app.quit")


class Prompt(TextArea):
    """The box at the bottom."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Place.PROMPT)

    class Sent(Message):
        """The person pressed Enter on a text that is not blank."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Kept(Message):
        """A text that belongs into the history."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Follow(Message):
        """End on an empty box: to the end of Chat."""

    def __init__(self, unqueue: Callable[[], str | None], popup: Popup) -> None:
        super().__init__(id="prompt", compact=True, highlight_cursor_line=False, placeholder=PLACEHOLDER)
        self.cursor_blink = False
        self.entries = Entries()
        """What was sent."""
        self.search = HistorySearch(popup, self.entries)
        self.completion: Completion | None = None
        """None as long as nobody knows candidates."""
        self._popup = popup
        self._unqueue = unqueue
        self._browsing: int | None = None
        """Index into the history while going through it: 0 is the newest."""
        self._folded: dict[str, str] = {}
        """Token to the pasted text."""
        self._pasted_s = 0.0
        """When the last token was made."""
        self._torn = ""
        self._quit_keys = tuple(QUIT.keys.split(","))
        self._popup_keys = {place: BindingsMap(bindings(place)) for place in (Place.COMPLETION, Place.SEARCH)}

    def use_keys(self, keymap: KeyMap) -> None:
        """The person's keys instead of the usual ones."""
        for each in (self._bindings, *self._popup_keys.values()):
            each.apply_keymap(keymap.textual())
        self._quit_keys = tuple(keymap.keys(QUIT).split(","))
        self.search.keys = said_keys(keymap, ("history.search", "older"), ("history.take", "take"), ("run.escape", "close"))

    def load(self, text: str) -> None:
        """Put a text into the box, the cursor behind it."""
        if self.search.opened:
            self._end_search()
        self.text = text
        self.move_cursor(self.document.end)

    def put_before(self, lines: list[str]) -> None:
        """Older lines for the history."""
        self.entries.put_before(lines)

    def put_away(self) -> bool:
        """Clear the box, keeping its text in the history; False when there was none."""
        text = self.whole()
        if not text.strip():
            return False
        self._remember(text)
        self.load("")
        return True

    def action_send(self) -> None:
        """Enter."""
        text = self.whole()
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
        at = 0 if self._browsing is None else self._browsing + 1
        if at < len(self.entries.newest_first()):
            self._browse(at)

    def action_cursor_down(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  the signature is Textual's
        """Down: forward in the history, else the cursor."""
        if select or self._browsing is None or not self.cursor_at_last_line:
            super().action_cursor_down(select)
            return
        if self._browsing > 0:
            self._browse(self._browsing - 1)
        else:
            self.load("")
            self._browsing = None

    def action_complete(self, take: bool = False) -> None:  # noqa: FBT001, FBT002  Textual gives parameters by position
        """Tab takes the first candidate when none is chosen, Enter sends then."""
        completion = self.completion
        if completion is not None and (take or completion.chosen):
            self._put(completion.take())
        else:
            self.action_send()

    def action_candidate(self, step: int) -> None:
        """Up and Down in the list above."""
        if self.completion is not None:
            self.completion.move(step)

    def search_history(self) -> None:
        """What is typed from here on is searched for; again: the next older entry."""
        if self.search.opened:
            self.search.step(1)
            return
        self._popup.stand_on(self.region)
        before = self.text
        if self.completion is not None:
            self.completion.leave()
        self.load("")
        self.placeholder = "search what you sent…"
        self.search.begin(before)

    def action_found(self, step: int) -> None:
        """Up and Down in what the search found."""
        self.search.step(step)

    def action_take_found(self) -> None:
        """Enter in the search: into the box, not further."""
        found = self.search.found
        if found is not None:
            self.load(found)

    def close_popup(self) -> bool:
        """Close the list above the box, with the text from before a search; False when there was none."""
        if self.search.opened:
            self.load(self._end_search())
            return True
        return self.completion is not None and self.completion.close()

    def look_again(self) -> None:
        """There may be other candidates, or other entries, for what stands in the box."""
        self._look(again=True)

    def on_text_area_changed(self) -> None:
        """Typing ends going through the history, and changes what is offered."""
        if self._browsing is not None and self.text != self.entries.newest_first()[self._browsing]:
            self._browsing = None
        self._look()

    def on_text_area_selection_changed(self) -> None:
        """The cursor moved."""
        self._look()

    def on_resize(self) -> None:
        """The list stays above the box."""
        self._popup.stand_on(self.region)

    def on_blur(self) -> None:
        """What is typed goes elsewhere."""
        self.close_popup()

    def take(self, at: int) -> None:
        """A row of the list was clicked."""
        if self.search.opened:
            self.search.go_to(at)
            self.action_take_found()
        elif self.completion is not None:
            self._put(self.completion.take(at))

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:  # noqa: FBT001, FBT002  Textual's
        """In the middle of an undo the cursor still stands where there is no text any more: Textual would fail."""
        gone = self.cursor_location[0] >= self.document.line_count
        return Offset() if gone else super().scroll_cursor_visible(center, animate)

    async def _on_key(self, event: events.Key) -> None:
        """Bindings go before what Textual's own box would do with a key, and those of an open list before the others."""
        self._look()
        found = self._keys_now().key_to_bindings.get(event.key) or self._bindings.key_to_bindings.get(event.key)
        action = found[0].action if found else ""
        if event.key in self._quit_keys and not self.text:
            action = "app.end_of_file"
        if action:
            event.stop()
            event.prevent_default()
            await self.run_action(action)
        elif event.character is not None and _joins(event.character):
            event.stop()
            event.prevent_default()
            self.replace(event.character, *self.selection)
        else:
            await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        """Marks for control characters; a long paste becomes a token that is expanded when sent."""
        event.stop()
        event.prevent_default()
        self.put_in(event.text.replace("\r\n", "\n").replace("\r", "\n"))

    def put_in(self, text: str) -> None:
        """A text from elsewhere, at the cursor."""
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
        line = self.document.get_line(min(row, self.document.line_count - 1))
        if not token or time.monotonic() - self._pasted_s > TORN_PASTE_S or not line[:column].endswith(token):
            return
        self._torn = self._folded.pop(token)
        self.delete((row, column - len(token)), (row, column))

    def _keys_now(self) -> BindingsMap:
        if self.search.opened:
            return self._popup_keys[Place.SEARCH]
        if self.completion is not None and self.completion.opened:
            return self._popup_keys[Place.COMPLETION]
        return BindingsMap()

    def _look(self, *, again: bool = False) -> None:
        """Bring the list above the box in line with the box now: a key that follows a letter acts on what the letter left."""
        if self.search.opened:
            self.search.look(self.text, again=again)
            return
        if self.completion is None:
            return
        row, column = self.cursor_location
        if row >= self.document.line_count:
            return  # the text changed first, the cursor follows
        line = self.document.get_line(row)
        inside = column < len(line) and not line[column].isspace()
        if (
            self._browsing is not None
            or not self.selection.is_empty
            or inside
            or column > LONGEST_COMPLETED
            or not self.has_focus
        ):
            self.completion.leave()
            return
        self._popup.stand_on(self.region)
        first = row == 0 and (self.document.line_count == 1 or not line.startswith("/"))
        self.completion.look(line[:column], first=first, again=again)

    def _put(self, taken: Taken | None) -> None:
        if taken is None:
            return
        row, column = self.cursor_location
        self.replace(taken.text, (row, column - len(taken.begun)), (row, column))
        if taken.sends and self.text.strip() == self.document.get_line(0).strip():
            self.action_send()

    def _end_search(self) -> str:
        self.placeholder = PLACEHOLDER
        return self.search.end()

    def whole(self) -> str:
        """The text with every paste in its place."""
        text = self.text
        for token, pasted in self._folded.items():
            text = text.replace(token, pasted)
        return text

    def _remember(self, text: str) -> None:
        if self.entries.add(text):
            self.post_message(self.Kept(text))
        self._browsing = None

    def _browse(self, at: int) -> None:
        self._browsing = at
        self.load(self.entries.newest_first()[at])


def _joins(character: str) -> bool:
    """A sign without a width that belongs to a text, as in Persian and emoji: Textual takes only what is printable."""
    return unicodedata.category(character[0]) == "Cf" and FOREIGN.search(character) is None
