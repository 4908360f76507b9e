from __future__ import annotations

import pytest

from agentclip.ui.layout import Arrangement, PaneName, Split, arrange

CHAT, RAW, MODEL = PaneName.CHAT, PaneName.RAW, PaneName.MODEL


@pytest.mark.parametrize(
    ("size", "split", "tab", "panes", "tabs"),
    [
        ((140, 40), Split.BOTH, CHAT, {CHAT, RAW, MODEL}, ()),
        ((120, 40), Split.LAYER1, CHAT, {CHAT, RAW}, ()),
        ((140, 40), Split.LAYER2, CHAT, {CHAT, MODEL}, ()),
        ((140, 40), Split.OFF, RAW, {CHAT}, ()),
        ((119, 30), Split.BOTH, CHAT, {CHAT, RAW}, (RAW, MODEL)),
        ((90, 30), Split.BOTH, MODEL, {CHAT, MODEL}, (RAW, MODEL)),
        ((100, 30), Split.LAYER2, RAW, {CHAT, MODEL}, ()),
        ((89, 24), Split.BOTH, CHAT, {CHAT}, (CHAT, RAW, MODEL)),
        ((80, 24), Split.BOTH, RAW, {RAW}, (CHAT, RAW, MODEL)),
        ((80, 24), Split.OFF, RAW, {CHAT}, ()),
        ((140, 10), Split.BOTH, CHAT, {CHAT, RAW}, (RAW, MODEL)),
        ((30, 8), Split.BOTH, CHAT, {CHAT}, (CHAT, RAW, MODEL)),
    ],
)
def test_what_is_in_view_at_a_size(
    size: tuple[int, int], split: Split, tab: PaneName, panes: set[PaneName], tabs: tuple[PaneName, ...]
) -> None:
    found = arrange(size, split, tab, None)
    assert (set(found.panes), found.tabs) == (panes, tabs)


@pytest.mark.parametrize("size", [(29, 40), (140, 7), (20, 5), (1, 1)])
def test_a_tiny_terminal_shows_only_a_message(size: tuple[int, int]) -> None:
    assert arrange(size, Split.BOTH, CHAT, None) == Arrangement()
    assert arrange(size, Split.BOTH, CHAT, None).too_small


@pytest.mark.parametrize("pane", [CHAT, RAW, MODEL])
def test_a_maximised_pane_has_all_the_room(pane: PaneName) -> None:
    assert arrange((140, 40), Split.BOTH, CHAT, pane).panes == {pane}


def test_a_maximised_pane_that_is_switched_off_is_not_shown() -> None:
    assert arrange((140, 40), Split.OFF, CHAT, RAW).panes == {CHAT}


def test_the_split_key_goes_through_all_and_comes_back() -> None:
    split = Split.BOTH
    seen = [split := split.next() for _ in range(4)]
    assert seen == [Split.LAYER1, Split.LAYER2, Split.OFF, Split.BOTH]
