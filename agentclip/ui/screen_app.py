"""The screen as such: builds it, draws what the agent tells, cancels, ends.

In: an agent, options. Out: the exit status (0, or 128+N after a signal). Talks to nothing but the agent. What the keys of
panes, prompt and choices ask for stands in the classes built on this one.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import ClassVar

from textual import events, on
from textual._styles_cache import StylesCache
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.driver import Driver
from textual.filter import LineFilter, Monochrome
from textual.timer import Timer, TimerCallback
from typing_extensions import override

from agentclip import paths
from agentclip.events import Event, Severity
from agentclip.ui.actions import Place, bindings
from agentclip.ui.agent_api import AgentApi
from agentclip.ui.background import dark_by_environment
from agentclip.ui.bars import CancelButton
from agentclip.ui.board import AgentView, Board
from agentclip.ui.earlier import Earlier
from agentclip.ui.filters import InOne, NoColour, Readable
from agentclip.ui.format import plural
from agentclip.ui.key_order import KeysInOrder
from agentclip.ui.keymap import KeyMap
from agentclip.ui.layout import PaneName
from agentclip.ui.options import ScreenOptions
from agentclip.ui.rawpane import RawPane
from agentclip.ui.session_state import Phase, SessionState
from agentclip.ui.terminal import EndingSignals, HungUp, TerminalDriver
from agentclip.ui.themes import Ink, Themes

FRAME_S = 0.05
"""Events are drawn at most this often."""
MAX_SHARE = 4
"""A frame that took long is followed by a pause of this many times its length."""
QUIT_WINDOW_S = 2.0
DELIVER_S = 0.25
"""What a long session had before joins what is drawn so often."""
SLICE_S = 0.006
"""What a long session had before is taken for so long between two looks at the keyboard, with pauses of the same length."""


class ScreenApp(KeysInOrder, inherit_bindings=False):
    """The screen without what its keys ask for, but for cancelling and ending."""

    CSS_PATH = "screen.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = bindings(Place.ANYWHERE)

    def __init__(self, agent: AgentApi, options: ScreenOptions) -> None:
        """Load the themes. Raises ConfigError when there is none."""
        self.themes = Themes.load()
        self.keymap = KeyMap.load(paths.keymap_file())
        self._filter = InOne()
        self._signals = EndingSignals(self._signalled, self._wake)
        super().__init__()
        self.agent = agent
        self.options = options
        self.animation_level = "none"
        self.theme_wanted = options.theme
        """A name, or AUTO."""
        self.terminal_dark = dark_by_environment(os.environ.get("COLORFGBG", "")) is not False
        """Whether the terminal's own background is; it may tell otherwise later."""
        for theme in self.themes.by_name.values():
            self.register_theme(theme.textual())
        chosen = self.themes.pick(options.theme, dark=self.terminal_dark)
        self.theme = chosen.name
        self._variables = self.get_css_variables()
        """Of the style sheet as it was read last."""
        self.stylesheet.set_variables(self._variables)
        self.colours: Readable | NoColour = NoColour(chosen) if os.environ.get("NO_COLOR") else Readable()
        self.state = SessionState()
        self.board = Board(self.state, Ink(chosen), options.limits, agent.unqueue)
        self.earlier = Earlier((), self.state, 0.0)
        self._delivered_s = 0.0
        self._costed = True
        """The agent knows at once what the session has cost."""
        self._right = Container(id="right")
        self._frame_planned = False
        self._frame_cost_s = 0.0
        self._killing = False
        self._ended = False
        self._exit_status = 0
        self._said: Timer | None = None
        """Ends what is said in place of the hints."""
        self._quit_until_s = 0.0
        """Until then Ctrl+C quits."""

    # Building

    def get_driver_class(self) -> type[Driver]:
        """Our own driver on real terminals."""
        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, our own for colours, then the last guard against acting characters."""
        usual = (each for each in super().get_line_filters() if not isinstance(each, Monochrome))
        self._filter = self._filter.of(*usual, self.colours)
        return [self._filter]

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002  the signature is Textual's
        """Only for other colours: before the first picture Textual asks for all to be read twice."""
        variables = self.get_css_variables()
        if variables != self._variables:
            self._variables = variables
            super().refresh_css(animate)

    def compose(self) -> ComposeResult:
        """Everything there ever is; what fits is displayed."""
        board = self.board
        with Container(id="top"):
            yield board.status
            yield board.cancel
        yield board.tabs
        with Container(id="body"):
            yield board.chat
            with self._right:
                yield board.head
                yield board.raw
                yield board.model
        yield board.find
        yield board.queue
        yield board.prompt
        yield board.hints
        yield board.small
        yield board.popup

    def on_mount(self) -> None:
        """Rebuild what happened before, then listen."""
        self._ticker = self.set_interval(1.0, self._tick, pause=True)
        self.set_keymap(self.keymap.textual())
        self.board.use_keys(self.keymap)
        if not self.is_headless:
            self._signals.install()
        self._replay()
        self.agent.subscribe(self._heard)
        self.lay_out_now()
        self.board.begin(self._view(), self.options.clock())
        if isinstance(self._driver, TerminalDriver):
            self._driver.listen()
        self.call_after_refresh(self._settled)

    def _replay(self) -> None:
        self.earlier = Earlier(self.agent.history(), self.state, self.options.clock())
        self.earlier.take_newest()
        self._costed = not self.earlier.left
        self.state.take_changed()
        if self.options.first_screen and not self.state.items:
            self.state.tell("\n".join(self.options.first_screen))
        for complaint in (*self.themes.complaints(self.options.theme), *self.keymap.complaints):
            self.state.say(complaint, Severity.ERROR)
        self.board.prompt.put_before(self.state.prompts)

    def _settled(self) -> None:
        self.draw_now()
        if isinstance(self._driver, TerminalDriver):
            # What is alive now stays: the collector never walks through it again. It was off until here.
            gc.freeze()
            gc.enable()
        # An agent that is still to be built would hold up the first frame, and what was typed before it.
        self._begin(self.agent.serve, "agent")
        if self.earlier.left:
            self._read_earlier()
            self._begin(self._read_cost, "cost")

    async def _read_cost(self) -> None:
        await self.agent.count_usage()
        self._costed = True
        self.plan_frame()

    def _read_earlier(self) -> None:
        """Take a slice of what happened before, and see to it that the rest follows."""
        began = time.perf_counter()
        while self.earlier.left and time.perf_counter() - began < SLICE_S:
            self.earlier.take_piece()
        if not self.earlier.left or began - self._delivered_s > DELIVER_S:
            self.board.prompt.put_before(self.earlier.deliver())
            self.board.chat.sync()
            self._delivered_s = began
        if not self.is_headless:
            gc.freeze()
        if self.earlier.left:
            self.set_timer(time.perf_counter() - began, self._read_earlier)

    # Events and frames

    def _heard(self, event: Event) -> None:
        self.state.apply(event, self.options.clock())
        self.plan_frame()

    @property
    def quiet(self) -> bool:
        """Whether everything that is known is drawn."""
        run = self.board.run
        return not self._frame_planned and not self.earlier.left and (run is None or run.rows.complete)

    @override
    def set_timer(
        self, delay: float, callback: TimerCallback | None = None, *, name: str | None = None, pause: bool = False
    ) -> Timer:
        """As Textual's; also from events and signals, whose contexts know no app: there a timer would die of it."""
        with self._context():
            return super().set_timer(delay, callback, name=name, pause=pause)

    @on(RawPane.Advanced)
    @on(events.DescendantFocus)  # the Cancel button shows whether it has the focus
    @on(events.DescendantBlur)
    def plan_frame(self) -> None:
        """Draw soon; many events make one frame."""
        if not self._frame_planned and self.is_running:
            self._frame_planned = True
            self.set_timer(max(FRAME_S, MAX_SHARE * self._frame_cost_s), self._frame_due)

    def _frame_due(self) -> None:
        """A terminal that is behind, at the end of a slow link, gets fewer frames instead of late ones."""
        driver = self._driver
        if isinstance(driver, TerminalDriver) and driver.behind:
            self.set_timer(FRAME_S, self._frame_due)
        else:
            self.draw_now()

    def draw_now(self) -> None:
        """One frame, unless it all comes to its end: the panes have no screen then."""
        self._frame_planned = False
        if not self.is_running:
            return
        began = time.perf_counter()
        busy = self.agent.running or self.agent.stopping
        self._killing = self._killing and self.agent.stopping
        if busy:
            self._ticker.resume()
        else:
            self._ticker.pause()
        self.board.draw(self._view(), self.options.clock())
        self._frame_cost_s = time.perf_counter() - began
        if busy and self.state.phase is Phase.IDLE:
            self.plan_frame()

    def _view(self) -> AgentView:
        return AgentView.of(self.agent, self.options.sandbox_label, killing=self._killing, costed=self._costed)

    def _tick(self) -> None:
        self.state.tick(self.options.clock())
        self.plan_frame()

    def on_resize(self, event: events.Resize) -> None:
        """Another size of the terminal; the pane that has the focus stays in view."""
        size = (event.size.width, event.size.height)
        self.board.lay_out(size, self._right)
        if hidden := self.board.hidden(self.focused):
            self.board.show(hidden)
        self.lay_out_now(size)

    def lay_out_now(self, size: tuple[int, int] | None = None) -> None:
        """Arrange the widgets for a size in cells, that of the terminal when None."""
        board = self.board
        board.lay_out(size or (self.size.width, self.size.height), self._right)
        if not board.arrangement.too_small and (self.focused is None or not self.focused.display):
            self.set_focus(board.instead_of(self.focused))
        self.call_after_refresh(self.draw_now)

    def on_hung_up(self, _message: HungUp) -> None:
        """The terminal is gone."""
        self.end(129)

    # Keys

    def action_escape(self) -> None:
        """Close what lies on top, else cancel. Never clears text."""
        if len(self.screen_stack) > 1:
            self.screen.dismiss(None)
        elif not self.close_open():
            self.action_cancel()

    @on(CancelButton.Pressed)
    def action_cancel(self) -> None:
        """First the ladder; while it is going on: KILL."""
        if self.agent.stopping:
            self._killing = True
        self.agent.cancel()
        self.draw_now()

    def action_interrupt(self) -> None:
        """Ctrl+C: what it does is always the first of these that is possible."""
        prompt = self.board.prompt
        selected = prompt.selected_text or self.screen.get_selected_text()
        if selected:
            self.copy_out(selected)
            self.screen.clear_selection()
        elif len(self.screen_stack) > 1:
            self.screen.dismiss(None)
        elif self.agent.running or self.agent.stopping:
            self.action_cancel()
        elif prompt.put_away():
            self.say("cleared; Up brings the text back")
        elif self.options.clock() < self._quit_until_s:
            self.end(0)
        else:
            self._quit_until_s = self.options.clock() + QUIT_WINDOW_S
            self.say("Ctrl+C again to quit")

    def action_end_of_file(self) -> None:
        """Ctrl+D."""
        if not self.board.prompt.text:
            self.end(0)

    def action_leave(self) -> None:
        """Whatever stands in the prompt."""
        self.end(0)

    # For what is built on this

    def close_open(self) -> bool:
        """Close what is open without being a screen of its own; False when nothing is."""
        return False

    def copy_out(self, text: str, what: str = "") -> None:
        """To the clipboard, and say so; `what` it is, when the person cannot see that."""
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be sent
        self.copy_to_clipboard(text)
        name = f"{what}, " if what else ""
        self.say(f"copied {name}{plural(len(text), 'character')} through the terminal (OSC 52)")

    def pin(self, number: int | None) -> None:
        """Both panes stay at a run; None: they follow the newest."""
        self.board.pinned = number
        self.board.chat.choose(number)
        self.draw_now()

    def bring(self, name: PaneName) -> None:
        """Bring a pane into view where panes take turns."""
        if name not in self.board.arrangement.panes:
            self.board.show(name)
            self.lay_out_now()

    def say(self, text: str) -> None:
        """One line in place of the hints, for a while."""
        self.board.hint = text
        if self._said is not None:
            self._said.stop()
        self._said = self.set_timer(QUIT_WINDOW_S, self._unsay)
        self.draw_now()

    def _unsay(self) -> None:
        self.board.hint = ""
        self.plan_frame()

    # The end

    def _begin(self, work: Callable[[], Coroutine[object, object, None]], name: str) -> None:
        """A worker. It gets the function: who quits at once leaves no coroutine behind that nobody has awaited."""
        self.run_worker(work, name=name, exit_on_error=True)

    def _signalled(self, number: int) -> None:
        """On another thread: only wake the loop."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.end, 128 + number)

    def _wake(self) -> None:
        """The same, with nothing to do."""
        if self._loop is not None:
            with suppress(RuntimeError):  # closed
                self._loop.call_soon_threadsafe(lambda: None)

    def end(self, status: int) -> None:
        """Close the agent, then the screen with this exit status. A signal's counts also when the end had begun before."""
        self._exit_status = max(self._exit_status, status)
        with self._context():  # a signal's knows no app
            if self._exit:
                self.exit(self._exit_status)
            elif not self._ended:
                self._ended = True
                self.say("ending…")
                self._begin(self._end, "end")

    async def _end(self) -> None:
        await self.agent.close()
        self.exit(self._exit_status)

    async def on_unmount(self) -> None:
        """However it ends: nothing is left running, the signals are as they were."""
        if not self._ended:
            self._ended = True
            await self.agent.close()
        self._signals.remove()
        StylesCache.get_inner_outer.cache_clear()  # it would hold the widgets, and all they have drawn, for the next screen
