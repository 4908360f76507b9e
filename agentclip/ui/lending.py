"""An editor, a pager or the shell has the terminal for a while: one at a time, and the screen takes it back whatever happens.

In: what is to run. Out: its exit status. Must not know: which editor, which pager.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence

from typing_extensions import override

from agentclip.ui.screen_app import ScreenApp
from agentclip.ui.terminal import TerminalDriver, shell_waits

LENDING = "lending"
"""The group of workers that lend the terminal."""


class LendingApp(ScreenApp):
    """A screen whose terminal other programs may have."""

    def begin_lending(self, work: Callable[[], Awaitable[None]]) -> None:
        """Work that calls `lend_terminal`. While there is another one, nothing: the key was meant for that program."""
        if not any(worker.group == LENDING and not worker.is_finished for worker in self.workers):
            self.run_worker(work(), group=LENDING, exit_on_error=True)

    @override
    def action_suspend_process(self) -> None:
        """Ctrl+Z: all of our process group stops, as when the terminal sends it; commands go on."""
        if shell_waits():
            os.killpg(0, signal.SIGTSTP)
        else:
            self.say("no shell started this: there would be no way back")

    async def lend_terminal(self, argv: Sequence[str]) -> int:
        """Another program has the terminal until it ends; its exit status. Only in `begin_lending`. Raises OSError."""
        failed: OSError | None = None
        status = 0
        with self.batch_update(), self.suspend():  # nothing raised in here: the terminal would not be taken back
            self._signals.lent = True
            try:
                status = await _run_to_its_end(argv)
            except OSError as error:
                failed = error
            finally:
                self._signals.lent = False
                if isinstance(self._driver, TerminalDriver):
                    self._driver.settle()
        if failed is not None:
            raise failed
        return status


async def _run_to_its_end(argv: Sequence[str]) -> int:
    process = await asyncio.create_subprocess_exec(*argv)
    try:
        return await process.wait()
    finally:
        if process.returncode is None:  # the screen ends
            process.terminate()
