"""No pair of colours that cannot be read, and none at all under NO_COLOR: whatever is drawn."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from agentclip.ui.app import ChatApp
from agentclip.ui.filters import NoColour, Readable
from agentclip.ui.themes import MIN_CONTRAST, Themes, contrast
from tests.ui.screens import drawn, make_app, screen_text, until
from tests.ui.scripted import ScriptedAgent

THEMES = Themes.load().by_name
WIDE = (140, 40)
ALL_COLOURS = "".join(f"\x1b[{ground};{ink}m ab " for ground in (49, *range(40, 48), *range(100, 108)) for ink in range(30, 38))
MESSAGE = """# Title

`code` and [link](http://x)

> quote

```python
x = 'text' + 1  # note
```

| a | b |
|---|---|
| 1 | 2 |
"""


def pairs(app: ChatApp) -> dict[str, float]:
    """Every text on the screen that is no frame, and its contrast."""
    found = {}
    for strip in app.screen._compositor.render_strips(app.size):  # noqa: SLF001  no public way to read the screen
        for text, style, _ in strip:
            if style and style.color and text.strip() and not all("\u2500" <= sign <= "\u259f" or sign == " " for sign in text):
                assert style.bgcolor is not None
                found[text] = contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
    return found


@pytest.mark.parametrize(
    "theme",
    [pytest.param(name, marks=() if name in {"dark", "light", "colour-blind"} else pytest.mark.slow) for name in THEMES],
)
async def test_every_text_on_the_screen_can_be_read(agent: ScriptedAgent, theme: str) -> None:
    app = make_app(agent, theme=theme)
    async with app.run_test(size=WIDE) as pilot:
        agent.say(MESSAGE)
        agent.run("colours", ALL_COLOURS.encode() + b"\x1b[0;2m dim\n", status=1)
        agent.run("ls", b"x\n")
        await drawn(pilot)
        await pilot.press("alt+up")
        await drawn(pilot)
        assert "Title" in screen_text(app)
        assert {text: ratio for text, ratio in pairs(app).items() if ratio < MIN_CONTRAST - 0.05} == {}
        for word in ("/help", "/theme"):
            app.board.prompt.insert(word)
            await pilot.press("enter")
            await drawn(pilot)
            assert len(app.screen_stack) == 2
            assert {text: ratio for text, ratio in pairs(app).items() if ratio < MIN_CONTRAST - 0.05} == {}, word
            await pilot.press("escape")
            await drawn(pilot)


def test_a_text_of_its_own_ground_becomes_readable_and_a_frame_stays() -> None:
    black, blue = Style.parse("#000000 on #101010"), Style.parse("#303050 on #101010")
    text, frame = Readable().apply([Segment("hidden", black), Segment(" │─▄ ", blue)], Color(0, 0, 0))
    assert text.style is not None
    assert text.style.color is not None
    assert contrast(Color.from_rich_color(text.style.color), Color(16, 16, 16)) >= MIN_CONTRAST
    assert frame == Segment(" │─▄ ", blue)


@pytest.mark.parametrize("theme", THEMES)
def test_without_colour_what_a_ground_marked_is_reversed(theme: str) -> None:
    def shown(ground: str, *, reverse: bool = False) -> Style:
        style = Style(color="#123456", bgcolor=THEMES[theme].color(ground).rich_color, reverse=reverse, bold=True)
        (segment,) = NoColour(THEMES[theme]).apply([Segment("x", style)], Color(0, 0, 0))
        assert segment.style is not None
        return segment.style

    for ground in ("background", "surface", "panel", "raw-bg", "model-bg"):
        assert shown(ground) == Style(bold=True, reverse=False)
        assert shown(ground, reverse=True) == Style(bold=True, reverse=True)
    for mark in ("selected-bg", "foreground"):
        assert shown(mark) == Style(bold=True, reverse=True)
        assert not shown(mark, reverse=True).reverse, "a hit in the chosen row differs from the row"
    (bare,) = NoColour(THEMES[theme]).apply([Segment("x")], Color(0, 0, 0))
    assert bare == Segment("x")


async def test_without_colour_cursor_chosen_run_focus_and_selection_are_seen(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(agent)

    def reversed_text() -> str:
        strips = app.screen._compositor.render_strips(app.size)  # noqa: SLF001  no public way to read the screen
        return "".join(text for strip in strips for text, style, _ in strip if style and style.reverse)

    async with app.run_test(size=WIDE) as pilot:
        agent.run("first", b"alpha\n")
        agent.run("second", b"beta\n")
        app.board.prompt.insert("word")
        await drawn(pilot)
        assert reversed_text() == " ", "the cursor"
        assert "┏" in screen_text(app), "the frame of what has the focus is heavy"
        await pilot.press("shift+left", "shift+left")
        await drawn(pilot)
        assert "rd" in reversed_text()
        await pilot.press("right", "alt+up", "alt+up")
        await drawn(pilot)
        assert "first" in reversed_text()
        app.board.cancel.focus()
        await until(pilot, lambda: "Cancel" in reversed_text())
        app.action_theme()
        await drawn(pilot)
        assert "> * dark" in reversed_text()


async def test_lines_are_filtered_again_only_by_another_filter(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test():
        first, again = app.get_line_filters(), app.get_line_filters()
        assert [id(each) for each in first] == [id(each) for each in again]
        app.colours = NoColour(app.themes.by_name["dark"])
        assert app.get_line_filters() != first
