"""A terminal that moves its cursor: lines appear above a prompt with history, completion and a status line.

One application of prompt_toolkit runs from beginning to end, always in raw mode: nothing that is typed while lines are printed
is lost or echoed twice. It asks the terminal no questions and never leaves the normal screen.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import TextIO, cast

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyBindingsBase, KeyPressEvent, merge_key_bindings
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import print_formatted_text
from prompt_toolkit.styles import BaseStyle, DynamicStyle, Style, default_pygments_style, merge_styles, style_from_pygments_cls
from pygments.styles import get_style_by_name
from pygments.util import ClassNotFound

from agentclip.history import history_file, read_history, remember
from agentclip.line.completion import Words
from agentclip.line.front import Desk
from agentclip.line.inks import Inks, load_inks
from agentclip.line.output import Tty
from agentclip.line.text import Line, safe

AT_PROMPT = has_focus(DEFAULT_BUFFER)
FRAME_S = 0.05
"""Lines are printed at most this often."""


class SharedHistory(History):
    """The file that the screen's prompt uses too."""

    def load_history_strings(self) -> Iterable[str]:
        """The newest first."""
        return reversed(read_history(history_file()))

    def store_string(self, string: str) -> None:
        """A disk that is full costs the history, not the session."""
        with contextlib.suppress(OSError):
            remember(history_file(), string)


class QuietOutput(Vt100_Output):
    """Asks the terminal nothing; the status line stands below the prompt, wherever that is."""

    @property
    def responds_to_cpr(self) -> bool:
        """Nobody waits for answers."""
        return False

    def get_rows_below_cursor_position(self) -> int:
        """Known to be at least one."""
        return 1


class Editor:
    """The terminal."""

    echoes = False
    edits = True

    def __init__(self, tty: Tty) -> None:
        self._tty = tty
        self._style = _style(load_inks(None))
        self._depth = _depth()
        self._output = QuietOutput(cast("TextIO", tty), self._size, term=os.environ.get("TERM"), enable_cpr=False)
        self._prompt: PromptSession[str] | None = None
        self._pending: list[Line] = []
        self._planned = self._away = self._closed = False

    @property
    def width(self) -> int:
        """Cells of a line."""
        return self._tty.size()[0]

    def show(self, shown: Sequence[Line]) -> None:
        """Print lines above the prompt, soon and together with others."""
        if shown:
            self._pending += shown
            self._plan(FRAME_S)

    def refresh(self) -> None:
        """Draw the status line again."""
        if self._prompt is not None and not self._away:
            self._prompt.app.invalidate()

    def load(self, text: str) -> None:
        """Put a text into the prompt, the cursor behind it."""
        if self._prompt is not None:
            self._prompt.default_buffer.document = Document(text)

    def use_theme(self, name: str) -> None:
        """Other colours from here on. Raises ConfigError: no such theme."""
        self._style = _style(load_inks(name))

    async def serve(self, desk: Desk) -> None:
        """Edit until `close`."""
        self._prompt = PromptSession(
            message=[("class:user", "> ")],
            multiline=True,
            prompt_continuation="  ",
            history=SharedHistory(),
            completer=Words(lambda: desk.cwd),
            complete_in_thread=True,
            complete_while_typing=False,
            reserve_space_for_menu=5,
            bottom_toolbar=lambda: [("", safe(desk.status(self.width)))],
            key_bindings=_keys(self, desk),
            style=DynamicStyle(lambda: self._style),
            color_depth=self._depth,
            enable_suspend=True,
            erase_when_done=True,
            input=create_input(),
            output=self._output,
        )
        try:
            if not self._closed:
                await self._prompt.prompt_async(set_exception_handler=False)
        except EOFError:
            desk.quit()
        finally:
            self._prompt = None
            self._flush()

    def close(self) -> None:
        """End `serve`."""
        self._closed = True
        if self._prompt is not None and self._prompt.app.is_running:
            self._prompt.app.exit(result="")

    def edit_outside(self, event: KeyPressEvent) -> None:
        """The text in $VISUAL; lines wait meanwhile."""
        self._away = True
        event.current_buffer.open_in_editor().add_done_callback(self._back)

    def _back(self, _task: asyncio.Task[None]) -> None:
        self._away = False
        self.refresh()

    def _plan(self, after_s: float) -> None:
        if not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_later(after_s, self._flush)

    def _flush(self) -> None:
        self._planned = False
        if self._away:
            self._plan(4 * FRAME_S)
            return
        pending, self._pending = self._pending, []
        if not pending:
            return
        app = self._prompt.app if self._prompt is not None and self._prompt.app.is_running else None
        if app is not None:
            app.renderer.erase()
        fragments: StyleAndTextTuples = []
        for each in pending:
            fragments += [(f"class:{ink}" if ink else "", text) for ink, text in (*each, ("", "\n"))]
        print_formatted_text(self._output, fragments, self._style, color_depth=self._depth)
        if app is not None:
            app.invalidate()

    def _size(self) -> Size:
        columns, rows = self._tty.size()
        return Size(rows=rows, columns=columns)


def _keys(editor: Editor, desk: Desk) -> KeyBindingsBase:
    return merge_key_bindings([_typing_keys(desk), _other_keys(editor, desk)])


def _typing_keys(desk: Desk) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=AT_PROMPT)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
            return
        text = buffer.text
        if text.strip():
            buffer.reset(append_to_history=True)
            desk.entered(text)

    @keys.add("c-j", filter=AT_PROMPT)
    @keys.add("escape", "enter", filter=AT_PROMPT)
    def newline(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _other_keys(editor: Editor, desk: Desk) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c", filter=AT_PROMPT)
    @keys.add("<sigint>")
    def interrupt(event: KeyPressEvent) -> None:
        buffer = event.app.layout.get_buffer_by_name(DEFAULT_BUFFER)
        if buffer is not None and buffer.text.strip() and not desk.busy:
            buffer.reset(append_to_history=True)
        else:
            desk.interrupted()

    @keys.add("up", filter=AT_PROMPT & Condition(lambda: not get_app().current_buffer.text))
    def up(event: KeyPressEvent) -> None:
        waiting = desk.take_back()
        if waiting is None:
            event.current_buffer.auto_up()
        else:
            editor.load(waiting)

    @keys.add("c-g", filter=AT_PROMPT)
    def edit(event: KeyPressEvent) -> None:
        editor.edit_outside(event)

    return keys


def _style(inks: Inks) -> BaseStyle:
    try:
        code = style_from_pygments_cls(get_style_by_name(inks.syntax)) if inks.syntax else default_pygments_style()
    except ClassNotFound:
        code = default_pygments_style()
    return merge_styles([code, Style.from_dict(inks.colours)])


def _depth() -> ColorDepth:
    if os.environ.get("NO_COLOR"):
        return ColorDepth.DEPTH_1_BIT
    if os.environ.get("COLORTERM") in {"truecolor", "24bit"}:
        return ColorDepth.DEPTH_24_BIT
    return ColorDepth.DEPTH_4_BIT if os.environ.get("TERM") == "linux" else ColorDepth.DEPTH_8_BIT
