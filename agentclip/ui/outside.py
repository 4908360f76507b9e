"""The editor of the person for the prompt: which one, and the file it works on. Must not know: widgets, the terminal."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from agentclip.errors import ConfigError
from agentclip.ui.foreign import visible

FALLBACKS = ("vi", "nano")
MAX_BYTES = 4 * 1024 * 1024


def editor_words(environment: Mapping[str, str]) -> list[str]:
    """$VISUAL, else $EDITOR, else what is there, as words. Raises ConfigError when it is none or not there."""
    path = environment.get("PATH")
    for name in ("VISUAL", "EDITOR"):
        setting = environment.get(name, "").strip()
        if not setting:
            continue
        try:
            words = shlex.split(setting)
        except ValueError as error:
            raise ConfigError(f"${name} is `{setting}`: {error}", hint="a program and its options, such as vim") from error
        if shutil.which(words[0], path=path) is None:
            raise ConfigError(f"${name} is `{setting}`, which is not there", hint=f"set {name} to an editor that is")
        return words
    found = next((each for each in FALLBACKS if shutil.which(each, path=path)), None)
    if found is None:
        raise ConfigError("there is no editor", hint="set VISUAL to one")
    return [found]


@contextmanager
def draft(text: str) -> Iterator[Path]:
    """A file with the text, for its owner only, gone afterwards. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="agentclip-") as folder:
        path = Path(folder, "prompt.md")
        path.write_text(text + "\n" * bool(text), encoding="utf-8", errors="replace")
        yield path


def edited(path: Path) -> str:
    """What the editor left, without the last line end, with marks for what could act on a terminal. Raises OSError."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES)
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    return "\n".join(map(visible, text.split("\n")))


def editing(words: Sequence[str], path: Path) -> list[str]:
    """The whole command line."""
    return [*words, str(path)]
