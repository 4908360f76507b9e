from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from rich.style import Style

from agentclip.ui.half_blocks import UPPER, picture_rows
from agentclip.ui.wrap import Row

RED, BLUE, BLACK = (255, 0, 0), (0, 0, 255), (0, 0, 0)


def saved(path: Path, picture: Image.Image) -> str:
    picture.save(path)
    return str(path)


def colors(row: Row) -> list[tuple[object, object]]:
    """Upper and lower pixel of each segment."""
    assert {sign for segment in row for sign in segment.text} == {UPPER}
    styles = [segment.style or Style() for segment in row]
    return [
        (tuple(each.color.triplet or ()), tuple(each.bgcolor.triplet or ())) for each in styles if each.color and each.bgcolor
    ]


def test_a_cell_holds_two_pixels(tmp_path: Path) -> None:
    picture = Image.new("RGB", (2, 2), RED)
    picture.putpixel((0, 1), BLUE)
    picture.putpixel((1, 1), BLUE)
    rows = picture_rows(saved(tmp_path / "a.png", picture), 80, 20)
    assert [colors(row) for row in rows] == [[(RED, BLUE)]]
    assert rows[0][0].text == UPPER * 2


@pytest.mark.parametrize(
    ("size", "cells"), [((400, 100), (40, 5)), ((100, 400), (5, 10)), ((3, 4), (3, 2)), ((1, 900), (1, 10))]
)
def test_it_fits_and_is_never_enlarged(tmp_path: Path, size: tuple[int, int], cells: tuple[int, int]) -> None:
    rows = picture_rows(saved(tmp_path / "a.png", Image.new("RGB", size, RED)), 40, 10)
    assert (sum(len(segment.text) for segment in rows[0]), len(rows)) == cells


def test_what_is_transparent_and_the_row_below_the_last_are_black(tmp_path: Path) -> None:
    rows = picture_rows(saved(tmp_path / "a.png", Image.new("RGBA", (1, 1), (255, 0, 0, 0))), 40, 10)
    assert [colors(row) for row in rows] == [[(BLACK, BLACK)]]


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a" + bytes(20), b"hello"])
def test_what_is_no_picture_is_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.png").write_bytes(data)
    assert picture_rows(str(tmp_path / "a.png"), 40, 10) == ()
    assert picture_rows(str(tmp_path / "gone.png"), 40, 10) == ()


def test_a_picture_that_declares_too_much_is_not_decoded(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", Image.new("1", (9000, 9000)))
    assert picture_rows(path, 40, 10) == ()
