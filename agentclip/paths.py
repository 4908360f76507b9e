"""Where things live on disk: XDG folders as functions. Nothing is created at import."""

from __future__ import annotations

from pathlib import Path

import platformdirs

APPLICATION = "agentclip"


def config_file() -> Path:
    """The user's own configuration, `$XDG_CONFIG_HOME/agentclip/config.toml`."""
    return platformdirs.user_config_path(APPLICATION) / "config.toml"


def keymap_file() -> Path:
    """The user's own keys of the screen, `$XDG_CONFIG_HOME/agentclip/keymap.toml`."""
    return platformdirs.user_config_path(APPLICATION) / "keymap.toml"


def project_config_file(cwd: Path) -> Path:
    """The configuration that a project folder brings, `.agentclip/config.toml`."""
    return cwd / ".agentclip" / "config.toml"


def user_themes_dir() -> Path:
    """Themes of the user, read beside the shipped ones."""
    return platformdirs.user_config_path(APPLICATION) / "themes"


def state_dir() -> Path:
    """`$XDG_STATE_HOME/agentclip`: sessions, spools of `exec`, logs."""
    return platformdirs.user_state_path(APPLICATION)


def sessions_dir() -> Path:
    """One folder per session."""
    return state_dir() / "sessions"


def keys_dir() -> Path:
    """Stored keys, one file each: with the state, because configuration is what people copy and publish."""
    return state_dir() / "keys"


def exec_dir() -> Path:
    """One folder per `agentclip exec`, holding its `cmd-output/`."""
    return state_dir() / "exec"


def shipped_themes_dir() -> Path:
    """The packaged themes; the checkout's own `themes/` in an editable install."""
    packaged = Path(__file__).parent / "_themes"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "themes"


def make_private(folder: Path) -> Path:
    """Create `folder` (and its parents) readable by the owner only; return it."""
    for parent in reversed([folder, *folder.parents]):
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)
    return folder
