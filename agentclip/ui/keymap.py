"""The person's own keys: `keymap.toml` in, the keys of every action out, and a line for each thing in the file that is wrong.

    "pane.next" = "f10"
    "prompt.newline" = ["ctrl+n", "alt+enter"]
    "layers.split" = ""          # no key

Ids are those of `actions.py`. What is wrong is left out, the rest counts. Must not know: widgets.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from string import punctuation
from typing import Protocol, runtime_checkable

from msgspec import Struct, field
from textual.binding import Binding, BindingsMap
from textual.keys import Keys, key_to_character

from agentclip.errors import ConfigError, one_line
from agentclip.ui.actions import ACTIONS, OVER_LISTS, Action, Place

NO_KEY = "no-key"
"""Textual has no word for an action without a key; nobody can press this one."""
IMPOSSIBLE = {
    "ctrl+h": "terminals send it for Backspace",
    "ctrl+i": "terminals send it for Tab",
    "ctrl+m": "terminals send it for Enter",
    "ctrl+left_square_bracket": "terminals send it for Esc",
}
UNWISE = {
    "ctrl+s": "many terminals stop their output at it",
    "ctrl+q": "many terminals take it to go on after Ctrl+S",
    "ctrl+a": "screen takes it for itself",
    "ctrl+b": "tmux takes it for itself",
}
READ_ONLY = (Place.PANE, Place.CHAT, Place.RAW, Place.MODEL, Place.BUTTON)
"""Where letters may be keys; anywhere else they are text."""
LISTS = (Place.LIST, Place.SESSIONS, Place.QUEUE)
"""Lists to choose from, the keys of all of them first."""
_WITHIN = {
    Place.PANE: (Place.CHAT, Place.RAW, Place.MODEL),
    Place.LIST: LISTS[1:],
}
_MODIFIERS = ("ctrl", "alt", "shift")
_SAID = {"pgup": "pageup", "pgdn": "pagedown", "esc": "escape", "return": "enter", "del": "delete", "ins": "insert"}
_SHOWN = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "delete": "Del", "insert": "Ins"}
_CHARACTERS = {next(iter(Binding.make_bindings([Binding(each, "")]))).key: each for each in punctuation if each != ","} | {
    "comma": ","
}
_NAMES = frozenset(key.value.rpartition("+")[2] for key in Keys if "<" not in key.value)
_EXAMPLES = "f10, ctrl+n, alt+enter, shift+pageup, a letter"
_BY_ID = {action.id: action for action in ACTIONS}


class KeyMap(Struct, frozen=True):
    """Which keys do what, for one person."""

    changed: Mapping[str, str] = field(default_factory=dict)
    """Keys by the action's id, Textual's names separated by commas; empty for none. The others have those of the table."""
    complaints: tuple[str, ...] = ()
    """One line each."""

    def keys(self, action: Action) -> str:
        """Textual's names of the keys of an action, separated by commas."""
        return self.changed.get(action.id, action.keys)

    def named(self, identifier: str, *, first: bool = False) -> str:
        """The keys of an action as a person writes them, or only the first of them; empty when it has none."""
        keys = self.keys(_BY_ID[identifier])
        return key_names(keys.split(",")[0] if first else keys)

    def textual(self) -> dict[str, str]:
        """For `App.set_keymap`."""
        return {identifier: keys or NO_KEY for identifier, keys in self.changed.items()}

    @classmethod
    def load(cls, path: Path) -> KeyMap:
        """Read and check the file; none there is no change."""
        try:
            text = path.read_text(encoding="utf-8")
            table = tomllib.loads(text)
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            return cls(complaints=(_wrong(str(path), str(said), 'Write lines such as: "pane.next" = "f10"'),))
        return _Reading(path, text).read(table)


@runtime_checkable
class Keyed(Protocol):
    """An app that has a key map."""

    keymap: KeyMap


def rebind(bindings: BindingsMap, app: object) -> None:
    """Give a widget that looks up its own bindings the keys of the person."""
    if isinstance(app, Keyed):
        bindings.apply_keymap(app.keymap.textual())


def said_keys(keymap: KeyMap, *words: tuple[str, str]) -> str:
    """What some keys do, in a row: of each an action's id and a word; those without a key are left out."""
    return " · ".join(f"{name} {word}" for identifier, word in words if (name := keymap.named(identifier, first=True)))


def hints(keymap: KeyMap) -> str:
    """The last line of the screen: the keys that a beginner needs."""
    said = ["! shell", "/ commands"]
    words = (("prompt.send", "send"), ("prompt.newline", "line"))
    more = (("layers.split", "layers"), ("pane.next", "pane"), ("app.help", "help"), ("app.palette", "palette"))
    before, after = (
        [f"{name.replace('Ctrl+', '^')} {word}" for identifier, word in part if (name := keymap.named(identifier, first=True))]
        for part in (words, more)
    )
    return " · ".join([*before, *said, *after])


def key_names(keys: str) -> str:
    """Textual's names of keys as a person writes them: `Ctrl+J, Shift+Enter`."""
    return ", ".join(_shown(key) for key in keys.split(",") if key)


def _shown(key: str) -> str:
    *modifiers, last = key.split("+")
    character = character_of(last) if last != "space" else None
    if last in _SHOWN:
        last = _SHOWN[last]
    elif character is not None and (not modifiers or not character.isalpha()):
        last = character
    else:
        last = last.capitalize()
    return "+".join([*(each.capitalize() for each in modifiers), last])


def character_of(key: str) -> str | None:
    """What a key writes; None when it writes nothing."""
    found = _CHARACTERS.get(key) or key_to_character(key)
    return found if found is not None and found.isprintable() else None


def parse_key(text: str) -> str | None:
    """Textual's name of a key as a person writes it (`Ctrl+J`, `^J`, `PgUp`, `/`); None when there is no such key."""
    text = text.strip()
    if len(text) == 1:
        return _one_character(text)
    text = re.sub(r"^\^(.)$", r"ctrl+\1", text)
    *modifiers, last = text.split("+") if not text.endswith("+") else [*text[:-2].split("+"), "+"]
    modifiers = sorted((each.strip().lower() for each in modifiers), key=lambda each: (each != "ctrl", each != "alt"))
    if len(set(modifiers)) != len(modifiers) or not set(modifiers) <= set(_MODIFIERS):
        return None
    name = _last(last.strip())
    if name is None:
        return None
    if modifiers == ["shift"] and len(name) == 1 and name.isalpha():
        return name.upper()
    return "+".join([*modifiers, name.lower() if modifiers and len(name) == 1 else name])


def _last(text: str) -> str | None:
    if len(text) == 1:
        return _one_character(text)
    name = _SAID.get(text.lower(), text.lower())
    return name if name in _NAMES or character_of(name) is not None else None


def _one_character(text: str) -> str | None:
    if not text.isprintable() or text == " ":
        return None
    return next(iter(Binding.make_bindings([Binding(text, "")]))).key if text != "," else "comma"


def _wrong(where: str, what: str, hint: str) -> str:
    return one_line(str(ConfigError(f"{where}: {what}", hint=hint)))


class _Reading(Struct):
    """Of one file."""

    path: Path
    text: str
    complaints: list[str] = field(default_factory=list)

    def read(self, table: Mapping[str, object]) -> KeyMap:
        """Check everything, one change after the other."""
        changed: dict[str, str] = {}
        for identifier, value in _flat(table):
            keys = self._keys(identifier, value)
            if keys is not None:
                changed[identifier] = ",".join(keys)
        while clash := _clash(changed):
            loser, other, key = clash
            del changed[loser.id]
            self._say(
                loser.id, f"{key_names(key)} already does: {other.title} (`{other.id}`)", "Take another key for one of them"
            )
        self._look_for_ways_out(changed)
        return KeyMap(changed, tuple(self.complaints))

    def _keys(self, identifier: str, value: object) -> list[str] | None:
        action = _BY_ID.get(identifier)
        if action is None:
            near = difflib.get_close_matches(identifier, _BY_ID, 1, 0.5)
            hint = f"Did you mean `{near[0]}`?" if near else "F1 and docs/keys.md list all actions"
            self._say(identifier, "there is no such action", hint)
            return None
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            self._say(identifier, "this is no key", f"Allowed: {_EXAMPLES}; several in a list; an empty text for none")
            return None
        keys = [(part, parse_key(part)) for part in parts if part.strip()]
        for part, key in keys:
            fault = self._fault(action, key)
            if fault is not None:
                self._say(identifier, f"{one_line(part.strip())!r} {fault}", f"Allowed: {_EXAMPLES}")
                return None
        return list(dict.fromkeys(key for _, key in keys if key is not None))

    def _fault(self, action: Action, key: str | None) -> str | None:
        if key is None:
            return "is no key"
        if key in IMPOSSIBLE:
            return f"cannot be told apart: {IMPOSSIBLE[key]}"
        if action.place not in READ_ONLY and character_of(key) is not None:
            return "is text here: it could not be typed any more"
        if key in UNWISE:
            self._say(action.id, f"{key_names(key)} may never arrive: {UNWISE[key]}", "It is bound all the same")
        return None

    def _look_for_ways_out(self, changed: Mapping[str, str]) -> None:
        for ids, what, word in (
            (("run.cancel", "run.escape", "app.interrupt"), "cancels", "/cancel"),
            (("app.quit", "app.interrupt"), "quits", "/quit"),
        ):
            if not any(changed.get(identifier, _BY_ID[identifier].keys) for identifier in ids):
                self.complaints.append(_wrong(str(self.path), f"no key {what} any more", f"Type {word}"))

    def _say(self, identifier: str, what: str, hint: str) -> None:
        line = next((number for number, text in enumerate(self.text.split("\n"), 1) if identifier in text), None)
        where = f"{self.path}, line {line}" if line else str(self.path)
        self.complaints.append(_wrong(where, f"`{identifier}`: {what}", hint))


def _flat(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """`pane.next = "f10"` means the same with and without quotes around the id."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield before + name, value


def _clash(changed: Mapping[str, str]) -> tuple[Action, Action, str] | None:
    """A change that takes a key of another action where both work, that action, the key. The later of two changes loses."""
    order = list(changed)
    for one, other in combinations(ACTIONS, 2):
        if (one.id not in changed and other.id not in changed) or not _meet(one, other):
            continue
        mine, theirs = (changed.get(each.id, each.keys).split(",") for each in (one, other))
        shared = next((key for key in mine if key and key in theirs), None)
        if shared is not None:
            last = max((one, other), key=lambda each: order.index(each.id) if each.id in changed else -1)
            return last, other if last is one else one, shared
    return None


def _meet(one: Action, other: Action) -> bool:
    """Whether the same key would mean both."""
    if one.yields or other.yields:
        return one.place is other.place
    anywhere = next((each for each in (one, other) if each.place is Place.ANYWHERE), None)
    if anywhere is not None:
        return anywhere.does in OVER_LISTS or (one.place not in LISTS and other.place not in LISTS)
    places = {one.place, other.place}
    return len(places) == 1 or other.place in _WITHIN.get(one.place, ()) or one.place in _WITHIN.get(other.place, ())
