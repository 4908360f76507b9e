"""`time`: the current date, time and zone."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agentclip.command import CommandIO, Declaration
from agentclip.commands.arguments import Arguments
from agentclip.commands.registry import DeclaredCommand
from agentclip.commands.streams import note, say
from agentclip.errors import one_line


class TimeCommand(DeclaredCommand):
    """Tells the time in the zone of the session (`TZ`), else of the machine."""

    declaration = Declaration(
        name="time",
        summary="Current date, time and zone (`time CMD` is bash's and measures CMD)",
        examples=("time", "time | head -n 1", "time --help"),
        exit_codes=((0, "done"), (2, "wrong words")),
        often_followed_by=("topic list",),
    )

    def handle(self, args: Arguments, io: CommandIO) -> int:  # noqa: ARG002  it takes no words
        """ISO 8601 on the first line, for people on the second."""
        now = datetime.now(UTC).astimezone(_zone(io))
        offset = now.strftime("%z")
        say(io, now.isoformat(timespec="seconds"))
        say(io, now.strftime(f"%A %d %B %Y, %H:%M:%S {one_line(now.tzname() or '')} (UTC{offset[:3]}:{offset[3:5]})"))
        return 0


def _zone(io: CommandIO) -> tzinfo | None:
    """The zone that `TZ` names in the command's environment; None for the machine's own."""
    name = io.env.get("TZ", "").removeprefix(":")
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        note(io, f"TZ={one_line(name)[:64]} is no zone name that is known here; shown in UTC")
        return UTC
