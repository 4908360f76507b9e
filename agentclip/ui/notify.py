"""Calling a person back who looks elsewhere: when the terminal has no focus and something that took long has ended.

In: events, whether the terminal has the focus (it reports that), the settings. Out: a bell, or a notification in the terminal's
own language; its text is bounded and holds nothing that a terminal would obey.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from agentclip.events import CommandFinished, CommandStarted, Event, TurnEnd, TurnFinished, TurnStarted
from agentclip.results import Ended
from agentclip.ui.screen_app import ScreenApp
from agentclip.ui.terminal import TerminalDriver

BELL = "\a"
END = "\x1b\\"
MAX_CHARS = 100
TITLE = "agentclip"
OSC_9 = ("iTerm.app", "WezTerm", "ghostty", "Windows Terminal")
"""TERM_PROGRAM of terminals that know OSC 9."""
OSC_9_VARIABLES = ("WT_SESSION", "KITTY_WINDOW_ID", "ConEmuPID")
OSC_777_TERMS = ("rxvt-unicode", "foot")
"""Beginnings of TERM."""


def attention(how: str, text: str, environ: Mapping[str, str]) -> str:
    """What to send: `how` is one of the setting's values; empty for nothing."""
    if how == "off":
        return ""
    multiplexed = bool(environ.get("TMUX") or environ.get("STY"))
    codes = _notification(_plain(text), environ, anyhow=how == "osc")
    if how == "bell" or not codes or (multiplexed and how == "auto"):
        return BELL
    if environ.get("TMUX"):  # tmux passes it on where `allow-passthrough` is on
        return "\x1bPtmux;" + codes.replace("\x1b", "\x1b\x1b") + END
    return codes


def _notification(text: str, environ: Mapping[str, str], *, anyhow: bool) -> str:
    """In the language that the terminal is known to understand; empty when none is, and nobody wants it `anyhow`."""
    if environ.get("TERM", "").startswith(OSC_777_TERMS) or environ.get("VTE_VERSION"):
        return f"\x1b]777;notify;{TITLE};{text}{END}"
    known = environ.get("TERM_PROGRAM", "") in OSC_9 or any(environ.get(name) for name in OSC_9_VARIABLES)
    # Never a digit first: `9;4;` is a progress bar in some terminals.
    return f"\x1b]9;{TITLE}: {text}{END}" if known or anyhow else ""


def _plain(text: str) -> str:
    """One bounded line without anything that acts or separates."""
    line = " ".join(text.split())
    clean = "".join(sign for sign in line[: 4 * MAX_CHARS] if sign.isprintable()).replace(";", ",")
    clean = clean.encode("utf-8", "ignore").decode()
    return clean if len(clean) <= MAX_CHARS else f"{clean[: MAX_CHARS - 1]}…"


class NotifyActions(ScreenApp):
    """Hears what ends while nobody looks."""

    _since_s: float | None = None
    """When what runs now has begun; None while nothing does."""

    def on_mount(self) -> None:
        """From now on."""
        self.agent.subscribe(self._watch_ends)

    def _watch_ends(self, event: Event) -> None:
        match event:
            case TurnStarted() | CommandStarted(tool_call_id=None):
                self._since_s = self.options.clock()
            case TurnFinished(reason, text) if reason is not TurnEnd.CANCELLED:  # whoever cancels looks
                self._call(f"{self.agent.title}: {text or reason}")
            case CommandFinished(tool_call_id=None, result=result) if result.ended is not Ended.CANCELLED:
                self._call(f"{result.chain.source}: exit {result.status}")
            case TurnFinished() | CommandFinished(tool_call_id=None):
                self._since_s = None
            case _:
                pass

    def _call(self, text: str) -> None:
        began, self._since_s = self._since_s, None
        if began is None or self.app_focus or self.options.clock() - began < self.options.notify_after_s:
            return
        codes = attention(self.options.notify, text, os.environ)
        if codes and isinstance(self._driver, TerminalDriver):
            self._driver.call_attention(codes)
