"""Ends a job early: does what `triage.core.jobs.cancel.decide` says, and writes every step down before it is taken."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, assert_never

from triage.core.jobs.attempt import Attempt, Succession, succession
from triage.core.jobs.cancel import Abandon, Act, Cause, Fresh, Refuse, Situation, Stage, Step, Wait, decide
from triage.core.jobs.dependents import harmed_by_cancel
from triage.core.jobs.identity import JobId
from triage.core.values import dataclass
from triage.errors import SchedulerError, StoreError
from triage.files.handshake import Marked, is_of, marked_attempts, request_end
from triage.schedulers.interface import Details
from triage.store.actions import Action, actions_of, intend, reach
from triage.store.jobs import KnownJob, is_held
from triage.watch.ending import leave_record, leave_word
from triage.watch.events import Event
from triage.watch.fresh import look
from triage.watch.lease import Lease
from triage.watch.options import Options
from triage.watch.world import World

_MOST_STEPS = 20
_SOON = 1.0
_LATER = 10.0
"""Seconds until the scheduler is asked again, after an act and before one."""
_PAUSE = 60.0
"""Seconds after an attempt to end a job that was abandoned, before the next one."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a job is to end early."""

    cause: Cause
    why: str
    attempt: Attempt
    evidence: Mapping[str, Any]
    brake: str | None = None
    planned_end: float | None = None


@dataclass(slots=True)
class EarlyEnd:
    """The early end of one job, if there is one."""

    world: World
    job: KnownJob
    options: Options
    lease: Lease
    action: Action | None = None
    _fresh: Fresh | None = None
    _harmed: tuple[str, ...] | None = None
    _rows: int = 1
    _told: set[str] = field(default_factory=set)
    _again: float = 0.0
    """Not before this time, after an attempt that was abandoned."""
    _next: float = 0.0
    """Not before this time, because there was nothing to do."""
    _details: Details | None = field(default=None)
    _left_over: bool = False
    """The action is another watcher's, which has sent nothing yet."""

    def resume(self) -> None:
        """The action that another watcher, or this one before it was killed, has begun or brought to its end."""
        actions = actions_of(self.world.database, self.job.number)
        begun = [action for action in actions if not action.dry and action.stage is not Stage.ABANDONED]
        self.action = begun[-1] if begun else None
        self._left_over = self._is_unsent

    @property
    def is_under_way(self) -> bool:
        return self.action is not None and not self.action.stage.is_over

    @property
    def was_sent(self) -> bool:
        return self.action is not None and self.action.stage in (Stage.ASKED, Stage.SENT, Stage.DONE)

    @property
    def _is_unsent(self) -> bool:
        return self.action is not None and self.action.stage in (Stage.INTENDED, Stage.FENCED)

    def step(
        self, now: float, details: Details, reason: Reason | None, again: Callable[[], Reason | Wait | None]
    ) -> list[Event]:
        """Goes as far as it can be gone now: begins with `reason`, and before each further step asks `again` for it."""
        self._details = details
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
            decision = self._decide(now, reason if self.action is None else again())
            if isinstance(decision, Wait | Refuse):
                events += self._say(decision)
                self._next = now + (_SOON if self.action is not None else _LATER)
                break
            if isinstance(decision, Abandon):
                events += self._abandon(decision, now)
                break
            more, go_on = self._do(decision, now, reason)
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
        told = self._abandon(Abandon("the watcher that meant it was interrupted", self._is_fenced), now)
        if self.action is None:
            self._left_over, self._again, self._next = False, now, now
        self.lease.give_back()
        return told

    def leave(self, now: float) -> list[Event]:
        """Nobody watches any more: what was meant and not sent is undone."""
        if not self._is_unsent or self._left_over or not self.lease.is_mine(now, sure=True):
            return []
        return self._abandon(Abandon("its watcher was stopped", self._is_fenced), now)

    @property
    def _is_fenced(self) -> bool:
        return self.action is not None and self.action.stage is Stage.FENCED

    def close(self, now: float, details: Details, ended: float | None) -> list[Event]:
        """The job is gone, by this end or by itself."""
        self._details = details
        if self._left_over:
            self.resume()
        if self.action is None or self.action.stage.is_over:
            return []
        if not self.was_sent:
            self._reach(Stage.ABANDONED, now, why=f"{self.action.why}; it ended by itself before")
            return [self._event("action", "ended by itself before it was ended early", stage="abandoned")]
        return self._finish(now, ended)

    @property
    def signal(self) -> str | None:
        """The signal that its script was sent."""
        return self._signal(self.action.attempt) if self.action is not None else None

    def _finish(self, now: float, ended: float | None) -> list[Event]:
        """The job is gone after an act: only now it counts as saved."""
        assert self.action is not None
        self._reach(Stage.DONE, now, ended=ended if ended is not None else now)
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
            own=self._details.uid in (None, self.world.uid), held=is_held(database, self.job.number, *self._names()),
            stopped=database.stopped, leader=self.lease.is_mine(now, sure=True), rows=self._rows,
            whole_array=options.whole_array, harmed=self._harmed, break_dependents=options.break_dependents,
            graceful=self._signal(attempt) is not None, brake=reason.brake if reason is not None else None,
            holds=None if isinstance(found, Wait) else holds, allowed=action is None or options.ends_for(cause),
        ))  # fmt: skip

    def _names(self) -> list[JobId]:
        """The ids that the job may be held by: as it is watched, its raw number, and its array."""
        assert self._details is not None
        job, details = self.job.job, self._details
        others = [details.raw, details.array if job.task is None else None]
        return [job, *(JobId(one, cluster=job.cluster) for one in others if one is not None)]

    def _look_around(self, now: float) -> bool:
        """Dependents and rows of the id; False where the scheduler does not answer. Nobody is asked within the grace."""
        assert self._details is not None
        job, scheduler, action = self.job.job, self.world.scheduler, self.action
        intended = action is not None and action.stage is Stage.INTENDED
        if (
            action is not None
            and intended
            and 0 <= now - action.since < self.options.wait_before(action.cause)
        ):
            self._harmed = ()
            return True
        try:
            waiting = scheduler.waiting(job.cluster)
            is_array = self._details.array is not None and job.task is None
            parts = (
                [one for one in scheduler.status([job]) if one != job and one.number == job.number]
                if is_array
                else []
            )
        except SchedulerError:
            return False
        self._harmed = None if waiting is None else harmed_by_cancel(job, self._details.raw, waiting)
        self._rows = max(1, len(parts))
        return True

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
        dry = self.options.dry_run
        verb = "would be ended early" if dry else "is to end early"
        if dry and any(
            one.attempt == reason.attempt and one.dry
            for one in actions_of(self.world.database, self.job.number)
        ):
            return [], False
        try:
            if not dry:
                self._clear(now)
            action = intend(
                self.world.database, self.job.number, reason.attempt, reason.cause, now, reason.why, reason.evidence,
                dry=dry, gpus=self._details.gpus, planned_end=reason.planned_end,
            )  # fmt: skip
        except StoreError as error:
            return [
                self._event("store", f"is not ended early, because that cannot be written down: {error}")
            ], False
        self.action = None if dry else action
        if action.stage is not Stage.INTENDED:
            self._left_over = self._is_unsent
            return [], False
        data = {"stage": action.stage.value, "cause": reason.cause.value}
        told = [self._event("action", f"{verb}: {reason.why}", **data)]
        return told + self._write_record(action), not dry

    def _clear(self, now: float) -> None:
        """An intent that an interrupted watcher left is not this one's: its grace began with other evidence."""
        for left in actions_of(self.world.database, self.job.number):
            if left.stage is Stage.INTENDED and not left.dry:
                reach(
                    self.world.database,
                    left,
                    Stage.ABANDONED,
                    now,
                    why=f"{left.why}; its watcher was interrupted",
                )

    def _fence(self, now: float) -> tuple[list[Event], bool]:
        """Requeueing off: a requeue between the check and the act would let it hit the next attempt."""
        assert self.action is not None
        assert self._fresh is not None
        if self.action.stage is Stage.INTENDED:
            self._reach(Stage.FENCED, now, requeue=bool(self._fresh.requeue))
        self._fresh = None
        try:
            self.world.scheduler.set_requeue(self.job.job, False)
        except SchedulerError as error:
            return [self._event("action", f"is not touched: Slurm did not take the fence against a requeue ({error})"),
                    *self._abandon(Abandon("the fence could not be set", restore=True), now)], False  # fmt: skip
        return [], True

    def _ask_script(self, now: float) -> tuple[list[Event], bool]:
        assert self.action is not None
        signal = self._signal(self.action.attempt)
        marked = self._marked(self.action.attempt)
        assert signal is not None
        try:
            if marked is not None:
                request_end(marked, self.action.why)
            self._reach(Stage.ASKED, now)
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
        self._reach(Stage.SENT, now)
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
        told = [self._event("action", f"is not ended early: {abandon.why}", stage="abandoned")]
        assert self.action is not None
        if abandon.restore and self.action.requeue:
            try:
                self.world.scheduler.set_requeue(self.job.job, True)
            except SchedulerError as error:
                return [*told, self._event("action", f"may not be requeued until `scontrol update JobId={self.job.job.local} Requeue=1` is run: {error}")]  # fmt: skip
        self._reach(Stage.ABANDONED, now, why=f"{self.action.why}; {abandon.why}")
        self.action, self._again = None, now + _PAUSE
        return told

    def _reach(self, stage: Stage, now: float, **more: Any) -> None:
        assert self.action is not None
        self.action = reach(self.world.database, self.action, stage, now, **more)
        self._write_record(self.action)

    def _write_record(self, action: Action) -> list[Event]:
        """Beside the logs too; where that folder cannot be written the store has it."""
        problem = leave_record(self.job.job, self.job.uid, self._details, None, action)
        return [self._event("note", problem)] if problem is not None else []

    def _marked(self, attempt: Attempt) -> Marked | None:
        details = self._details
        if details is None or not details.output:
            return None
        raw = details.raw if details.raw is not None else details.job.number
        found = marked_attempts(details.output, raw)
        return next((one for one in found if is_of(one, attempt, self.world.clock)), None)

    def _signal(self, attempt: Attempt) -> str | None:
        """On which the script ends itself: as its marker says, or as the user does."""
        marked = self._marked(attempt)
        return marked.started.signal if marked is not None and marked.started.signal else self.options.signal

    def _say(self, decision: Wait | Refuse) -> list[Event]:
        """Each reason once."""
        after = self.action is not None and self.action.stage in (Stage.ASKED, Stage.SENT)
        if after or decision.why in self._told:
            return []
        self._told.add(decision.why)
        if isinstance(decision, Wait):
            return [self._event("note", f"is to end early, and waits: {decision.why}")]
        return [self._event("refused", f"is not ended early: {decision.why}")]

    def _event(self, kind: str, message: str, **data: Any) -> Event:
        return Event(self.world.clock(), kind, str(self.job.job), message, data)
