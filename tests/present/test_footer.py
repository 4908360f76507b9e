from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.present.footer import duration_text, short_size_text, size_text, status_line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0ms"),
        (-1, "0ms"),
        (0.0004, "0ms"),
        (0.0123, "12ms"),
        (0.9994, "999ms"),
        (0.9996, "1.0s"),
        (1, "1.0s"),
        (3.21, "3.2s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (45.4, "45s"),
        (119.4, "119s"),
        (119.6, "2m00s"),
        (125, "2m05s"),
        (7384, "123m04s"),
    ],
)
def test_durations_are_short_and_never_jump_back(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("size", "text", "short"),
    [
        (0, "0B", "0B"),
        (1023, "1023B", "1023B"),
        (1024, "1.0KB", "1KB"),
        (182 * 1024, "182.0KB", "182KB"),
        (108894, "106.3KB", "106.3KB"),
        (1024 * 1024 - 1, "1.0MB", "1MB"),
        (256 * 1024 * 1024, "256.0MB", "256MB"),
        (5 * 1024**4, "5.0TB", "5TB"),
    ],
)
def test_sizes_have_one_decimal_and_1024_to_the_step(size: int, text: str, short: str) -> None:
    assert (size_text(size), short_size_text(size)) == (text, short)


def test_a_call_that_never_ran_has_a_footer_too() -> None:
    assert status_line(2, 0) == "[exit:2 | 0ms]"
    assert status_line(130, 0, ("cancelled",)) == "[exit:130 | 0ms | cancelled]"


@given(st.floats(min_value=0, max_value=1e6), st.integers(min_value=0, max_value=2**60))
def test_every_duration_and_size_is_one_short_word(seconds: float, size: int) -> None:
    assert len(duration_text(seconds)) <= 9
    assert " " not in duration_text(seconds) + size_text(size)
