"""The cases of public bug reports run on the same ground as Layer 1's own tests."""

from __future__ import annotations

from tests.shell.conftest import lines, make_lines

__all__ = ["lines", "make_lines"]
