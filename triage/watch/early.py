"""Ends a job early: does what `triage.core.jobs.cancel.decide` says, and writes every step down before it is taken."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import field
from typing import Any, assert_never

from triage.core.jobs.attempt import Attempt, Succession, succession
from triage.core.jobs.cancel import Abandon, Act, Fresh, Refuse, Situation, Stage, Step, Wait, decide
from triage.core.values import dataclass
from triage.errors import SchedulerError, StoreError
from triage.files.handshake import Marked, request_end
from triage.schedulers.interface import Details
from triage.store.actions import Action
from triage.store.jobs import KnownJob, is_held
from triage.watch.around import Around, look_around, names_of
from triage.watch.decision import Decision
from triage.watch.ending import leave_word
from triage.watch.events import Event
from triage.watch.fresh import look
from triage.watch.graceful import marker_of, signal_of
from triage.watch.lease import Lease
from triage.watch.options import Options
from triage.watch.reasons import Reason
from triage.watch.world import World

_MOST_STEPS = 20
_SOON = 1.0
_LATER = 10.0
"""Seconds until the scheduler is asked again, after an act and before one."""
_PAUSE = 60.0
"""Seconds after an attempt to end a job that was abandoned, before the next one."""


@dataclass(slots=True)
class EarlyEnd:
    """The early end of one job, if there is one."""

    world: World
    job: KnownJob
    options: Options
    lease: Lease
    decision: Decision = field(init=False)
    _fresh: Fresh | None = None
    _around: Around = field(default_factory=Around)
    _told: set[str] = field(default_factory=set)
    _tried: set[str] = field(default_factory=set)
    """What was told about the action at hand and may come again."""
    _again: float = 0.0
    """Not before this time, after an attempt that was abandoned."""
    _next: float = 0.0
    """Not before this time, because there was nothing to do."""
    _details: Details | None = field(default=None)
    _left_over: bool = False
    """The action is another watcher's, which has sent nothing yet."""

    def __post_init__(self) -> None:
        self.decision = Decision(self.world, self.job)

    def resume(self) -> None:
        """With what was begun by whomever; what was not sent yet is left over."""
        self.decision.load()
        self._left_over = self.decision.is_unsent

    @property
    def action(self) -> Action | None:
        return self.decision.action

    @property
    def is_under_way(self) -> bool:
        return self.decision.is_under_way

    @property
    def was_sent(self) -> bool:
        return self.decision.was_sent

    def step(
        self, now: float, details: Details, reason: Reason | None, again: Callable[[], Reason | Wait | None]
    ) -> list[Event]:
        """Goes as far as it can be gone now: begins with `reason`, and before each further step asks `again` for it."""
        self._details = details
        if self.decision.is_forgotten:
            return self._let_go()
        if self.action is not None and self.action.stage.is_over:
            return []
        if self.action is None and (reason is None or now < self._again):
            return []
        if 0 < self._next - now <= _LATER:
            return []
        if self._left_over:
            return self._recover(now)
        events: list[Event] = []
        self._fresh = None
        if not self._look_around(now):
            return events
        for _ in range(_MOST_STEPS):
            decided = self._decide(now, reason if self.action is None else again())
            if isinstance(decided, Wait | Refuse):
                events += self._say(decided)
                if isinstance(decided, Refuse):
                    self.lease.give_back()
                self._next = now + (_SOON if self.action is not None else _LATER)
                break
            if isinstance(decided, Abandon):
                events += self._abandon(decided, now)
                break
            more, go_on = self._do(decided, now, reason)
            events += more
            if not go_on:
                break
        return events

    def _recover(self, now: float) -> list[Event]:
        """What an interrupted watcher meant is undone: this one has to prove the reason itself, and grants the grace anew."""
        self._next = now + _LATER
        if not self.lease.is_mine(now, sure=True):
            return []
        self.resume()
        if not self._left_over:
            return []
        assert self.action is not None
        told = self._abandon(
            Abandon("the watcher that meant it was interrupted", self.decision.is_fenced), now
        )
        if self.action is None:
            self._left_over, self._again, self._next = False, now, now
        self.lease.give_back()
        return told

    def leave(self, now: float) -> list[Event]:
        """Nobody watches any more: what was meant and not sent is undone."""
        if self.decision.is_forgotten:
            return self._let_go()
        if not self.decision.is_unsent or self._left_over or not self.lease.is_mine(now, sure=True):
            return []
        return self._abandon(Abandon("its watcher was stopped", self.decision.is_fenced), now)

    def close(self, now: float, details: Details, ended: float | None) -> list[Event]:
        """The job is gone, by this end or by itself."""
        self._details = details
        if self.action is None or self._left_over:
            self.resume()
        if self.action is None or self.action.stage.is_over:
            return []
        if not self.was_sent:
            if not self._reach(Stage.ABANDONED, now, why=f"{self.action.why}; it ended by itself before"):
                return []
            return [self._event("action", "ended by itself before it was ended early", stage="abandoned")]
        return self._finish(now, ended)

    @property
    def signal(self) -> str | None:
        """The signal that its script was sent."""
        return self._signal(self.action.attempt) if self.action is not None else None

    def _let_go(self) -> list[Event]:
        """Without a store nothing is done to it, now or later."""
        assert self.action is not None
        if self.decision.is_fenced and self.action.requeue:
            with contextlib.suppress(SchedulerError):
                self.world.scheduler.set_requeue(self.job.job, True)
        self.decision.action, self._again = None, math.inf
        return [self._event("action", "is not ended early: it was forgotten", stage="abandoned")]

    def _finish(self, now: float, ended: float | None) -> list[Event]:
        """The job is gone after an act: only now it counts as saved."""
        assert self.action is not None
        if not self._reach(Stage.DONE, now, ended=ended if ended is not None else now):
            return []
        assert self._details is not None
        leave_word(self.job.job, self._details, self.action.why, now)
        saved = self.action.saved
        hours = f", about {saved:.1f} GPU-hours before it would have ended" if saved else ""
        return [self._event("action", f"is gone, its nodes are free{hours}", saved=saved)]

    def _comment(self) -> None:
        """With the job, for `scontrol show job`; it is no harm if Slurm does not take it."""
        assert self.action is not None
        with contextlib.suppress(SchedulerError):
            self.world.scheduler.comment(self.job.job, f"triage ended it early: {self.action.why}")

    def _decide(self, now: float, found: Reason | Wait | None) -> Step:
        action, options = self.action, self.options
        reason = found if isinstance(found, Reason) else None
        meant = action if action is not None else reason
        assert meant is not None
        assert self._details is not None
        cause, attempt = meant.cause, meant.attempt
        holds = (
            reason is not None
            and reason.cause is cause
            and succession(attempt, reason.attempt) is Succession.SAME
        )
        database = self.world.database
        return decide(Situation(
            cause, action.stage if action is not None else Stage.NONE, attempt, now,
            action.since if action is not None else now, self._fresh, options.wait_before(cause),
            own=self._details.uid in (None, self.world.uid), held=is_held(database, self.job.number, *names_of(self.job.job, self._details)),
            stopped=database.stopped, leader=self.lease.is_mine(self.world.clock(), sure=True), rows=self._around.rows,
            whole_array=options.whole_array, harmed=self._around.harmed, break_dependents=options.break_dependents,
            graceful=self._signal(attempt) is not None, brake=reason.brake if reason is not None else None,
            holds=None if isinstance(found, Wait) else holds, allowed=action is None or options.ends_for(cause),
        ))  # fmt: skip

    def _look_around(self, now: float) -> bool:
        """False where the scheduler does not answer. Nobody is asked within the grace."""
        assert self._details is not None
        action = self.action
        intended = action is not None and action.stage is Stage.INTENDED
        if (
            action is not None
            and intended
            and 0 <= now - action.since < self.options.wait_before(action.cause)
        ):
            self._around = Around(rows=self._around.rows)
            return True
        around = look_around(self.world.scheduler, self.job.job, self._details)
        self._around = around if around is not None else self._around
        return around is not None

    def _do(self, act: Act, now: float, reason: Reason | None) -> tuple[list[Event], bool]:
        """One step; whether the next one can follow at once."""
        match act:
            case Act.STORE:
                assert reason is not None
                return self._store(now, reason)
            case Act.LOOK:
                self._fresh = look(self.world, self.job.job, sent=self.was_sent)
                return [], self._fresh is not None
            case Act.FENCE:
                return self._fence(now)
            case Act.ASK:
                return self._ask_script(now)
            case Act.CANCEL:
                return self._cancel(now)
            case Act.FINISH:
                return self._finish(now, None), False
        assert_never(act)

    def _store(self, now: float, reason: Reason) -> tuple[list[Event], bool]:
        """The evidence and the intent, in the store and beside the logs; without them nothing is done."""
        assert self._details is not None
        dry, gpus = self.options.dry_run, self._details.gpus
        try:
            make = self.decision.pretend if dry else self.decision.make
            action = make(now, reason, gpus)
        except StoreError as error:
            return [
                self._event("store", f"is not ended early, because that cannot be written down: {error}")
            ], False
        if action is None or action.stage is not Stage.INTENDED:
            self._left_over = self.decision.is_unsent
            return [], False
        verb = "would be ended early" if dry else "is to end early"
        told = self._event(
            "action", f"{verb}: {reason.why}", stage=action.stage.value, cause=reason.cause.value
        )
        problem = self.decision.record(action, self._details)
        return [told, *([self._event("note", problem)] if problem is not None else [])], not dry

    def _fence(self, now: float) -> tuple[list[Event], bool]:
        """Requeueing off: a requeue between the check and the act would let it hit the next attempt."""
        assert self.action is not None
        assert self._fresh is not None
        first = self.action.stage is Stage.INTENDED
        if first and not self._reach(Stage.FENCED, now, requeue=bool(self._fresh.requeue)):
            return [], False
        self._fresh = None
        try:
            self.world.scheduler.set_requeue(self.job.job, False)
        except SchedulerError as error:
            told = self._once(f"is not touched: Slurm did not take the fence against a requeue ({error})")
            if error.transient:
                self._next = now + _SOON
                return told, False
            return told + self._abandon(Abandon("the fence could not be set", restore=True), now), False
        return [], True

    def _ask_script(self, now: float) -> tuple[list[Event], bool]:
        assert self.action is not None
        signal = self._signal(self.action.attempt)
        marked = self._marked(self.action.attempt)
        assert signal is not None
        try:
            if not self._reach(Stage.ASKED, now):
                return [], False
            if marked is not None:
                request_end(marked, self.action.why)
            self._fresh = None
            self.world.scheduler.signal(self.job.job, signal)
        except (SchedulerError, OSError) as error:
            return [
                self._event("action", f"was sent {signal}; whether it arrived is not known ({error})")
            ], False
        return [
            self._event("action", f"was asked to end itself ({signal} to its script)", stage="asked")
        ], False

    def _cancel(self, now: float) -> tuple[list[Event], bool]:
        if not self._reach(Stage.SENT, now):
            return [], False
        self._fresh = None
        try:
            self.world.scheduler.cancel(self.job.job)
        except SchedulerError as error:
            return [
                self._event("action", f"was sent scancel; its outcome is not known ({error})", stage="sent")
            ], False
        sent = self._event("action", "was sent scancel", stage="sent")
        self._comment()
        return [sent], False

    def _abandon(self, abandon: Abandon, now: float) -> list[Event]:
        """A fence that cannot be taken back now stays written down: it is tried again, by this watcher or the next."""
        assert self.action is not None
        told = self._once(f"is not ended early: {abandon.why}", stage="abandoned")
        if abandon.restore and self.action.requeue:
            try:
                self.world.scheduler.set_requeue(self.job.job, True)
            except SchedulerError as error:
                by_hand = f"scontrol update JobId={self.job.job.local} Requeue=1"
                told += self._once(f"may not be requeued yet: `{by_hand}` is tried again until Slurm takes it ({error})")  # fmt: skip
                self._next = now + _LATER
                return told
        if self._reach(Stage.ABANDONED, now, why=f"{self.action.why}; {abandon.why}"):
            self.decision.action, self._again = None, now + _PAUSE
            self._tried.clear()
        return told

    def _reach(self, stage: Stage, now: float, **more: Any) -> bool:
        """Whether the step is written down, and so may be taken."""
        reached = self.decision.reach(stage, now, self._details, **more)
        if not reached:
            self._left_over, self._next = self.decision.is_unsent, now + _SOON
        return reached

    def _marked(self, attempt: Attempt) -> Marked | None:
        details = self._details
        return marker_of(self.job.job, details, attempt, self.world.clock) if details is not None else None

    def _signal(self, attempt: Attempt) -> str | None:
        return signal_of(self._marked(attempt), self.options)

    def _say(self, refusal: Wait | Refuse) -> list[Event]:
        """Each reason once."""
        after = self.action is not None and self.action.stage in (Stage.ASKED, Stage.SENT)
        if after or refusal.why in self._told:
            return []
        self._told.add(refusal.why)
        if isinstance(refusal, Wait):
            return [self._event("note", f"is to end early, and waits: {refusal.why}")]
        return [self._event("refused", f"is not ended early: {refusal.why}")]

    def _once(self, message: str, **data: Any) -> list[Event]:
        """For each action."""
        new = message not in self._tried
        self._tried.add(message)
        return [self._event("action", message, **data)] if new else []

    def _event(self, kind: str, message: str, **data: Any) -> Event:
        return Event(self.world.clock(), kind, str(self.job.job), message, data)
