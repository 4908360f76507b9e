"""All settings as a list: what each means, where its value came from, and changing it in the person's own file.

In: the preferences, what to do when one has changed. Made from the declarations of the settings; knows none of them by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from agentclip.errors import ConfigError
from agentclip.preferences import DEFAULT, Preference, Preferences
from agentclip.ui.picker import Ask, Look, Picker, Row

TO_DEFAULT = ""
"""What is chosen or typed to take a setting out of the person's file."""


class SettingsScreen(Picker[str]):
    """The list. Enter changes a value; Esc closes."""

    def __init__(
        self, preferences: Preferences, changed: Callable[[Preference], None], choices: Mapping[str, Sequence[str]]
    ) -> None:
        """`choices` are values that only the screen knows, by key. Raises ConfigError: a file or variable is wrong."""
        self._preferences = preferences
        self._tell = changed
        self._special = choices
        self._known: dict[str, Preference] = {}
        super().__init__(self._rows(), Look("Settings", hint="a change goes into your own file", describe=self._about))

    def search(self, words: str) -> None:
        """Begin with these."""
        self._box.value = words

    def action_choose(self) -> None:
        """Enter: another value for the row."""
        key = self.chosen
        if key is not None:
            self._ask(self._known[key])

    def _rows(self) -> list[Row[str]]:
        self._known = {each.key: each for each in self._preferences.rows()}
        return [Row(each.key, each.key, _value(each), words=each.doc) for each in self._known.values()]

    def _about(self, key: str) -> str:
        row = self._known[key]
        lines = [
            row.doc,
            "",
            f"now       {row.value or '(none)'}",
            f"from      {row.source}",
            f"default   {row.default or '(none)'}",
        ]
        if allowed := self._allowed(row):
            lines.append(f"allowed   {', '.join(allowed)}")
        lines += [
            f"variable  {row.variable}",
            "",
            "A change holds at once." if row.live else "A change holds from the next start.",
        ]
        if row.is_overridden:
            lines.append(f"{row.source} goes before what stands in your own file.")
        return "\n".join(lines)

    def _allowed(self, row: Preference) -> Sequence[str]:
        return self._special.get(row.key) or row.choices

    def _ask(self, row: Preference, typed: str | None = None, said: str = "") -> None:
        allowed = self._allowed(row)
        if not allowed:
            question = f"{said or f'{row.key}: {row.doc}'}. Empty: the default, {row.default or 'none'}"
            self.app.push_screen(Ask(question, row.value if typed is None else typed), lambda text: self._take(row, text))
            return
        rows = [Row(each, each, current=each == row.value) for each in allowed]
        rows.append(Row(f"the default, {row.default or 'none'}", TO_DEFAULT))
        self.app.push_screen(Picker(rows, Look(f"{row.key}: {row.doc}")), lambda text: self._take(row, text))

    def _take(self, row: Preference, text: str | None) -> None:
        if text is not None:
            self.run_worker(self._change(row, text), group="change", exclusive=True)

    async def _change(self, row: Preference, text: str) -> None:
        try:
            now = await asyncio.to_thread(self._preferences.change, row.key, text)
            rows = await asyncio.to_thread(self._rows)
        except ConfigError as error:
            if self._allowed(row):
                self.say(str(error))
            else:
                self._ask(row, text, str(error))
            return
        self.fill(rows)
        self.say(_what_it_means(now))
        self._tell(now)


def _value(row: Preference) -> str:
    value = row.value or "(none)"
    if row.source == DEFAULT:
        return value
    return f"{value}  ({row.source})" if row.is_overridden else f"{value}  (yours)"


def _what_it_means(row: Preference) -> str:
    value = row.value or "(none)"
    if row.is_overridden:
        return f"saved, but {row.source} goes before it: {row.key} is {value}"
    return f"{row.key} is {value} {'now' if row.live else 'from the next start'}"
