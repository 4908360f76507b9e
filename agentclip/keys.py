"""Provider keys leave the environment before anything else happens.

The environment comes in. When it holds keys, this process replaces itself, same pid and same arguments, by one whose
environment holds none, so that neither `/proc/PID/environ` nor a command ever shows them; they cross in a pipe that is read
and closed at once. What goes out is a sealed mapping, read only to configure a provider.

Imports next to nothing: what is imported here is imported twice. Out of scope until there is a sandbox: a command of the same
user that reads this process' memory, where the system lets it (`undumpable.py`).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping, MutableMapping

HANDED_OVER = "AGENTCLIP_KEYS_FD"
"""Number of the descriptor that the keys are read from; gone before anything else looks."""
SUFFIX = "_API_KEY"
MAX_BYTES = 16 * 1024
"""Fits into a pipe that nobody reads yet, on every system."""
MAX_KEY_CHARS = 8192
"""A longer text is no key."""


class Keys(Mapping[str, str]):
    """Keys by the name of their variable. Shows none of them by itself, and cannot be pickled."""

    __slots__ = ("_held",)

    def __init__(self, held: Mapping[str, str]) -> None:
        self._held = dict(held)

    def __getitem__(self, name: str) -> str:
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return f"Keys({', '.join(self._held)})"

    def __reduce__(self) -> str:
        raise TypeError("keys are not written anywhere")


def take(environ: MutableMapping[str, str], argv: list[str] | None) -> Keys:
    """Take the keys out of `environ`. Does not return where it replaces the process by `argv`; None never replaces it."""
    descriptor = environ.pop(HANDED_OVER, None)
    names = key_variables(environ)
    keys = {name: environ[name] for name in names}
    if descriptor is not None:  # already replaced: never again, whatever the environment holds
        keys |= _received(descriptor)
    elif names and argv:
        _replace_process(argv, {name: value for name, value in environ.items() if name not in names}, keys)
    for name in names:
        del environ[name]
    return Keys(keys)


def own_command_line(main_name: str | None) -> list[str] | None:
    """How this process was started, to start it again; None when it is somebody else's program that called us."""
    started_as = os.path.basename(sys.argv[0]) if sys.argv else ""
    is_ours = main_name == "agentclip.__main__" or os.path.splitext(started_as)[0] == "agentclip"
    if not is_ours or not sys.executable or not os.access(sys.executable, os.X_OK):
        return None
    return [sys.executable, *sys.orig_argv[1:]]


def key_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that hold keys: every `*_API_KEY` and the configured one, without those that commands shall see."""
    named, passed = _configured(environ)
    found = (name for name, value in environ.items() if (name.endswith(SUFFIX) or name == named) and value.strip())
    return tuple(name for name in found if name not in passed)


def config_files(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where the user's configuration may be: `paths.config_file` without the 10 ms that its imports cost."""
    home = os.path.expanduser("~")
    folders = (environ.get("XDG_CONFIG_HOME", ""), f"{home}/.config", f"{home}/Library/Application Support")
    return tuple(f"{folder}/agentclip/config.toml" for folder in folders if folder)


def _configured(environ: Mapping[str, str]) -> tuple[object, frozenset[object]]:
    """`model.api_key_env` and `run.pass_env`, by variable or by file."""
    model, run = _tables(environ)
    named = environ.get("AGENTCLIP_API_KEY_ENV") or (model.get("api_key_env") if isinstance(model, dict) else None)
    listed = run.get("pass_env") if isinstance(run, dict) else None
    passed: list[object] = listed if isinstance(listed, list) else []
    if environ.get("AGENTCLIP_PASS_ENV"):
        passed = [part.strip() for part in environ["AGENTCLIP_PASS_ENV"].split(",")]
    return named, frozenset(name for name in passed if isinstance(name, str))


def _tables(environ: Mapping[str, str]) -> tuple[object, object]:
    """`[model]` and `[run]` of the file. What is wrong with it is told later, by those who read all of it."""
    text = next(filter(None, map(_text, config_files(environ))), "")
    if "api_key_env" not in text and "pass_env" not in text:
        return None, None
    import tomllib  # noqa: PLC0415  registered deferred import

    try:
        tables = tomllib.loads(text)
    except ValueError:
        return None, None
    return tables.get("model"), tables.get("run")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def _replace_process(argv: list[str], environ: dict[str, str], keys: Mapping[str, str]) -> None:
    """Start anew without keys in the environment. Returns only when that is impossible."""
    data = b"\0".join(os.fsencode(f"{name}={key}") for name, key in keys.items())
    if len(data) > MAX_BYTES:
        return
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, data)
        os.close(write_end)
        os.set_inheritable(read_end, True)  # noqa: FBT003  a C-like call
        os.execve(argv[0], argv, environ | {HANDED_OVER: str(read_end)})
    except OSError:
        os.close(read_end)


def _received(descriptor: str) -> dict[str, str]:
    """The keys that the first process handed over; none when somebody else set the variable."""
    try:
        number = int(descriptor)
        if number <= 2 or not stat.S_ISFIFO(os.fstat(number).st_mode):
            return {}
        os.set_blocking(number, False)
        data = os.read(number, MAX_BYTES)
        os.close(number)
    except (OSError, ValueError):
        return {}
    pairs = (os.fsdecode(entry).partition("=") for entry in data.split(b"\0"))
    return {name: key for name, equals, key in pairs if equals}
