"""F5: the saved sessions. In: a shelf. Out: the id of the session to go to. Copies, renames and deletes by itself."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

from agentclip.errors import AgentclipError
from agentclip.ui.actions import Place
from agentclip.ui.format import plural
from agentclip.ui.keymap import KeyMap
from agentclip.ui.picker import Ask, Confirm, Look, Picker, Row
from agentclip.ui.shelves import SavedSession, SessionShelf

NONE_YET = "no saved session yet. Esc, then type a task: it becomes the first"
NONE_HERE = "no session of this directory. {key} shows those of all directories"
_STEPS = ((60, "just now", 1), (3600, "{} min ago", 60), (86400, "{} h ago", 3600), (86400 * 30, "{} d ago", 86400))


class SessionPicker(Picker[str]):
    """The list, with keys of its own."""

    PLACE: ClassVar[Place] = Place.SESSIONS

    def __init__(self, make_shelf: Callable[[], SessionShelf], current: str, keymap: KeyMap) -> None:
        super().__init__((), Look("Sessions", empty="reading the saved sessions…", describe=self._about))
        self._make_shelf = make_shelf
        self._shelf: SessionShelf | None = None
        self._current = current
        self._keymap = keymap
        self._sessions: Mapping[str, SavedSession] = {}
        self._here = True
        self._cwd = _working_directory()

    def on_mount(self) -> None:
        """Read them behind the picture."""
        super().on_mount()
        self.run_worker(self._load(first=True), group="sessions")

    async def _load(self, *, first: bool = False) -> None:
        try:
            listed = await asyncio.to_thread(self._read)
        except (AgentclipError, OSError) as error:
            self.say(str(error))
            return
        self._sessions = {each.id: each for each in listed}
        if first:
            self._here = any(each.cwd == self._cwd for each in listed)
        self._refill()

    def _read(self) -> list[SavedSession]:
        if self._shelf is None:
            self._shelf = self._make_shelf()
        return list(self._shelf.listed())

    def _about(self, identifier: str) -> str:
        return "" if self._shelf is None else self._shelf.about(identifier)

    def _refill(self) -> None:
        shown = [each for each in self._sessions.values() if not self._here or each.cwd == self._cwd]
        keys = {name: self._keymap.named(f"sessions.{name}", first=True) for name in ("scope", "fork", "rename", "delete")}
        hint = f"{keys['scope']} {'all' if self._here else 'this directory'}"
        hint += "".join(f" · {keys[name].replace('Ctrl+', '^')} {name}" for name in ("fork", "rename", "delete") if keys[name])
        look = Look(
            f"Sessions of {'this directory' if self._here else 'all directories'}",
            empty=NONE_HERE.format(key=keys["scope"]) if self._sessions else NONE_YET,
            hint=hint,
            describe=self._about,
        )
        now_s = time.time()
        self.fill([self._row(each, now_s) for each in shown], look)

    def _row(self, session: SavedSession, now_s: float) -> Row[str]:
        parts = [ago(now_s - session.updated_s), plural(session.turns, "turn")]
        words = f"{session.id} {session.model}"
        if not self._here:  # a directory that all rows have would let all of them fit
            parts.append(_home(session.cwd))
            words += f" {session.cwd}"
        title = session.title or "(no prompt yet)"
        return Row(title, session.id, detail=" · ".join(parts), current=session.id == self._current, words=words)

    def action_scope(self) -> None:
        """Show those of this directory, or all."""
        self._here = not self._here
        self._refill()

    def action_fork(self) -> None:
        """A copy, to go on with."""
        shelf, identifier = self._shelf, self.chosen
        if shelf is not None and identifier is not None:
            self.run_worker(self._fork(shelf, identifier), group="fork", exclusive=True)

    async def _fork(self, shelf: SessionShelf, identifier: str) -> None:
        try:
            copy = await asyncio.to_thread(shelf.fork, identifier)
        except (AgentclipError, OSError) as error:
            self.say(str(error))
            return
        if self.is_current:
            self.dismiss(copy)
        else:  # the person does something else by now
            await self._load()

    def action_rename(self) -> None:
        """Ask for another title."""
        identifier = self.chosen
        if self._shelf is None or identifier is None:
            return

        def answered(title: str | None) -> None:
            if title is not None:
                self._change(lambda shelf: shelf.rename(identifier, title))

        self.app.push_screen(
            Ask("Title; an empty one brings back the first prompt", self._sessions[identifier].title), answered
        )

    def action_delete(self) -> None:
        """Ask, then remove it."""
        identifier = self.chosen
        if self._shelf is None or identifier is None:
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001  the signature is Textual's
            if yes:
                self._change(lambda shelf: shelf.delete(identifier))

        session = self._sessions[identifier]
        what = f"{session.title or '(no prompt yet)'}  ({plural(session.turns, 'turn')}, {identifier})"
        self.app.push_screen(Confirm(f"Remove this session for good, with the output of what it ran?\n\n{what}"), answered)

    def _change(self, change: Callable[[SessionShelf], None]) -> None:
        self.run_worker(self._changed(change), group="sessions")

    async def _changed(self, change: Callable[[SessionShelf], None]) -> None:
        assert self._shelf is not None
        try:
            await asyncio.to_thread(change, self._shelf)
        except (AgentclipError, OSError) as error:
            self.say(str(error))
        else:
            await self._load()


def _working_directory() -> str:
    """Empty when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def ago(seconds: float) -> str:
    """`3 h ago`; a day when it is long ago."""
    for limit, text, unit in _STEPS:
        if seconds < limit:
            return text.format(int(max(0.0, seconds) // unit))
    return time.strftime("%Y-%m-%d", time.localtime(time.time() - seconds))


def _home(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
