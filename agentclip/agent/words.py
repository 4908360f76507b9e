"""Slash words that ask something of the agent, for screen and line mode: a word comes in, what to tell the person goes out."""

from __future__ import annotations

from typing import Protocol

from agentclip.events import CommandFinished, Severity

WORDS = (
    ("/compress", "", "put a snapshot in place of the older part of the conversation"),
    ("/snapshot", "", "the snapshot that the model reads"),
    ("/loops", "[on | off]", "loop detection of this session"),
)
"""Word, operands, what it does."""

_SWITCH = {"on": True, "off": False}


class Asked(Protocol):
    """What the words need of an agent."""

    loop_detection: bool

    def compress(self) -> None:
        """Make a snapshot once nothing else runs; a notice says what came of it."""

    def snapshot_text(self) -> str:
        """The snapshot that the model reads now; empty when there is none."""


def told(agent: Asked, word: str, rest: str) -> tuple[str, Severity]:
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
            return f"no command {word}; /help lists all", Severity.WARNING


def retold(finished: CommandFinished) -> str:
    """A run as a part of a message: the model reads nothing of a `!` line otherwise."""
    return f"I ran this:\n\n{finished.result.chain.source}\n\nand it showed:\n\n{finished.shown.text}"
