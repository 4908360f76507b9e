"""The screen: wires events to what is drawn, keys to the agent.

In: an agent, options. Out: the exit status (0, or 128+N after a signal). Talks to nothing but the agent.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.driver import Driver
from textual.filter import LineFilter

from agentclip.agent.words import told
from agentclip.events import Event, Severity
from agentclip.ui.agent_api import AgentApi
from agentclip.ui.bars import CancelButton, Tabs
from agentclip.ui.board import AgentView, Board
from agentclip.ui.foreign import ForeignFilter
from agentclip.ui.format import plural
from agentclip.ui.help_screen import HelpScreen, help_text
from agentclip.ui.layout import PaneName
from agentclip.ui.modelpane import ModelPane
from agentclip.ui.options import ScreenOptions
from agentclip.ui.pane import Pane
from agentclip.ui.prompt import Prompt
from agentclip.ui.rawpane import RawPane
from agentclip.ui.session_state import Phase, SessionState
from agentclip.ui.terminal import EndingSignals, HungUp, TerminalDriver
from agentclip.ui.themes import Ink, Themes
from agentclip.ui.transcript import Transcript

__all__ = ["ChatApp", "ScreenOptions"]
FRAME_S = 0.05
"""Events are drawn at most this often."""
MAX_SHARE = 4
"""A frame that took long is followed by a pause of this many times its length."""
QUIT_WINDOW_S = 2.0


class ChatApp(App[int], inherit_bindings=False):
    """The whole screen."""

    CSS_PATH = "screen.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "help", id="app.help", priority=True),
        Binding("f2", "split", "both layers, Layer 1, Layer 2, none", id="layers.split", priority=True),
        Binding("f6", "next_pane", "next pane", id="pane.next", priority=True),
        Binding("f8", "cancel", "cancel; again: kill", id="run.cancel", priority=True),
        Binding("f12", "maximise", "maximise the pane", id="pane.maximise", priority=True),
        Binding("escape", "escape", "close, else cancel; again: kill", id="run.escape", priority=True),
        Binding("ctrl+c", "interrupt", "copy, else cancel, else clear, else twice to quit", id="app.interrupt", priority=True),
        Binding("ctrl+d", "end_of_file", "quit when the prompt is empty", id="app.quit"),
        Binding("alt+up", "run(-1)", "previous run", id="run.previous", priority=True),
        Binding("alt+down", "run(1)", "next run", id="run.next", priority=True),
    ]

    def __init__(self, agent: AgentApi, options: ScreenOptions) -> None:
        """Load the themes. Raises ConfigError when there is none."""
        self._themes = Themes.load()
        self._guard = ForeignFilter()
        self._signals = EndingSignals(self._signalled)
        super().__init__()
        self.agent = agent
        self.options = options
        self.animation_level = "none"
        for theme in self._themes.by_name.values():
            self.register_theme(theme.textual())
        chosen = self._themes.pick(options.theme)
        self.theme = chosen.name
        self.state = SessionState()
        self.board = Board(self.state, Ink(chosen), options.limits, agent.unqueue)
        self._frame_planned = False
        self._frame_cost_s = 0.0
        self._killing = False
        self._ended = False
        self._quit_until_s = 0.0
        """Until then Ctrl+C quits."""

    # Building

    def get_driver_class(self) -> type[Driver]:
        """Our own driver on real terminals."""
        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, then the last guard against acting characters."""
        return [*super().get_line_filters(), self._guard]

    def compose(self) -> ComposeResult:
        """Everything there ever is; what fits is displayed."""
        board = self.board
        with Container(id="top"):
            yield board.status
            yield board.cancel
        yield board.tabs
        with Container(id="body"):
            yield board.chat
            with Container(id="right"):
                yield board.head
                yield board.raw
                yield board.model
        yield board.queue
        yield board.prompt
        yield board.hints
        yield board.small

    def on_mount(self) -> None:
        """Rebuild what happened before, then listen."""
        self._ticker = self.set_interval(1.0, self._tick, pause=True)
        if not self.is_headless:
            self._signals.install()
        self._replay()
        self.agent.subscribe(self._heard)
        self.run_worker(self.agent.serve(), name="agent", exit_on_error=True)
        self._lay_out()
        self.call_after_refresh(self._settled)

    def _replay(self) -> None:
        now_s = self.options.clock()
        for recorded in self.agent.history():
            self.state.apply(recorded.event, now_s)
        self.state.take_changed()
        if self.options.first_screen and not self.state.items:
            self.state.tell("\n".join(self.options.first_screen))
        for complaint in self._themes.complaints(self.options.theme):
            self.state.say(complaint, Severity.ERROR)
        self.board.prompt.history_lines = list(self.state.prompts)

    def _settled(self) -> None:
        self._frame()
        if not self.is_headless:
            # What is alive now stays: the collector never walks through it again.
            gc.collect()
            gc.freeze()

    # Events and frames

    def _heard(self, event: Event) -> None:
        self.state.apply(event, self.options.clock())
        self.plan_frame()

    @property
    def quiet(self) -> bool:
        """Whether everything that is known is drawn."""
        run = self.board.run
        return not self._frame_planned and (run is None or run.rows.complete)

    @on(RawPane.Advanced)
    def plan_frame(self) -> None:
        """Draw soon; many events make one frame."""
        if not self._frame_planned and self.is_running:
            self._frame_planned = True
            # Events come from contexts that know no app, where a Textual timer never fires: start it from a message.
            self.call_later(self._time_frame)

    def _time_frame(self) -> None:
        self.set_timer(max(FRAME_S, MAX_SHARE * self._frame_cost_s), self._frame)

    def _frame(self) -> None:
        self._frame_planned = False
        began = time.perf_counter()
        busy = self.agent.running or self.agent.stopping
        self._killing = self._killing and self.agent.stopping
        if busy:
            self._ticker.resume()
        else:
            self._ticker.pause()
        view = AgentView.of(self.agent, self.options.sandbox_label, killing=self._killing)
        self.board.draw(view, self.options.clock())
        self._frame_cost_s = time.perf_counter() - began
        if busy and self.state.phase is Phase.IDLE:
            self.plan_frame()

    def _tick(self) -> None:
        self.state.tick(self.options.clock())
        self.plan_frame()

    def on_resize(self, event: events.Resize) -> None:
        """Another size of the terminal."""
        self._lay_out((event.size.width, event.size.height))

    def _lay_out(self, size: tuple[int, int] | None = None) -> None:
        board = self.board
        board.lay_out(size or (self.size.width, self.size.height), self.query_one("#right"))
        if not board.arrangement.too_small and (self.focused is None or not self.focused.display):
            board.prompt.focus()
        self.call_after_refresh(self._frame)

    # What widgets ask for

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """A task, a `!` line or a command of the screen."""
        text = message.text
        if text.startswith("!") and text[1:].strip():
            self.agent.shell(text[1:].strip())
        elif text.startswith("/") and text.split()[0].count("/") == 1 and "\n" not in text:  # not a path
            self._command(text)
        else:
            self.agent.submit(text)
        self.board.chat.follow()
        self.plan_frame()

    def on_prompt_follow(self) -> None:
        """End on an empty box."""
        self.board.chat.follow()

    def on_tabs_chosen(self, message: Tabs.Chosen) -> None:
        """A name of a pane was clicked."""
        self.board.show(PaneName(message.pane))
        self._lay_out()

    def on_transcript_run_chosen(self, message: Transcript.RunChosen) -> None:
        """The first choice pins both panes, a second one expands the row."""
        run = self.board.run
        number = message.number if message.number is not None else run.number if run else None
        if number is None:
            return
        if number == self.board.pinned or message.number is None:
            row = self.state.row(number)
            row.expanded = not row.expanded
            self.state.touch(row)
        self._pin(number)

    def on_raw_pane_jump(self, message: RawPane.Jump) -> None:
        """From a raw line to its place in what the model reads."""
        self._bring(PaneName.MODEL)
        self.call_after_refresh(self.board.model.go_to_line, message.text_line)

    def on_model_pane_jump(self, message: ModelPane.Jump) -> None:
        """From what the model reads to the raw line."""
        self._bring(PaneName.RAW)
        self.call_after_refresh(self.board.raw.go_to_line, message.raw_line)

    def on_hung_up(self, _message: HungUp) -> None:
        """The terminal is gone."""
        self._quit(129)

    # Keys

    def action_help(self) -> None:
        """F1."""
        if len(self.screen_stack) == 1:
            bindings = [*self.BINDINGS, *Prompt.BINDINGS, *Transcript.BINDINGS, *RawPane.BINDINGS, *ModelPane.BINDINGS]
            self.push_screen(HelpScreen(help_text(bindings)))
        else:
            self.pop_screen()

    def action_split(self) -> None:
        """F2."""
        self.board.split = self.board.split.next()
        self._lay_out()

    def action_next_pane(self) -> None:
        """F6: prompt, Layer 1, Layer 2, Chat."""
        order = list(self.board.reachable())
        at = order.index(self.focused) if self.focused in order else -1
        target = order[(at + 1) % len(order)]
        if isinstance(target, Pane):
            self._bring(PaneName(target.id or ""))
        target.focus()

    def action_maximise(self) -> None:
        """F12: the pane that has the focus, Chat from the prompt; again: back."""
        board = self.board
        focused = next((name for name, pane in board.panes.items() if pane.has_focus), PaneName.CHAT)
        board.maximised = None if board.maximised is not None else focused
        self._lay_out()

    def action_escape(self) -> None:
        """Close what lies on top, else cancel. Never clears text."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.action_cancel()

    @on(CancelButton.Pressed)
    def action_cancel(self) -> None:
        """First the ladder; while it is going on: KILL."""
        if self.agent.stopping:
            self._killing = True
        self.agent.cancel()
        self._frame()

    def action_interrupt(self) -> None:
        """Ctrl+C: what it does is always the first of these that is possible."""
        prompt = self.board.prompt
        selected = prompt.selected_text or self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            self._say(f"copied {plural(len(selected), 'character')} through the terminal (OSC 52)")
        elif self.agent.running or self.agent.stopping:
            self.action_cancel()
        elif prompt.put_away():
            self._say("cleared; Up brings the text back")
        elif self.options.clock() < self._quit_until_s:
            self._quit(0)
        else:
            self._quit_until_s = self.options.clock() + QUIT_WINDOW_S
            self._say("Ctrl+C again to quit")

    def action_end_of_file(self) -> None:
        """Ctrl+D."""
        if not self.board.prompt.text:
            self._quit(0)

    def action_run(self, step: int) -> None:
        """Alt+Up, Alt+Down: another run; behind the newest: follow again."""
        numbers = self.state.numbers
        if not numbers:
            return
        at = numbers.index(self.board.pinned) if self.board.pinned is not None else len(numbers)
        at = max(0, at + step)
        self._pin(numbers[at] if at < len(numbers) else None)

    def action_scroll(self, pages: int, *names: str) -> None:
        """Panes by pages, from the prompt."""
        for name in names:
            self.board.panes[PaneName(name)].page(pages)

    # Helpers

    def _command(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        match word:
            case "/help":
                self.action_help()
            case "/quit":
                self._quit(0)
            case "/theme":
                self._theme(rest.strip())
            case _:
                self.state.say(*told(self.agent, word, rest))

    def _theme(self, name: str) -> None:
        found = self._themes.by_name.get(name)
        if found is None:
            self.state.say(f"themes: {', '.join(self._themes.by_name)}", Severity.WARNING if name else Severity.INFO)
            return
        self.theme = name
        self.board.restyle(Ink(found))
        self.call_after_refresh(self._frame)

    def _pin(self, number: int | None) -> None:
        self.board.pinned = number
        self.board.chat.choose(number)
        self._frame()

    def _bring(self, name: PaneName) -> None:
        """Bring a pane into view where panes take turns."""
        if name not in self.board.arrangement.panes:
            self.board.show(name)
            self._lay_out()

    def _say(self, text: str) -> None:
        """One line in place of the hints, for a while."""
        self.board.hint = text
        self.set_timer(QUIT_WINDOW_S, self._unsay)
        self._frame()

    def _unsay(self) -> None:
        self.board.hint = ""
        self.plan_frame()

    # The end

    def _signalled(self, number: int) -> None:
        """On another thread: only wake the loop."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._quit, 128 + number)

    def _quit(self, status: int) -> None:
        if not self._ended:
            self._ended = True
            self._say("ending…")
            self.run_worker(self._end(status), name="end", exit_on_error=True)

    async def _end(self, status: int) -> None:
        await self.agent.close()
        self.exit(status)

    async def on_unmount(self) -> None:
        """However it ends: nothing is left running, the signals are as they were."""
        if not self._ended:
            self._ended = True
            await self.agent.close()
        self._signals.remove()
