"""The program of the person for reading long texts: which one, and what it is given.

In: the environment, files. Out: words to run. `less` shows colours and nothing else that could act on the terminal; any other
program gets copies without escapes. Must not know: widgets.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentclip.errors import ConfigError
from agentclip.ui.foreign import decode, visible, without_colours

DEFAULT = "less"
MAX_COPIED = 64 * 1024 * 1024
"""Bytes of a file that are copied for a program that is not `less`."""
_PIECE = 64 * 1024


def pager_words(environment: Mapping[str, str]) -> list[str]:
    """$PAGER as words. Raises ConfigError when it is none or not there."""
    setting = environment.get("PAGER", "").strip() or DEFAULT
    try:
        words = shlex.split(setting)
    except ValueError as error:
        raise ConfigError(f"$PAGER is `{setting}`: {error}", hint="a program and its options, such as less") from error
    if not words or shutil.which(words[0], path=environment.get("PATH")) is None:
        raise ConfigError(f"no program `{setting}` to read long texts", hint="install less, or set PAGER to one that is there")
    return words


def shows_only_colours(words: Sequence[str]) -> bool:
    """Whether the program may have escapes as they are."""
    return Path(words[0]).name == "less"


def reading(words: Sequence[str], files: Sequence[Path], folder: Path) -> list[str]:
    """The whole command line for some files; copies are put into a folder. Raises OSError."""
    if shows_only_colours(words):
        # The last option wins, also over `-r` in $PAGER and $LESS.
        return [*words, "-R", "--", *map(str, files)]
    return [*words, *(str(_copy(file, folder / file.name)) for file in files)]


def _copy(source: Path, target: Path) -> Path:
    if source == target:
        target = target.with_name(f"clean-{target.name}")
    with target.open("w", encoding="utf-8") as copy:
        copy.writelines(_clean(source))
    return target


def _clean(source: Path) -> Iterator[str]:
    left = source.stat().st_size
    with source.open("rb") as file:
        while file.tell() < MAX_COPIED and (line := file.readline(_PIECE)):
            left -= len(line)
            text = visible(without_colours(decode(line.removesuffix(b"\n"))))
            yield text + "\n" * line.endswith(b"\n")
    if left > 0:
        yield f"\n... {left:,} more bytes; less would show all of them\n"
