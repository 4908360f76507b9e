"""A checkout that starts as an installed package does: pip compiles what it installs, a checkout may lack compiled files."""

from __future__ import annotations

import os


def keep_compiled(folder: str) -> None:
    """Programs that are started from now on keep compiled modules in a folder; the first start of each makes them."""
    os.environ["PYTHONPYCACHEPREFIX"] = folder
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
