"""What choosing a first model needs from outside the screen. Protocols and values only; a key is never shown by any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentclip.ui.shelves import OfferedModel


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere a model can be had."""

    id: str
    name: str
    api_base: str
    """Empty where it is not known or where the person says it."""
    key_variable: str = ""
    """Empty when no key is needed."""
    key_source: str = ""
    """`environment` or a file; empty when there is no key yet."""
    usual_model: str = ""
    """Empty where only the person knows what is installed."""
    is_local: bool = False
    is_slow: bool = False
    """Loading what speaks with it takes seconds."""
    is_other: bool = False
    """The person types the address."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Where a model shall be had."""

    place: Place
    api_base: str = ""
    """As typed; empty for the place's own."""
    key: str | None = field(default=None, repr=False)
    """As typed; None for the one that is there."""


class Setup(Protocol):
    """Finding, trying and keeping a model."""

    def places(self) -> Sequence[Place]:
        """All of them, those with a key first. Reads the disk."""

    def at(self, address: str) -> Wish:
        """The place at an address that the person typed. Raises AgentclipError: it is no address."""

    async def answering(self) -> frozenset[str]:
        """Ids of local places that answer right now. Returns within a second or so, asks nobody else."""

    async def offered(self, wish: Wish) -> Sequence[OfferedModel]:
        """What can be had there. Raises AgentclipError."""

    async def try_out(self, wish: Wish, model: str) -> None:
        """Return once the model has begun to answer a word. Raises AgentclipError."""

    async def keep(self, wish: Wish, model: str) -> str:
        """Store key and name; the model answers here as soon as nothing runs. What to tell. Raises AgentclipError."""

    async def give_up(self) -> None:
        """End what was begun and not kept."""

    def play_demo(self) -> None:
        """After this screen: the recorded session, then a new one."""
