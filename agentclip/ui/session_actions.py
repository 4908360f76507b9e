"""Which session the screen shows and which model answers in it: lists to choose from, and going there."""

from __future__ import annotations

import asyncio
import contextlib

from agentclip import history
from agentclip.errors import AgentclipError
from agentclip.events import Severity
from agentclip.ui.screen_app import ScreenApp

NO_OTHERS = "there are no other sessions here"


class SessionActions(ScreenApp):
    """Choices about the session as a whole."""

    def on_mount(self) -> None:
        """Begin with the list when that was asked for."""
        if self.options.pick_session:
            self.call_after_refresh(self.action_sessions)

    def action_sessions(self) -> None:
        """F5."""
        from agentclip.ui.session_picker import SessionPicker  # noqa: PLC0415  registered deferred import

        make_shelf = self.options.sessions
        if make_shelf is None:
            self.say(NO_OTHERS)
        else:
            self.push_screen(SessionPicker(make_shelf, self.agent.session_id, self.keymap), self._to_session)

    def action_resume(self, identifier: str = "") -> None:
        """A session by the beginning of its id, or the list."""
        if identifier and self.options.sessions is not None:
            self._to_session(identifier)
        else:
            self.action_sessions()

    def action_new_session(self) -> None:
        """The one that is left is saved as it is."""
        self._leave_for(None)

    def _to_session(self, identifier: str | None) -> None:
        if identifier is not None and identifier != self.agent.session_id:
            self.run_worker(self._check_and_go(identifier), group="sessions", exclusive=True)

    async def _check_and_go(self, identifier: str) -> None:
        assert self.options.sessions is not None
        try:
            shelf = await asyncio.to_thread(self.options.sessions)
            found = await asyncio.to_thread(shelf.check, identifier)
        except (AgentclipError, OSError) as error:
            self.state.say(str(error), Severity.ERROR)
            self.plan_frame()
            return
        if found != self.agent.session_id:
            self._leave_for(found)

    def _leave_for(self, identifier: str | None) -> None:
        from agentclip.ui.picker import Confirm  # noqa: PLC0415  registered deferred import

        go_to = self.options.go_to
        if go_to is None:
            self.say(NO_OTHERS)
            return

        def leave(yes: bool | None) -> None:  # noqa: FBT001  the signature is Textual's
            if yes:
                self._keep_draft()
                go_to(identifier)
                self.end(0)

        if self.agent.running or self.agent.queue:
            self.push_screen(Confirm("Something still runs or waits here. Leaving cancels it. Leave?"), leave)
        else:
            leave(True)  # noqa: FBT003  as after the question

    def _keep_draft(self) -> None:
        """Up brings back, in the next session, what stands in the prompt of this one."""
        text = self.board.prompt.whole()
        if text.strip():
            with contextlib.suppress(OSError):  # a disk that is full costs the draft, not the way
                history.remember(history.history_file(), text)

    def action_model(self, name: str = "") -> None:
        """F7, or a name that was typed."""
        from agentclip.ui.model_picker import ModelPicker  # noqa: PLC0415  registered deferred import

        make_shelf = self.options.models
        if make_shelf is None:
            self.say("there are no other models here")
        elif name:
            self._use_model(name)
        else:
            self.push_screen(ModelPicker(make_shelf, self.agent.model_name), self._use_model)

    def _use_model(self, name: str | None) -> None:
        if name is not None and name != self.agent.model_name:
            self.run_worker(self._switch_model(name), group="model")

    async def _switch_model(self, name: str) -> None:
        assert self.options.models is not None
        if self.agent.running:
            self.state.say(f"{name} answers as soon as this turn is over")
            self.plan_frame()
        try:
            shelf = await asyncio.to_thread(self.options.models)
            await shelf.use(name)
        except AgentclipError as error:
            self.state.say(str(error), Severity.ERROR)
        self.plan_frame()
