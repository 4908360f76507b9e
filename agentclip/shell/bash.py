"""How bash is started, and how a whole line tells us its working directory and exported variables when it ends.

The report comes from an EXIT trap set by a start-up file (BASH_ENV), so the line itself stays as the model wrote it. A line
that touches `trap` or `exec` gets no trap of ours: it must see its own.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

MAX_ARGUMENT_BYTES = 128 * 1024 - 1
"""Linux' MAX_ARG_STRLEN: a longer single argument is E2BIG, so the text goes over a descriptor."""

REPORT_VARIABLE = "AGENTCLIP_REPORT"
USER_START_FILE_VARIABLE = "AGENTCLIP_BASH_ENV"
END_MARK = b"agentclip-report-end"

_TOUCHES_TRAPS = re.compile(r"\b(?:trap|exec)\b")

START_FILE = """\
printf -v AGENTCLIP_REPORT %q "$AGENTCLIP_REPORT"
trap '{ builtin printf "%s\\0" "$PWD"; /usr/bin/env -0; builtin printf agentclip-report-end; } \
>|'"$AGENTCLIP_REPORT"' 2>/dev/null' EXIT
if [ -n "${AGENTCLIP_BASH_ENV+x}" ]; then
  BASH_ENV=$AGENTCLIP_BASH_ENV
  unset AGENTCLIP_REPORT AGENTCLIP_BASH_ENV
  . "$BASH_ENV"
else
  unset AGENTCLIP_REPORT BASH_ENV
fi
"""


def bash_argv(text: str) -> tuple[list[str], int | None]:
    """The argv that runs `text`, and a descriptor the child must inherit when the text is too long for an argument.

    The caller closes the descriptor after the start.
    """
    start = ["bash", "--norc", "--noprofile", "-c", "--"]
    if len(text.encode("utf-8", "surrogateescape")) < MAX_ARGUMENT_BYTES:
        return [*start, text], None
    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "surrogateescape"))
        file.seek(0)
        descriptor = os.dup(file.fileno())
    # The text is read before `exec` closes the descriptor, so the line's own commands never see it.
    return [*start, f'eval "exec {descriptor}<&-\n$(</dev/fd/{descriptor})"'], descriptor


def can_report(text: str) -> bool:
    """Whether an EXIT trap of ours would go unnoticed by the line."""
    return _TOUCHES_TRAPS.search(text) is None


class StateReport:
    """One line's report: the variables that ask for it, and what came back."""

    def __init__(self, folder: Path, number: int) -> None:
        self.path = folder / f"run-{number}.state"
        self._start_file = folder / "start.bash"

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """Added to the environment of the bash that runs the line."""
        if not self._start_file.exists():
            _write_private(self._start_file, START_FILE)
        _write_private(self.path, "")  # the line's bash would make it readable by others, with all that is exported
        added = {REPORT_VARIABLE: str(self.path), "BASH_ENV": str(self._start_file)}
        if "BASH_ENV" in env:
            added[USER_START_FILE_VARIABLE] = env["BASH_ENV"]
        return added

    def read(self) -> tuple[str, dict[str, str]] | None:
        """The directory and the exported variables, or None when the line ended without a whole report."""
        try:
            data = self.path.read_bytes()
            self.path.unlink()
        except OSError:
            return None
        if not data.endswith(END_MARK):
            return None
        cwd, *pairs = data.removesuffix(END_MARK).rstrip(b"\0").split(b"\0")
        env = dict(os.fsdecode(pair).partition("=")[::2] for pair in pairs if b"=" in pair)
        return os.fsdecode(cwd), env


def _write_private(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
