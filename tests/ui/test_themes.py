from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest
from pygments.token import STANDARD_TYPES
from textual.color import Color

from agentclip import paths
from agentclip.errors import ConfigError
from agentclip.ui import screen_app
from agentclip.ui.themes import FRAMES, GROUNDS, INKS, MIN_CONTRAST, Ink, ScreenTheme, Themes, contrast, load_theme

SHIPPED = list(Themes.load().by_name.values())
BY_NAME = {theme.name: theme for theme in SHIPPED}
STATES = ("exit-ok", "exit-fail", "running", "stopping")
SIGHT = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB."""
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
CLEARLY_DIFFERENT = 35
"""CIE 1976 difference; 2.3 is just noticeable. The state colours of `dark` come down to 2 for deuteranopia."""
STYLE_SHEET = "".join(path.read_text(encoding="utf-8") for path in Path(screen_app.__file__).parent.glob("*.tcss"))


def source(name: str = "dark") -> str:
    return (paths.shipped_themes_dir() / f"{name}.toml").read_text(encoding="utf-8")


def weak_pairs(theme: ScreenTheme, least: float) -> dict[tuple[str, str], float]:
    pairs = [(ink, ground) for ink in INKS for ground in GROUNDS]
    return {pair: ratio for pair in pairs if (ratio := contrast(theme.color(pair[0]), theme.color(pair[1]))) < least}


def test_six_themes_are_shipped() -> None:
    assert {theme.name: theme.dark for theme in SHIPPED} == {
        "dark": True,
        "nord": True,
        "light": False,
        "solarized-light": False,
        "high-contrast": True,
        "colour-blind": True,
    }


@pytest.mark.parametrize("theme", SHIPPED, ids=lambda theme: theme.name)
def test_every_text_colour_can_be_read_on_every_background(theme: ScreenTheme) -> None:
    assert weak_pairs(theme, MIN_CONTRAST) == {}


def test_high_contrast_is_higher() -> None:
    theme = BY_NAME["high-contrast"]
    assert weak_pairs(theme, 7.0) == {}
    assert contrast(theme.color("frame"), theme.color("panel")) >= MIN_CONTRAST


@pytest.mark.parametrize("theme", SHIPPED, ids=lambda theme: theme.name)
def test_the_frame_of_what_has_the_focus_is_seen(theme: ScreenTheme) -> None:
    for ground in ("background", "panel"):
        assert contrast(theme.color("frame-focus"), theme.color(ground)) >= 3, "WCAG 1.4.11"


def seen(color: Color, sight: str) -> tuple[float, float, float]:
    """The colour as CIE L*a*b* to such eyes."""

    def times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
        return [sum(factor * part for factor, part in zip(row, vector, strict=True)) for row in matrix]

    shares = [value / 255 for value in color.rgb]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    xyz = times(XYZ, [min(1.0, max(0.0, part)) for part in times(SIGHT[sight], linear)])
    x, y, z = (
        part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (xyz[0] / 0.95047, xyz[1], xyz[2] / 1.08883)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("sight", SIGHT)
def test_states_of_the_colour_blind_theme_differ_to_everyone(sight: str) -> None:
    theme = BY_NAME["colour-blind"]
    apart = {
        (one, other): math.dist(seen(theme.color(one), sight), seen(theme.color(other), sight))
        for one, other in itertools.combinations(STATES, 2)
    }
    assert {pair: distance for pair, distance in apart.items() if distance < CLEARLY_DIFFERENT} == {}


def test_the_style_sheet_draws_only_known_inks_on_known_grounds() -> None:
    """The contrast test above covers INKS on GROUNDS: nothing else may be drawn in text colours or behind text."""
    plain = re.sub(r"/\*.*?\*/", "", STYLE_SHEET, flags=re.DOTALL)
    found = re.findall(r"([\w-]+):\s*([^;{}]*\$[^;{}]*);", plain)
    assert len(found) > 20
    unknown = []
    for what, value in found:
        names = re.findall(r"\$([\w-]+)", value)
        if what in {"color", "border-title-color", "border-subtitle-color"}:
            # A cursor is reversed: the same pair the other way round.
            unknown += [(what, name) for name in names if name not in (*INKS, "surface")]
        elif what == "background":
            unknown += [(what, name) for name in names if name not in (*GROUNDS, "foreground")]
        else:
            assert what.startswith("border"), f"what is {what}?"
            unknown += [(what, name) for name in names if name not in FRAMES]
    assert unknown == []


def test_an_ink_that_no_text_is_drawn_in_is_refused() -> None:
    with pytest.raises(AssertionError):
        Ink(BY_NAME["dark"])["frame"]


@pytest.mark.parametrize("theme", SHIPPED, ids=lambda theme: theme.name)
def test_code_can_be_read_whatever_the_pygments_style_thinks(theme: ScreenTheme) -> None:
    ink = Ink(theme)
    for token in STANDARD_TYPES:
        color = ink.token(token).color
        assert color is not None
        for ground in GROUNDS:
            assert contrast(Color.from_rich_color(color), theme.color(ground)) >= MIN_CONTRAST - 0.01


def test_contrast_is_that_of_wcag() -> None:
    black, white = Color.parse("#000000"), Color.parse("#ffffff")
    assert contrast(black, white) == pytest.approx(21)
    assert contrast(white, white) == pytest.approx(1)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "dark"', 'name = "a/b"', "name"),
        ('name = "dark"', 'name = "auto"', "name"),
        ("dark = true", 'dark = "yes"', "dark"),
        ('raw-stderr = "#f0a28f"', 'raw-stderr = "reddish"', "variables.raw-stderr"),
        ('raw-stderr = "#f0a28f"', 'raw-stderr = "#f0a28f80"', "variables.raw-stderr"),
        ('raw-stderr = "#f0a28f"', "", "variables.raw-stderr"),
        ('primary = "#7aa2f7"', 'primary = "#7aa2f7"\nprimry = "#000000"', "palette.primry"),
        ("[palette]", "[pallete]", "[palette]"),
        ('pygments = "monokai"', 'pygments = "nope"', "syntax.pygments"),
        ('name = "dark"', 'name = "dark', "line"),
    ],
)
def test_a_wrong_file_is_one_message_that_names_file_and_key(tmp_path: Path, old: str, new: str, key: str) -> None:
    path = tmp_path / "mine.toml"
    assert old in source()
    path.write_text(source().replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_theme(path)
    assert str(path) in str(caught.value)
    assert key in str(caught.value)


def test_a_theme_of_the_user_is_found_and_a_broken_one_does_not_hide_the_others() -> None:
    folder = paths.user_themes_dir()
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(source().replace('name = "dark"', 'name = "mine"'), encoding="utf-8")
    (folder / "bad.toml").write_bytes(b"\xff\xfe")
    themes = Themes.load()
    assert set(themes.by_name) == {*BY_NAME, "mine"}
    assert len(themes.complaints("mine")) == 1
    assert "bad.toml" in themes.complaints("mine")[0]
    assert "no theme other" in themes.complaints("other")[-1]
