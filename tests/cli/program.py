"""The program as a person or a script starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def agentclip(
    *words: str, cwd: Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "agentclip", *words],
        cwd=cwd,
        input=stdin,
        env={**os.environ, **(env or {})},
        capture_output=True,
        timeout=60,
        check=False,
    )


def document_of(*words: str, cwd: Path, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The one document on stdout, with nothing beside it, and the exit status it names."""
    done = agentclip(*words, cwd=cwd, env=env)
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    assert document["exit_code"] == done.returncode
    assert done.stderr == b""
    return document
