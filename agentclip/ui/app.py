"""The whole screen: everything that its keys ask for, joined."""

from __future__ import annotations

from agentclip.ui.choice_actions import ChoiceActions
from agentclip.ui.notify import NotifyActions
from agentclip.ui.options import ScreenOptions
from agentclip.ui.pane_actions import PaneActions
from agentclip.ui.prompt_actions import PromptActions
from agentclip.ui.session_actions import SessionActions
from agentclip.ui.setup_actions import SetupActions
from agentclip.ui.theme_actions import ThemeActions

__all__ = ["ChatApp", "ScreenOptions"]


class ChatApp(PromptActions, PaneActions, SessionActions, SetupActions, ChoiceActions, ThemeActions, NotifyActions):
    """The screen of `agentclip`."""
