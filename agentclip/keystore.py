"""Keys on disk: one file of mode 600 for each variable, in a folder of mode 700 that is no part of the configuration.

The name of a variable comes in, the path of its file goes out. Keys are only ever written here: the provider's process alone
reads them. No keyring of a desktop: servers have none, and where one is locked it asks in a window that nobody may see.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from agentclip import paths
from agentclip.errors import ConfigError, ErrorCode, one_line
from agentclip.keys import MAX_KEY_CHARS

VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")


class KeyFile(str):
    """The path of a file that holds a key, where an environment has the key itself."""

    __slots__ = ()


def stored(folder: Path) -> dict[str, KeyFile]:
    """The files that are there, by variable. Whether others may read them is only checked by `check`."""
    found = {}
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(folder) as entries:
        for entry in entries:
            if VARIABLE.fullmatch(entry.name):
                found[entry.name] = KeyFile(entry.path)
    return dict(sorted(found.items()))


def check(path: str) -> None:
    """Raises ConfigError: the file is not there, or others may read it."""
    shown = one_line(path)
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"the key file {shown} cannot be read: {error}", code=ErrorCode.MISSING_KEY) from error
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"the key file {shown} is no file", hint="Name a file that holds the key alone")
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077 or status.st_uid not in {os.getuid(), 0}:
        raise ConfigError(f"the key file {shown} is open to others (mode {mode:03o})", hint=f"Run: chmod 600 {shown}")


def clean_key(text: str) -> str:
    """The key that was typed or pasted, without blanks around it.

    Raises:
        ConfigError: it cannot be a key. The message holds nothing of it.
    """
    key = text.strip()
    if not key:
        raise ConfigError("the key is empty", hint="Copy it from the provider's page", code=ErrorCode.USAGE)
    if len(key) > MAX_KEY_CHARS or not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError("that is no key", hint="A key is one word of plain letters, digits and signs", code=ErrorCode.USAGE)
    return key


def put(folder: Path, variable: str, key: str) -> Path:
    """Store a key under the name of its variable, whole or not at all; the file.

    Raises:
        ConfigError: not a key, not the name of a variable, or the disk refuses.
    """
    if not VARIABLE.fullmatch(variable):
        raise ConfigError(f"{one_line(variable)!r} is not the name of a variable", hint="For example OPENAI_API_KEY")
    data = f"{clean_key(key)}\n".encode()
    path = folder / variable
    staged = folder / f".{os.urandom(8).hex()}"
    try:
        paths.make_private(folder)
        folder.chmod(0o700)
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(staged, path)
        finally:
            staged.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"the key cannot be stored in {path}: {error.strerror}", hint=f"ls -ld {folder}") from error
    return path


def remove(folder: Path, variable: str) -> bool:
    """Remove a stored key; False when there is none. Raises ConfigError: the disk refuses."""
    if variable not in stored(folder):
        return False
    path = folder / variable
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path} cannot be removed: {error.strerror}", hint=f"ls -ld {folder}") from error
    return True
