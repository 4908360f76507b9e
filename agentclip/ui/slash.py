"""Slash commands that ask the agent for something: a word comes in, what to tell the person goes out."""

from __future__ import annotations

from agentclip.events import Severity
from agentclip.ui.agent_api import AgentApi

_SWITCH = {"on": True, "off": False}


def told(agent: AgentApi, word: str, rest: str) -> tuple[str, Severity]:
    """Do what the word asks for and say so."""
    match word:
        case "/compress":
            agent.compress()
            return "a snapshot of the older part is made as soon as nothing else runs", Severity.INFO
        case "/snapshot":
            return agent.snapshot_text() or "there is no snapshot yet; /compress makes one", Severity.INFO
        case "/loops":
            agent.loop_detection = _SWITCH.get(rest.strip(), agent.loop_detection)
            return f"loop detection is {'on' if agent.loop_detection else 'off'} for this session", Severity.INFO
        case _:
            return f"no command {word}; F1 lists all", Severity.WARNING
