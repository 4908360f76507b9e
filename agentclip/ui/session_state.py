"""What the screen knows of the session: events in, items and runs out. Knows no widget, so replaying 10,000 events is cheap."""

from __future__ import annotations

from enum import StrEnum

from agentclip.events import (
    Advised,
    AssistantReplied,
    CallAnswered,
    CommandFinished,
    CommandStarted,
    Event,
    Notice,
    OutputGrew,
    ReasoningDelta,
    ResultsMasked,
    RetryWaiting,
    SessionStarted,
    Severity,
    SnapshotTaken,
    StageFinished,
    StageProgress,
    StageStarted,
    TextDelta,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageFolded,
)
from agentclip.ui.format import plural
from agentclip.ui.runs import Run
from agentclip.ui.transcript_items import AssistantItem, Item, NoticeItem, RunItem, TextItem, UserItem

_RunEvent = CommandStarted | CommandFinished | StageStarted | StageProgress | StageFinished | OutputGrew


class Phase(StrEnum):
    """What goes on, in the word of the status line."""

    IDLE = "idle"
    THINKING = "thinking"
    WRITING = "writing"
    RUNNING = "running"
    WAITING = "waiting"
    """The provider asked to wait."""


class SessionState:
    """Grows with events. `take_changed` tells what to draw again."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.runs: dict[int, Run] = {}
        self.phase = Phase.IDLE
        self.phase_since_s = 0.0
        self.wait_s = 0.0
        """Seconds the provider asked to wait, in phase WAITING."""
        self.prompts: list[str] = []
        """What the person sent, for the prompt's history."""
        self.cwd = ""
        self.context_tokens: int | None = None
        """Size of the last request, or what it became by shortening; None while nobody told."""
        self.earlier = 0
        """How many items were put before the first one."""
        self.whole = True
        """Nothing happened before the first item."""
        self._in_turn = False
        self._live: AssistantItem | None = None
        self._rows: dict[int, RunItem] = {}
        self._newest = 0
        """The highest number of a run."""
        self._orphans: list[_RunEvent] = []
        """Of runs that began before the first item."""
        self._changed: set[Item] = set()

    @property
    def numbers(self) -> list[int]:
        """Numbers of the runs, oldest first."""
        return sorted(self.runs)

    @property
    def newest(self) -> Run | None:
        """The run that panes follow."""
        return self.runs[self._newest] if self.runs else None

    def row(self, number: int) -> RunItem:
        """The item of a run."""
        return self._rows[number]

    def take_changed(self) -> set[Item]:
        """Items that look different since the last call; new ones are simply at the end of `items`."""
        changed, self._changed = self._changed, set()
        return changed

    def say(self, text: str, severity: Severity = Severity.INFO) -> None:
        """A line of the screen itself."""
        self._add(NoticeItem(text=text, severity=severity))

    def tell(self, text: str) -> None:
        """A longer text of the screen itself."""
        self._add(TextItem(text=text))

    def touch(self, item: Item) -> None:
        """The person changed how an item is shown."""
        self._change(item)

    def tick(self, now_s: float) -> None:
        """The clock moved: the row of a living run shows it."""
        run = self.newest
        if run is not None and run.finished is None:
            self._update(run.number, now_s)

    def put_before(self, earlier: SessionState) -> None:
        """What happened before everything that is here. The other one must not be used any more."""
        for event in self._orphans:
            earlier.apply(event, 0.0)
        self._orphans = earlier._orphans
        if self.items and earlier.items and (lead := self.items[0].leads_after(earlier.items[-1])) != self.items[0].lead:
            self.items[0].lead = lead
            self._change(self.items[0])
        self.items[:0] = earlier.items
        self.prompts[:0] = earlier.prompts
        self.earlier += len(earlier.items)
        self._newest = max(self._newest, earlier._newest)
        self.runs.update(earlier.runs)
        self._rows.update(earlier._rows)
        self.cwd = self.cwd or earlier.cwd
        if self.context_tokens is None:
            self.context_tokens = earlier.context_tokens

    def apply(self, event: Event, now_s: float) -> None:
        """Take one event."""
        match event:
            case TextDelta() | ReasoningDelta() | AssistantReplied() | RetryWaiting():
                self._reply(event, now_s)
            case CommandStarted() | CommandFinished() | StageStarted() | StageProgress() | StageFinished() | OutputGrew():
                self._run(event, now_s)
            case TurnStarted() | UserMessageFolded() | TurnFinished():
                self._turn(event, now_s)
            case Advised():
                self.say(event.reason, Severity.WARNING)
            case CallAnswered():
                self.say(f"call not run: {event.reason}", Severity.WARNING)
            case Notice():
                self.say(event.text, event.severity)
            case SnapshotTaken() | ResultsMasked():
                self._shortened(event)
            case SessionStarted():
                self.cwd = event.cwd

    def _shortened(self, event: SnapshotTaken | ResultsMasked) -> None:
        self.context_tokens = event.tokens_after
        # Of a snapshot the agent tells by a notice, since it knows how it came about.
        if isinstance(event, ResultsMasked):
            sizes = f"{event.tokens_before:,} -> {plural(event.tokens_after, 'token')}"
            self.say(f"old results are sent shortened from now on: {sizes}")

    def _turn(self, event: TurnStarted | UserMessageFolded | TurnFinished, now_s: float) -> None:
        if isinstance(event, TurnFinished):
            self._in_turn = False
            self._settle_live(partial=True)
            self._enter(Phase.IDLE, now_s)
            self._say_end(event)
            return
        if isinstance(event, TurnStarted):
            self._in_turn = True
            self._enter(Phase.THINKING, now_s)
        self._add(UserItem(text=event.message.text))
        self.prompts.append(event.message.text)

    def _say_end(self, event: TurnFinished) -> None:
        if event.reason is TurnEnd.ANSWERED and not event.text:
            return
        failed = event.reason is TurnEnd.FAILED
        words = event.text or event.reason.value
        self.say(words if not failed or words else "failed", Severity.ERROR if failed else Severity.WARNING)

    def _reply(self, event: TextDelta | ReasoningDelta | AssistantReplied | RetryWaiting, now_s: float) -> None:
        match event:
            case TextDelta():
                self._enter(Phase.WRITING, now_s)
                self._streaming().text += event.text
            case ReasoningDelta():
                self._streaming().reasoning += event.text
            case AssistantReplied():
                message = event.message
                if event.usage is not None:
                    self.context_tokens = event.usage.input_tokens
                if message.text or message.reasoning or self._live is not None:
                    live = self._streaming()
                    live.text, live.reasoning, live.partial = message.text, message.reasoning, event.partial
                self._settle_live(partial=False)
                if self._in_turn:
                    self._enter(Phase.THINKING, now_s)
            case RetryWaiting():
                if self._live is not None:
                    self._live.text = self._live.reasoning = ""
                self.say(f"{event.reason}; trying again in {event.seconds:.0f}s (attempt {event.attempt})", Severity.WARNING)
                self.wait_s = event.seconds
                self._enter(Phase.WAITING, now_s)

    def _streaming(self) -> AssistantItem:
        if self._live is None:
            self._live = AssistantItem(live=True)
            self._add(self._live)
        self._change(self._live)
        return self._live

    def _settle_live(self, *, partial: bool) -> None:
        if self._live is not None:
            self._live.live = False
            self._live.partial = self._live.partial or (partial and bool(self._live.text))
            self._change(self._live)
            self._live = None

    def _run(self, event: _RunEvent, now_s: float) -> None:
        if isinstance(event, CommandStarted):
            self._settle_live(partial=False)
            run = self.runs[event.number] = Run.begin(event, now_s)
            self._newest = max(self._newest, event.number)
            row = RunItem(run=run, now_s=now_s)
            self._rows[event.number] = row
            self._add(row)
            self._enter(Phase.RUNNING, now_s)
            return
        found = self.runs.get(event.number)
        if found is None:
            self._orphans.append(event)
            return
        match event:
            case StageStarted() | StageProgress() | StageFinished():
                found.stage(event)
            case OutputGrew():
                found.grew(event)
            case CommandFinished():
                found.finish(event)
                self._enter(Phase.THINKING if self._in_turn else Phase.IDLE, now_s)
        self._update(event.number, now_s)

    def _update(self, number: int, now_s: float) -> None:
        row = self._rows[number]
        row.now_s = now_s
        self._change(row)

    def _enter(self, phase: Phase, now_s: float) -> None:
        if phase is not self.phase:
            self.phase, self.phase_since_s = phase, now_s

    def _add(self, item: Item) -> None:
        item.lead = item.leads_after(self.items[-1] if self.items else None)
        self.items.append(item)

    def _change(self, item: Item) -> None:
        item.changed()
        self._changed.add(item)
