"""`python -m agentclip`."""

from __future__ import annotations

import sys

from agentclip.cli import main

if __name__ == "__main__":
    sys.exit(main())
