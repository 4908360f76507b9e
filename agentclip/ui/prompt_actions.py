"""What the prompt asks for: tasks, `!` lines, slash words, its history, completions, an editor, what waits."""

from __future__ import annotations

import asyncio
import contextlib
import os
from functools import partial

from textual import events

from agentclip import history
from agentclip.agent.words import WORDS as AGENT_WORDS
from agentclip.agent.words import retold, told
from agentclip.candidates import Completer
from agentclip.errors import ConfigError
from agentclip.events import Severity
from agentclip.file_index import FileIndex
from agentclip.ui.actions import ACTIONS, WORDS
from agentclip.ui.bars import CancelButton
from agentclip.ui.completion import Completion
from agentclip.ui.format import plural
from agentclip.ui.keymap import said_keys
from agentclip.ui.lending import LendingApp
from agentclip.ui.outside import draft, edited, editing, editor_words
from agentclip.ui.popup import Popup
from agentclip.ui.prompt import Prompt

OFFERED = (*((each.word, each.operands, each.title) for each in ACTIONS if each.word), *AGENT_WORDS)


class PromptActions(LendingApp):
    """From the prompt to the agent and the other actions."""

    def on_mount(self) -> None:
        """What is read from files comes after the first picture."""
        operands = {"/theme": lambda: tuple(self.themes.by_name)}
        completer = Completer(OFFERED, self._cwd, FileIndex(self._files_found), operands)
        words = (("completion.take", "take"), ("completion.up", "up"), ("completion.down", "down"), ("run.escape", "close"))
        self.board.prompt.completion = Completion(self.board.popup, completer, said_keys(self.keymap, *words))
        self.call_after_refresh(self._begin_reading)

    def _begin_reading(self) -> None:
        self.run_worker(self._read_history(), name="history")

    async def _read_history(self) -> None:
        found = await asyncio.to_thread(history.read_history, history.history_file())
        self.board.prompt.entries.share(found)
        self.board.prompt.look_again()

    def _files_found(self) -> None:
        """On a thread."""
        with contextlib.suppress(RuntimeError):  # the screen is gone
            self.call_later(self.board.prompt.look_again)

    def _cwd(self) -> str:
        """Where the last run left the shell."""
        newest = self.state.newest
        for number in range(newest.number if newest else 0, 0, -1):
            run = self.state.runs.get(number)
            if run is not None and run.finished is not None and run.finished.result.cwd:
                return run.finished.result.cwd
        return self.state.cwd or os.getcwd()

    def on_paste(self, event: events.Paste) -> None:
        """A text that nobody else took is meant for the prompt."""
        self._to_prompt(events.Paste(event.text))

    def on_key(self, event: events.Key) -> None:
        """So are letters after the Cancel button was pressed."""
        if event.is_printable and event.key != "space" and isinstance(self.focused, CancelButton):
            self._to_prompt(events.Key(event.key, event.character))

    def _to_prompt(self, event: events.Key | events.Paste) -> None:
        if len(self.screen_stack) == 1:
            self.board.prompt.focus()
            self.board.prompt.post_message(event)

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

    def on_prompt_kept(self, message: Prompt.Kept) -> None:
        """Into the file that the line mode uses too; a disk that is full costs the history, not the session."""
        with contextlib.suppress(OSError):
            history.remember(history.history_file(), message.text)

    def on_prompt_follow(self) -> None:
        """End on an empty box."""
        self.board.chat.follow()

    def on_popup_clicked(self, message: Popup.Clicked) -> None:
        """The mouse in the list above the prompt."""
        self.board.prompt.take(message.at)

    async def _command(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        action = WORDS.get(word)
        if action is None:
            self.state.say(*told(self.agent, word, rest))
        elif action.operands:
            await self.run_action(f"{action.does}({rest.strip()!r})")
        else:
            await self.run_action(action.does)

    def close_open(self) -> bool:
        """Esc: first the list above the prompt."""
        return self.board.prompt.close_popup() or super().close_open()

    def action_interrupt(self) -> None:
        """Ctrl+C during a search ends it, unless something runs."""
        searching = self.board.prompt.search.opened or self.board.find.opened
        if searching and not (self.agent.running or self.agent.stopping):
            self.close_open()
        else:
            super().action_interrupt()

    def action_search_history(self) -> None:
        """Ctrl+R."""
        self.board.prompt.focus()
        self.board.prompt.search_history()

    def action_queue(self) -> None:
        """F4."""
        from agentclip.ui.queue_screen import QueueScreen  # noqa: PLC0415  registered deferred import

        self.push_screen(QueueScreen(self.agent), self._taken_back)

    def _taken_back(self, chosen: tuple[int, str] | None) -> None:
        if chosen is not None:
            self.board.prompt.put_away()
            self.board.prompt.load(chosen[1])
            self.board.prompt.focus()
        self.draw_now()

    def action_tell(self, number: str) -> None:
        """`/tell`: what the model reads of a run, of the newest that has ended when no number is given."""
        ended = [run.finished for run in self.state.runs.values() if run.finished is not None]
        found = max(ended, key=lambda each: each.number, default=None)
        if number:
            found = next((each for each in ended if str(each.number) == number), None)
        if found is None:
            self.state.say(f"no run {number} has ended" if number else "nothing has run", Severity.WARNING)
            return
        self.board.prompt.put_in(f"{retold(found)}\n")
        self.board.prompt.focus()

    def action_edit_outside(self) -> None:
        """Ctrl+G."""
        try:
            words = editor_words(os.environ)
        except ConfigError as error:
            self.state.say(str(error), Severity.WARNING)
            self.plan_frame()
            return
        self.begin_lending(partial(self._edit_outside, words))

    async def _edit_outside(self, words: list[str]) -> None:
        prompt = self.board.prompt
        prompt.close_popup()
        before = prompt.whole()
        try:
            with draft(before) as path:
                status = await self.lend_terminal(editing(words, path))
                text = edited(path)
        except OSError as error:
            self.say(f"the editor did not work: {error.strerror}")
            return
        prompt.focus()
        if status:
            self.say(f"the editor ended with status {status}: the prompt is as it was")
        elif text != before:
            prompt.load(text)
            self.say(f"{plural(text.count(chr(10)) + 1, 'line')} from the editor; Enter sends")
