"""What importing costs: nobody pays for the screen, the provider or litellm who does not use them."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("textual", "rich", "httpx", "litellm", "PIL", "pygments")


def loaded(statement: str) -> set[str]:
    """Top-level packages in memory after a statement, in a process of its own."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {line.partition(".")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(
    "statement",
    [
        "import agentclip",
        "import agentclip.cli",
        "import agentclip.cli.execute",
        "import agentclip.cli.run",
        "import agentclip.runtime",
    ],
)
def test_nothing_heavy_is_loaded(statement: str) -> None:
    assert loaded(statement) & set(HEAVY) == set()


def test_the_screen_loads_no_provider() -> None:
    assert loaded("import agentclip.ui.app") & {"httpx", "litellm", "PIL"} == set()


def test_the_provider_loads_no_command_line() -> None:
    inside = loaded("import agentclip.model.worker")
    assert "httpx" in inside
    assert inside & {"click", "rich", "pygments", "litellm"} == set()


def test_importing_does_nothing_visible() -> None:
    done = subprocess.run([sys.executable, "-c", "import agentclip.cli"], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_windows_imports_and_says_what_is_missing() -> None:
    code = "import sys; from agentclip.cli import main; sys.platform = 'win32'; sys.exit(main(['exec', 'ls']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 69
    assert "inside WSL" in done.stderr
