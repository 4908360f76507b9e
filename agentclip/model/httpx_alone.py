"""httpx without its command line, which would load click, rich and Pygments: 40 of the 100 ms that its import takes."""

from __future__ import annotations

import sys

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None there means: not installed, and httpx goes on

import httpx  # noqa: E402  after the line above

__all__ = ["httpx"]
