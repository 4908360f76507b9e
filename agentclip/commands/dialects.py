"""What a model means by words that a real program reads otherwise: argv comes in, argv goes out.

The real program runs on the result; nothing of ours ever stands in the data path.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from agentclip.command import Dialect
from agentclip.commands.kinds import HEAD_BYTES, is_binary


def lines_first(argv: Sequence[str], cwd: str) -> Sequence[str]:
    """`head 5` and `tail 100 log.txt` mean `-n 5` and `-n 100`, unless there is a file of that name."""
    if len(argv) < 2 or not (argv[1].isascii() and argv[1].isdigit()) or os.path.lexists(os.path.join(cwd, argv[1])):
        return argv
    return [argv[0], "-n", *argv[1:]]


def base64_of_binary(argv: Sequence[str], cwd: str) -> Sequence[str]:
    """`cat -b FILE` is `base64 FILE` for a binary file; for text `cat` numbers the lines, as GNU's does."""
    words = [word for word in argv[1:] if word != "--"]
    if len(words) != 2 or words[0] != "-b" or not _is_binary_file(os.path.join(cwd, words[1])):
        return argv
    name = words[1]
    return ["base64", f"./{name}" if name.startswith("-") else name]


def _is_binary_file(path: str) -> bool:
    """Whether it is a regular file whose beginning is no text. Pipes and devices are not touched."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return is_binary(file.read(HEAD_BYTES))
    except (OSError, ValueError):
        return False


CAT = Dialect(
    name="cat",
    summary="Read a text file. For images use 'see'. For binary use 'cat -b'.",
    help="""\
cat — the program of this machine, with all its flags (cat --help)
Here, too:
  cat -b FILE   base64 of a binary file, by the base64 program; of a text file it numbers the lines, as GNU's cat does
  An image that would be printed is refused: see FILE shows it. For a folder: ls.

Examples:
  cat notes.md
  cat -b photo.png | head -n 3
  cat access.log | grep 500 | sort | head 10
""",
    rewrite=base64_of_binary,
)

HEAD = Dialect(
    name="head",
    summary="First lines: head 5 FILE, or | head 5",
    help="""\
head — the program of this machine, with all its flags (head --help)
Here, too:
  head 5        head -n 5, unless there is a file called 5

Examples:
  head 5 notes.md
  cat access.log | sort | head 10
  head -n 5 notes.md
""",
    rewrite=lines_first,
)

TAIL = Dialect(
    name="tail",
    summary="Last lines: tail 100 FILE, or | tail 100",
    help="""\
tail — the program of this machine, with all its flags (tail --help)
Here, too:
  tail 100      tail -n 100, unless there is a file called 100

Examples:
  tail 100 app.log
  cat app.log | grep ERROR | tail 5
  tail -n +2 table.csv
""",
    rewrite=lines_first,
)

DIALECTS = (CAT, HEAD, TAIL)
