from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from agentclip.commands.clock import TimeCommand
from tests.commands.calls import Desk


def test_the_first_line_is_iso_8601_and_now(desk: Desk) -> None:
    iso, human = desk.call(TimeCommand(), "time").text.splitlines()
    assert abs(datetime.fromisoformat(iso) - datetime.now(UTC)) < timedelta(minutes=1)
    assert re.fullmatch(r"[A-Z][a-z]+day \d\d [A-Z][a-z]+ \d{4}, \d\d:\d\d:\d\d \S+ \(UTC[+-]\d\d:\d\d\)", human)


@pytest.mark.parametrize(
    ("zone", "end"), [("Asia/Tokyo", "JST (UTC+09:00)"), (":Asia/Kolkata", "IST (UTC+05:30)"), ("UTC", "UTC (UTC+00:00)")]
)
def test_the_zone_is_that_of_the_commands_environment(desk: Desk, zone: str, end: str) -> None:
    desk.env = {"TZ": zone}
    assert desk.call(TimeCommand(), "time").text.rstrip().endswith(end)


@pytest.mark.parametrize("zone", ["Nowhere/Land", "../../etc/passwd", "/etc/passwd", "a\nb", "x" * 9999, "Asia"])
def test_an_unknown_zone_is_said_and_utc_used(desk: Desk, zone: str) -> None:
    desk.env = {"TZ": zone}
    outcome = desk.call(TimeCommand(), "time")
    assert outcome.text.rstrip().endswith("(UTC+00:00)")
    assert outcome.error.endswith("is no zone name that is known here; shown in UTC")


def test_words_are_refused(desk: Desk) -> None:
    assert desk.call(TimeCommand(), "time", "ls").error.startswith("[error] time: unexpected argument 'ls'")
