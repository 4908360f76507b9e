"""Every action of the screen, once: its id, its keys, where they work, its slash word.

Widgets take their bindings from this table; F1, the palette, the key map and docs/keys.md are made from it. Must not know: what
an action does.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from textual.binding import Binding, BindingType


class Place(StrEnum):
    """Where the keys of an action work."""

    ANYWHERE = "Anywhere"
    PROMPT = "In the prompt"
    COMPLETION = "In the completions above the prompt"
    SEARCH = "In the search through the history"
    PANE = "In any pane"
    CHAT = "In Chat"
    RAW = "In Layer 1"
    MODEL = "In Layer 2"
    BUTTON = "On the Cancel button"
    LIST = "In a list to choose from"
    SESSIONS = "In the list of sessions"
    QUEUE = "In the list of what waits"


class Action(Struct, frozen=True):
    """One thing a person can do."""

    id: str
    """For `keymap.toml`."""
    keys: str
    """Textual's names, separated by commas; empty when only a word or the palette does it."""
    does: str
    """Textual's action, with its parameters."""
    title: str
    place: Place
    word: str = ""
    """The slash word that does the same; empty when only the palette does."""
    operands: str = ""
    """What may follow the word; it becomes the parameter of the action."""
    yields: bool = False
    """Of ANYWHERE: a widget's own meaning of the key goes before."""


ACTIONS = (
    Action("app.help", "f1", "app.help", "help", Place.ANYWHERE, "/help"),
    Action("app.palette", "ctrl+p,f9", "app.palette", "everything there is to do, to choose from", Place.ANYWHERE, "/palette"),
    Action("layers.split", "f2", "app.split", "both layers, Layer 1, Layer 2, none", Place.ANYWHERE, "/layers"),
    Action("pane.next", "f6", "app.next_pane", "next pane", Place.ANYWHERE),
    Action("run.cancel", "f8", "app.cancel", "cancel; again: kill", Place.ANYWHERE, "/cancel"),
    Action("pane.maximise", "f12", "app.maximise", "maximise the pane", Place.ANYWHERE),
    Action("run.escape", "escape", "app.escape", "close, else cancel; again: kill", Place.ANYWHERE),
    Action(
        "app.interrupt",
        "ctrl+c",
        "app.interrupt",
        "copy, else close, else cancel, else clear, else twice to quit",
        Place.ANYWHERE,
    ),
    Action("run.previous", "alt+up", "app.run(-1)", "previous run", Place.ANYWHERE),
    Action("run.next", "alt+down", "app.run(1)", "next run", Place.ANYWHERE),
    Action("find.open", "ctrl+f", "app.find", "find in the pane", Place.ANYWHERE, "/find", "[WORDS]"),
    Action("app.quit", "ctrl+d", "app.end_of_file", "quit when the prompt is empty", Place.ANYWHERE, yields=True),
    Action("sessions.open", "f5", "app.sessions", "saved sessions: go on, copy, rename, delete", Place.ANYWHERE, "/sessions"),
    Action("sessions.resume", "", "app.resume", "go on with another session", Place.ANYWHERE, "/resume", "[ID]"),
    Action("sessions.new", "", "app.new_session", "a new session; this one is kept", Place.ANYWHERE, "/new"),
    Action("model.choose", "f7", "app.model", "another model", Place.ANYWHERE, "/model", "[NAME]"),
    Action("setup.open", "", "app.setup", "find a model: keys, local servers, providers", Place.ANYWHERE, "/setup"),
    Action("settings.open", "", "app.settings", "settings: see and change them", Place.ANYWHERE, "/settings", "[KEY]"),
    Action("app.suspend", "ctrl+z", "app.suspend_process", "back to the shell; `fg` goes on", Place.ANYWHERE, "/suspend"),
    Action("app.leave", "", "app.leave", "end; the resume line is printed", Place.ANYWHERE, "/quit"),
    Action("prompt.send", "enter", "send", "send", Place.PROMPT),
    Action("prompt.editor", "ctrl+g", "app.edit_outside", "edit the prompt in $VISUAL", Place.ANYWHERE, "/editor"),
    Action("history.search", "ctrl+r", "app.search_history", "search what you sent; again: older", Place.ANYWHERE, "/history"),
    Action("queue.open", "f4", "app.queue", "what waits: edit it, take it out", Place.ANYWHERE, "/queue"),
    Action("completion.take", "tab", "complete(True)", "take the chosen one, else the first", Place.COMPLETION),
    Action("completion.enter", "enter", "complete", "take the chosen one, else send", Place.COMPLETION),
    Action("completion.up", "up", "candidate(-1)", "up", Place.COMPLETION),
    Action("completion.down", "down", "candidate(1)", "down", Place.COMPLETION),
    Action("history.take", "enter,tab", "take_found", "take it into the prompt", Place.SEARCH),
    Action("history.newer", "up", "found(-1)", "newer", Place.SEARCH),
    Action("history.older", "down", "found(1)", "older", Place.SEARCH),
    Action("queue.drop", "delete,ctrl+x", "screen.drop", "take it out", Place.QUEUE),
    Action("prompt.newline", "ctrl+j,shift+enter,alt+enter", "newline", "new line", Place.PROMPT),
    Action("prompt.undo", "ctrl+underscore", "undo", "undo", Place.PROMPT),
    Action("chat.page_up", "pageup", "app.scroll(-1, 'chat')", "scroll Chat up", Place.PROMPT),
    Action("chat.page_down", "pagedown", "app.scroll(1, 'chat')", "scroll Chat down", Place.PROMPT),
    Action("layers.page_up", "shift+pageup", "app.scroll(-1, 'raw', 'model')", "scroll both layers up", Place.PROMPT),
    Action("layers.page_down", "shift+pagedown", "app.scroll(1, 'raw', 'model')", "scroll both layers down", Place.PROMPT),
    Action("find.here", "slash", "app.find_here", "find", Place.PANE),
    Action("find.next", "n", "app.find_next(1)", "next place with the words", Place.PANE),
    Action("find.previous", "N", "app.find_next(-1)", "the place before", Place.PANE),
    Action("output.copy", "c", "app.copy", "copy the selection, else what is pointed at", Place.PANE, "/copy"),
    Action("output.open", "o", "app.open_output", "open all of it in $PAGER", Place.PANE, "/open"),
    Action("run.again", "r", "app.run_again", "run the command of the run again", Place.PANE, "/again"),
    Action("run.tell", "", "app.tell", "put what a run showed into the prompt", Place.ANYWHERE, "/tell", "[N]"),
    Action("chat.expand", "enter", "choose", "expand the chosen run", Place.CHAT),
    Action("chat.expand_all", "e", "app.expand_all", "expand all runs, or collapse them", Place.CHAT, "/expand"),
    Action("raw.jump", "g,enter", "jump", "to this line in Layer 2", Place.RAW),
    Action("raw.wrap", "w", "app.wrap", "fold long lines, or cut them", Place.RAW, "/wrap"),
    Action("raw.left", "left", "aside(-1)", "to the left", Place.RAW),
    Action("raw.right", "right", "aside(1)", "to the right", Place.RAW),
    Action("model.jump", "g,enter", "jump", "to this line in Layer 1", Place.MODEL),
    Action("cancel.press", "enter,space", "press", "cancel", Place.BUTTON),
    Action("list.choose", "enter", "screen.choose", "choose", Place.LIST),
    Action("list.up", "up", "screen.move(-1)", "up", Place.LIST),
    Action("list.down", "down", "screen.move(1)", "down", Place.LIST),
    Action("list.page_up", "pageup", "screen.page(-1)", "a page up", Place.LIST),
    Action("list.page_down", "pagedown", "screen.page(1)", "a page down", Place.LIST),
    Action("list.first", "home", "screen.end(-1)", "to the first", Place.LIST),
    Action("list.about_up", "shift+pageup", "screen.about(-1)", "scroll what is said of a row up", Place.LIST),
    Action("list.about_down", "shift+pagedown", "screen.about(1)", "scroll what is said of a row down", Place.LIST),
    Action("list.last", "end", "screen.end(1)", "to the last", Place.LIST),
    Action("sessions.scope", "tab", "screen.scope", "this directory or all", Place.SESSIONS),
    Action("sessions.fork", "ctrl+f", "screen.fork", "copy it and go on with the copy", Place.SESSIONS),
    Action("sessions.rename", "ctrl+r", "screen.rename", "another title", Place.SESSIONS),
    Action("sessions.delete", "ctrl+d", "screen.delete", "remove it for good", Place.SESSIONS),
    Action("app.theme", "", "app.theme", "another theme; alone: choose with a preview", Place.ANYWHERE, "/theme", "[NAME]"),
)
WORDS = {action.word: action for action in ACTIONS if action.word}
OVER_LISTS = frozenset({"app.help", "app.cancel", "app.escape", "app.interrupt"})
"""What actions of ANYWHERE do also while a list or a question lies over the screen; the others wait until it is closed."""


def bindings(place: Place) -> list[BindingType]:
    """Textual's bindings for the widget of a place; those of ANYWHERE go before what a widget binds."""
    first = place is Place.ANYWHERE
    return [
        Binding(action.keys, action.does, action.title, id=action.id, show=False, priority=first and not action.yields)
        for action in ACTIONS
        if action.place is place and action.keys
    ]
