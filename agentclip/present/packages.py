"""What to do about a program that is not there: another name of it, or an installer that is there.

In: the word that nothing runs. Out: a line, or None. Only tables and rules; the machine is looked at through `Machine`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from agentclip.present.machine import Machine

SAME_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "awk": ("gawk", "mawk"),
    "bat": ("batcat", "cat"),
    "docker": ("podman",),
    "fd": ("fdfind",),
    "gawk": ("awk",),
    "ggrep": ("grep",),
    "gmake": ("make",),
    "gsed": ("sed",),
    "gtar": ("tar",),
    "make": ("gmake",),
    "md5": ("md5sum",),
    "node": ("nodejs",),
    "nodejs": ("node",),
    "pip": ("pip3",),
    "pip3": ("pip",),
    "podman": ("docker",),
    "python": ("python3",),
    "python2": ("python3",),
    "python3": ("python",),
    "vi": ("vim",),
}
"""Programs that take the words of another."""

_PIP = {"apt-get": "python3-pip", "dnf": "python3-pip", "apk": "py3-pip", "brew": "python"}
_NODE = {"apt-get": "nodejs", "dnf": "nodejs", "apk": "nodejs", "brew": "node"}
_PYTHON = {"apt-get": "python3", "dnf": "python3", "apk": "python3", "brew": "python"}
_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "ag": {"apt-get": "silversearcher-ag", "apk": "the_silver_searcher", "brew": "the_silver_searcher"},
    "convert": {"apt-get": "imagemagick", "dnf": "ImageMagick", "apk": "imagemagick", "brew": "imagemagick"},
    "dig": {"apt-get": "dnsutils", "dnf": "bind-utils", "apk": "bind-tools", "brew": "bind"},
    "fd": {"apt-get": "fd-find", "dnf": "fd-find"},
    "ifconfig": {"apt-get": "net-tools", "dnf": "net-tools", "apk": "net-tools"},
    "netstat": {"apt-get": "net-tools", "dnf": "net-tools", "apk": "net-tools"},
    "node": _NODE,
    "nodejs": _NODE,
    "npm": {"dnf": "nodejs-npm", "brew": "node"},
    "pdftotext": {"apt-get": "poppler-utils", "dnf": "poppler-utils", "apk": "poppler-utils", "brew": "poppler"},
    "pip": _PIP,
    "pip3": _PIP,
    "ps": {"apt-get": "procps", "dnf": "procps-ng", "apk": "procps"},
    "python": _PYTHON,
    "python3": _PYTHON,
    "rg": {"apt-get": "ripgrep", "dnf": "ripgrep", "apk": "ripgrep", "brew": "ripgrep"},
    "sqlite3": {"dnf": "sqlite", "apk": "sqlite", "brew": "sqlite"},
}
"""Names of packages that are not the program's, by installer."""
_OF_LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "pip": ("black", "flake8", "httpie", "isort", "mypy", "poetry", "pylint", "pytest", "ruff", "tox", "uv"),
    "npm": ("eslint", "pnpm", "prettier", "typescript", "yarn"),
    "cargo": ("bat", "fd-find", "hyperfine", "ripgrep", "tokei"),
}
"""Programs that are packages of a language under their own names."""
_LANGUAGE_LINES = {"pip": "pip install {}", "npm": "npm install -g {}", "cargo": "cargo install {}"}
_SYSTEM_LINES = {"apt-get": "apt-get install -y {}", "dnf": "dnf install -y {}", "apk": "apk add {}", "brew": "brew install {}"}
_NEED_ROOT = frozenset({"apt-get", "dnf", "apk"})


def other_name(word: str, machine: Machine) -> str | None:
    """A program that is there and takes the same arguments."""
    return next((name for name in SAME_ARGUMENTS.get(word, ()) if machine.has(name)), None)


def is_known(word: str) -> bool:
    """Whether the word certainly means a program, so that a near name is no better idea."""
    return word in SAME_ARGUMENTS or word in _PACKAGES or any(word in names for names in _OF_LANGUAGES.values())


def installing(word: str, machine: Machine) -> str | None:
    """The command that would install it; None when no installer of this machine is known."""
    for installer, names in _OF_LANGUAGES.items():
        if word in names and machine.has(installer):
            return _LANGUAGE_LINES[installer].format(word)
    for installer, line in _SYSTEM_LINES.items():
        if machine.has(installer):
            name = _PACKAGES.get(word, {}).get(installer, word)
            return _as_root(line.format(name), machine) if installer in _NEED_ROOT else line.format(name)
    return None


def _as_root(line: str, machine: Machine) -> str | None:
    if os.geteuid() == 0:
        return line
    return f"sudo -n {line}" if machine.has("sudo") else None
