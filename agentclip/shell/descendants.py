"""Which processes belong to a run, also those that left its process groups.

Linux: agentclip is a child subreaper, so whatever a command leaves behind becomes our child, with any environment and any
session id. Elsewhere only the process table's parents and groups are known, so a double fork may escape.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable

from msgspec import Struct

PR_SET_CHILD_SUBREAPER = 36
LINUX = sys.platform == "linux"


class Process(Struct, frozen=True):
    """One row of the process table."""

    pid: int
    parent: int
    group: int
    session: int
    start: int
    """Clock ticks since boot; with the pid it names a process for good. 0 where it is not known."""
    state: str
    """`Z` for a zombie."""


def become_subreaper() -> bool:
    """Make orphans of our commands our children; False where the system has no such thing."""
    if not LINUX:
        return False
    failed: int = ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return failed == 0


def process_table() -> dict[int, Process]:
    """All processes now."""
    rows = _from_proc() if LINUX else _from_ps()
    return {row.pid: row for row in rows}


def _from_proc() -> Iterable[Process]:
    for name in os.listdir("/proc"):
        if name.isdigit() and (row := read_process(int(name))) is not None:
            yield row


def read_process(pid: int) -> Process | None:
    """The row of one process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            data = file.read()
    except OSError:
        return None
    # The name in parentheses may hold spaces and parentheses itself.
    fields = data[data.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        state=fields[0].decode(),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        start=int(fields[19]),
    )


def _from_ps() -> Iterable[Process]:
    listing = subprocess.run(["ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=False)
    for line in listing.stdout.splitlines():
        pid, parent, group, state = line.split(None, 3)
        yield Process(int(pid), int(parent), int(group), int(group), 0, state[:1])


def own_children() -> set[int]:
    """Pids of our direct children, cheaply where the kernel lists them."""
    me = os.getpid()
    pids: set[int] = set()
    try:
        for thread in os.listdir(f"/proc/{me}/task"):
            with open(f"/proc/{me}/task/{thread}/children", "rb") as file:
                pids.update(int(pid) for pid in file.read().split())
    except OSError:
        return {row.pid for row in process_table().values() if row.parent == me}
    return pids


class Family:
    """The processes of one run: the leaders of its stages and everything that came of them."""

    def __init__(self, foreign: Callable[[], Collection[int]], stop_commands: Callable[[], None]) -> None:
        self._foreign = foreign
        """Pids that are never ours: provider processes, jobs of other runs."""
        self._stop_commands = stop_commands
        """They know of it before a process does: the end of a writer that dies is no end of file for them."""
        self._claims_orphans = True
        self._before = own_children()
        self._known: dict[int, int] = {}
        self._sessions: set[int] = set()
        self._leaders: set[int] = set()

    def add_leader(self, pid: int) -> None:
        """A stage's process, in a session of its own; its waiting is done by whoever started it."""
        row = read_process(pid) if LINUX else None
        self._known[pid] = row.start if row else 0
        self._leaders.add(pid)
        self._sessions.add(pid)

    def settle(self) -> None:
        """The run is over, what lives is a job: orphans that come from now on belong to somebody else's run."""
        self._claims_orphans = False
        self._foreign = frozenset

    def leader_is_reaped(self, pid: int) -> None:
        """Its pid may be anybody's from now on."""
        self._leaders.discard(pid)
        self._known.pop(pid, None)

    def might_have_survivors(self) -> bool:
        """Cheap: whether we have children that are neither leaders nor somebody else's."""
        if not LINUX:
            return True
        return bool(own_children() - self._before - self._leaders - set(self._foreign()))

    def alive(self) -> tuple[Process, ...]:
        """All living processes of the run. Orphans that have ended are reaped on the way."""
        table = process_table()
        members = self._members(table)
        self._known = {row.pid: row.start for row in members}
        self._sessions.update(row.session for row in members if row.session != os.getsid(0))
        return tuple(row for row in members if row.state != "Z" or row.pid in self._leaders)

    def _members(self, table: dict[int, Process]) -> list[Process]:
        children: dict[int, list[Process]] = {}
        for row in table.values():
            children.setdefault(row.parent, []).append(row)
        foreign = self._foreign()
        queue = [row for row in table.values() if self._is_root(row)]
        members: dict[int, Process] = {}
        while queue:
            row = queue.pop()
            if row.pid in members or row.pid in foreign:
                continue
            members[row.pid] = row
            queue.extend(children.get(row.pid, ()))
        for row in members.values():
            if row.state == "Z" and row.parent == os.getpid() and row.pid not in self._leaders:
                reap(row.pid)
        return list(members.values())

    def _is_root(self, row: Process) -> bool:
        if row.pid in self._known:
            return self._known[row.pid] in (row.start, 0)
        if row.session in self._sessions or row.group in self._sessions:
            return True
        # An orphan that came to us in a session that we have not seen: all our own helpers share our session or are foreign.
        is_orphan = row.parent == os.getpid() and row.session != os.getsid(0)
        return LINUX and self._claims_orphans and is_orphan and row.pid not in self._before

    def signal(self, number: signal.Signals) -> tuple[Process, ...]:
        """Stop the commands, send a signal to every member; return who was alive."""
        self._stop_commands()
        members = self.alive()
        for row in members:
            send(row, number)
        return members

    def kill_all(self, attempts: int = 50) -> bool:
        """SIGKILL until nobody is left, also against a loop that respawns; True when all are gone."""
        self._stop_commands()
        for attempt in range(attempts):
            members = self.alive()
            if not [row for row in members if row.state != "Z"]:
                return True
            # A stopped parent cannot start another child between the look and the kill. Only for who outran two kills:
            # if we died here, what is stopped would stay so.
            for row in members if attempt > 1 else ():
                send(row, signal.SIGSTOP)
            for row in self.alive():
                send(row, signal.SIGKILL)
            self._wait_for_deaths()
        return False

    def _wait_for_deaths(self) -> None:
        for pid in list(self._known):
            if pid not in self._leaders:
                reap(pid)


def send(row: Process, number: signal.Signals) -> None:
    """Signal a process only if the pid is still the one that was seen."""
    if LINUX:
        try:
            descriptor = os.pidfd_open(row.pid)
        except OSError:
            return
        try:
            now = read_process(row.pid)
            if now is not None and now.start == row.start:
                signal.pidfd_send_signal(descriptor, number)
        except OSError:
            return
        finally:
            os.close(descriptor)
    else:
        try:
            os.kill(row.pid, number)
        except OSError:
            return


def reap(pid: int) -> int | None:
    """Collect an orphan that ended; its wait status, or None while it lives or was never ours."""
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except OSError:
        return None
    return status if done == pid else None
