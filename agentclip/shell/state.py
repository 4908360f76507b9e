"""What lasts from one run to the next: the working directory and the exported variables.

`cd`, `export` and `unset` with literal words change it here; a line that bash takes whole reports it back (bash.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

KEPT_BY_BASH = frozenset({"SHLVL", "_"})
"""Every bash sets these anew, so what a line reports of them is not the session's."""

NO_EDITOR = "sh -c 'echo \"agentclip: no editor here. Give the text as an argument, e.g. git commit -m TEXT\" >&2; exit 1' sh"

HARMLESS: Mapping[str, str] = {
    "EDITOR": NO_EDITOR,
    "GIT_EDITOR": NO_EDITOR,
    # A silent success would rewrite nothing and report success.
    "GIT_SEQUENCE_EDITOR": NO_EDITOR,
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
    "VISUAL": NO_EDITOR,
}

OF_THE_TERMINAL = frozenset({"COLUMNS", "LINES", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "LS_COLORS"})


def command_environment(environ: Mapping[str, str], passed: Sequence[str] = ()) -> dict[str, str]:
    """The environment commands start with: no provider keys, nothing of our own, nothing that opens an editor or a pager.

    Every `*_API_KEY` is withheld, and so is AGENTCLIP_*; other secrets (GITHUB_TOKEN, AWS_*) belong to the person's
    own tools and stay. `passed` names variables that stay all the same.
    """
    kept = {name: value for name, value in environ.items() if name in passed or not _is_withheld(name)}
    return kept | {name: value for name, value in HARMLESS.items() if name not in passed}


def _is_withheld(name: str) -> bool:
    return name.endswith("_API_KEY") or name.startswith("AGENTCLIP_") or name in OF_THE_TERMINAL


def nearest_existing(folder: str) -> str:
    """`folder` itself, or the closest parent that is still a directory."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "/"
    return folder


def _before_dots(cwd: str, target: str) -> list[str]:
    """The directories that the `..` of a path lead out of, by their logical names."""
    found = []
    here = cwd if not target.startswith("/") else "/"
    for part in target.split("/"):
        if part == "..":
            found.append(here)
        here = os.path.normpath(os.path.join(here, part))
    return found


class ShellState(Struct):
    """cwd and exported variables of one session."""

    cwd: str
    """Absolute and logical: keeps the symlinks it was reached by, as bash's PWD does."""
    env: dict[str, str] = field(default_factory=dict)
    own_changes: dict[str, str | None] = field(default_factory=dict)
    """What commands changed in `env` since the session began, None for a removal: what a resumed session sets again."""

    def changes(self) -> tuple[tuple[str, str | None], ...]:
        """`own_changes` as a value that can be stored: text that is no UTF-8 could not come back as it was."""
        return tuple(sorted((name, value) for name, value in self.own_changes.items() if _is_text(name + (value or ""))))

    def restore(self, changes: Iterable[tuple[str, str | None]]) -> None:
        """Set again what `changes` of an earlier process returned."""
        for name, value in changes:
            self._set(name, value)

    def environment(self) -> dict[str, str]:
        """The variables for a new process."""
        return {**self.env, "PWD": self.cwd}

    def recover_cwd(self) -> str | None:
        """When the directory is gone, move to the nearest parent and return a note; None when all is well."""
        if os.path.isdir(self.cwd):
            return None
        gone, self.cwd = self.cwd, nearest_existing(self.cwd)
        return f"the working directory {gone} is gone; continuing in {self.cwd}"

    def change_directory(self, words: Sequence[str]) -> str | None:
        """`cd` with literal words. Returns bash's message on failure, None on success."""
        if len(words) > 2:
            return "cd: too many arguments"
        target = words[1] if len(words) == 2 else self.env.get("HOME")
        if target is None:
            return "cd: HOME not set"
        if target == "":
            return None
        path = os.path.normpath(os.path.join(self.cwd, target))
        # POSIX: // may mean something else at the root; normpath keeps it, bash does too.
        try:
            # Every component must exist, `missing/..` included: bash looks before it folds the dots.
            for before in _before_dots(self.cwd, target):
                os.close(os.open(before, os.O_RDONLY | os.O_DIRECTORY))
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            return f"cd: {target}: {os.strerror(error.errno or 0)}"
        os.close(descriptor)
        if not os.access(path, os.X_OK):
            return f"cd: {target}: Permission denied"
        self._set("OLDPWD", self.cwd)
        self.cwd = path
        return None

    def export(self, words: Sequence[str]) -> None:
        """`export NAME=value ...`, names that are valid (the parser looked); a bare NAME changes nothing here."""
        for word in words[1:]:
            name, equals, value = word.partition("=")
            if equals:
                self._set(name, value)

    def unset(self, words: Sequence[str]) -> None:
        """`unset NAME ...`, names that are valid."""
        for name in words[1:]:
            self._set(name, None)

    def adopt(self, cwd: str, env: Mapping[str, str]) -> None:
        """Take over what a whole line reported when it ended."""
        self.cwd = cwd
        reported = {name: value for name, value in env.items() if name not in KEPT_BY_BASH}
        before = {name: value for name, value in self.env.items() if name not in KEPT_BY_BASH}
        for name in before.keys() - reported.keys() - {"PWD"}:
            self._set(name, None)
        for name, value in reported.items():
            if before.get(name) != value and name != "PWD":
                self._set(name, value)

    def _set(self, name: str, value: str | None) -> None:
        self.own_changes[name] = value
        if value is None:
            self.env.pop(name, None)
        else:
            self.env[name] = value


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
