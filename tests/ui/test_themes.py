from __future__ import annotations

from pathlib import Path

import pytest
from pygments.token import STANDARD_TYPES

from agentclip import paths
from agentclip.errors import ConfigError
from agentclip.ui.themes import MIN_CONTRAST, TEXTS, Ink, ScreenTheme, Themes, contrast, load_theme

SHIPPED = list(Themes.load().by_name.values())
GROUNDS = ("background", "surface", "panel", "raw-bg", "model-bg", "selected-bg")


def source(name: str = "dark") -> str:
    return (paths.shipped_themes_dir() / f"{name}.toml").read_text(encoding="utf-8")


def test_one_dark_and_one_light_theme_are_shipped() -> None:
    assert {theme.name: theme.dark for theme in SHIPPED} == {"dark": True, "light": False}


@pytest.mark.parametrize("theme", SHIPPED, ids=lambda theme: theme.name)
def test_every_text_colour_can_be_read_on_every_background(theme: ScreenTheme) -> None:
    pairs = [(text, ground) for text in (*TEXTS, "foreground") for ground in GROUNDS]
    weak = {pair: ratio for pair in pairs if (ratio := contrast(theme.color(pair[0]), theme.color(pair[1]))) < MIN_CONTRAST}
    assert weak == {}


@pytest.mark.parametrize("theme", SHIPPED, ids=lambda theme: theme.name)
def test_code_can_be_read_whatever_the_pygments_style_thinks(theme: ScreenTheme) -> None:
    ink = Ink(theme)
    for token in STANDARD_TYPES:
        color = ink.token(token).color
        assert color is not None
        assert contrast(theme.color("surface").from_rich_color(color), theme.color("surface")) >= MIN_CONTRAST


def test_contrast_is_that_of_wcag() -> None:
    theme = SHIPPED[0]
    black, white = theme.color("surface").parse("#000000"), theme.color("surface").parse("#ffffff")
    assert contrast(black, white) == pytest.approx(21)
    assert contrast(white, white) == pytest.approx(1)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "dark"', 'name = "a/b"', "name"),
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
    assert set(themes.by_name) == {"dark", "light", "mine"}
    assert len(themes.complaints("mine")) == 1
    assert "bad.toml" in themes.complaints("mine")[0]
    assert "no theme other" in themes.complaints("other")[-1]
