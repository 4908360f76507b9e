"""What is in view at which size, and what always stands there. Pure: sizes and choices in, an arrangement out."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

WIDE = 120
MIDDLE = 90
MIN_WIDTH = 30
MIN_HEIGHT = 8
LOW = 14
"""Below this height the hints and the frames go."""


class Split(StrEnum):
    """What F2 goes through."""

    BOTH = "both"
    LAYER1 = "layer 1"
    LAYER2 = "layer 2"
    OFF = "off"

    def next(self) -> Split:
        """The one after it."""
        order = list(Split)
        return order[(order.index(self) + 1) % len(order)]


class PaneName(StrEnum):
    """Ids of the panes."""

    CHAT = "chat"
    RAW = "raw"
    MODEL = "model"


LABELS = {PaneName.CHAT: "Chat", PaneName.RAW: "Layer 1", PaneName.MODEL: "Layer 2"}
TITLES = {PaneName.CHAT: "Chat", PaneName.RAW: "Layer 1  raw stream", PaneName.MODEL: "Layer 2  what the model reads"}
NAME = " agentclip"
NAME_FROM_COLUMNS = 45
"""In fewer it would not stand whole beside an idle state and the Cancel button."""
NO_RUN = " no run yet"
PLACEHOLDER = "type here…"


class Arrangement(Struct, frozen=True):
    """Which widgets are displayed."""

    panes: frozenset[PaneName] = frozenset()
    """Empty when the terminal is too small."""
    tabs: tuple[PaneName, ...] = ()
    """Panes that take turns; empty when there is nothing to choose."""
    reachable: tuple[PaneName, ...] = ()
    """Panes that F6 goes through, in order."""
    low: bool = False
    """Few rows: hints and frames give way."""

    @property
    def too_small(self) -> bool:
        """Nothing but a message fits."""
        return not self.panes

    @property
    def right(self) -> bool:
        """Whether a layer is in view."""
        return bool(self.panes & {PaneName.RAW, PaneName.MODEL})


def arrange(size: tuple[int, int], split: Split, tab: PaneName, maximised: PaneName | None) -> Arrangement:
    """Panes for a size. `tab` is the pane last asked for; `maximised` has all the room."""
    width, height = size
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Arrangement()
    low = height < LOW
    layers = {
        Split.BOTH: (PaneName.RAW, PaneName.MODEL),
        Split.LAYER1: (PaneName.RAW,),
        Split.LAYER2: (PaneName.MODEL,),
        Split.OFF: (),
    }[split]
    everything = (PaneName.CHAT, *layers)
    if maximised is not None and maximised in everything:
        return Arrangement(frozenset({maximised}), (), everything, low)
    if width >= WIDE and not low:
        return Arrangement(frozenset(everything), (), everything, low)
    if width >= MIDDLE:
        shown = tab if tab in layers else layers[0] if layers else None
        panes = {PaneName.CHAT, shown} if shown else {PaneName.CHAT}
        return Arrangement(frozenset(panes), layers if len(layers) > 1 else (), everything, low)
    shown = tab if tab in everything else PaneName.CHAT
    return Arrangement(frozenset({shown}), everything if len(everything) > 1 else (), everything, low)
