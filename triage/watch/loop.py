"""Many watched jobs in one loop: one question to the scheduler for all, logs and results at their own pace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial

from triage.core.jobs.cancel import Cause, Stage
from triage.core.jobs.identity import JobId
from triage.core.jobs.pace import LONGEST, interval
from triage.core.values import dataclass
from triage.errors import StoreError
from triage.files.waker import Waker
from triage.store.actions import actions_of
from triage.watch.agenda import Agenda
from triage.watch.events import Event
from triage.watch.poller import Answer, Answers, Poller
from triage.watch.reasons import Site
from triage.watch.rest import LOOK_EVERY
from triage.watch.watcher import Watcher
from triage.watch.world import World

_SITE_EVERY = 5.0
_LONGEST_TURN = 1.0
"""Seconds after which the jobs that are due still have to wait for the next turn: answers and signals come first."""
_ACTED = (Stage.ASKED, Stage.SENT, Stage.DONE)


@dataclass(slots=True)
class Loop:
    """Runs until every job has ended, or for ever where somebody may add jobs."""

    world: World
    poller: Poller
    waker: Waker
    watchers: dict[JobId, Watcher] = field(default_factory=dict)
    wait: Callable[[float], None] | None = None
    """Instead of the waker's, for tests."""
    _next_poll: float = 0.0
    _failures: int = 0
    _cost: float = 0.0
    _told: set[JobId] = field(default_factory=set)
    """Jobs of which it was told that the store fails."""
    _agenda: Agenda = field(default_factory=Agenda)
    _now: float = float("-inf")
    _site: tuple[float, Site] = (float("-inf"), Site())

    def add(self, watcher: Watcher) -> None:
        self.watchers[watcher.job] = watcher
        self._agenda.put(watcher.job, float("-inf"))
        self._next_poll = 0.0

    def drop(self, job: JobId) -> None:
        """It is watched no more."""
        del self.watchers[job]
        self._agenda.drop(job)

    def run(self) -> None:
        """Until every job has ended."""
        while any(not watcher.is_over for watcher in self.watchers.values()):
            self.rest(self.turn())

    def rest(self, seconds: float) -> None:
        (self.wait or self.waker.wait)(seconds)

    def turn(self) -> float:
        """Everything that is due now; seconds until something is due again."""
        now = self.world.clock()
        if now < self._now:
            self._agenda.all_at(now)
        self._now = now
        answers = self.poller.take()
        if answers is not None:
            self.take(answers, now)
        active = [watcher for watcher in self.watchers.values() if not watcher.is_over]
        if not active:
            return 0.0
        if changed := self.waker.changed():
            for watcher in active:
                if watcher.results is not None and not changed.isdisjoint(watcher.results.places):
                    self._agenda.put(watcher.job, now)
        if not self.poller.is_asking and not 0 < self._next_poll - now <= LONGEST:
            self.poller.start({watcher.job: watcher.question() for watcher in active}, self.waker.wake)
        for job in self._agenda.take(now):
            if self.world.clock() - now > _LONGEST_TURN:
                self._agenda.put(job, now)
            else:
                self._tick(self.watchers[job], now)
        due = [self._agenda.next(), None if self.poller.is_asking else self._next_poll]
        later = min((at for at in due if at is not None), default=now + LOOK_EVERY)
        return max(0.0, later - self.world.clock())

    def take(self, answers: Answers, now: float) -> None:
        """What the scheduler said about all jobs."""
        silent = all(not answer.status.answered for answer in answers.jobs.values())
        self._failures = self._failures + 1 if silent else 0
        self._cost = 0.0 if silent else answers.cost
        for job, answer in answers.jobs.items():
            if job in self.watchers:
                self._see(self.watchers[job], answer, now)
        self._next_poll = now + self._interval(now)

    def _see(self, watcher: Watcher, answer: Answer, now: float) -> None:
        """A job with news is looked at at once; the others when they are due."""
        before = watcher.life
        try:
            watcher.see(answer, now)
        except StoreError as error:
            self._fails(watcher.job, error)
        if watcher.life.changed != before.changed or watcher.life.phase is not before.phase:
            self._agenda.put(watcher.job, now)
        if watcher.results is not None:
            self.waker.watch(watcher.results.places)

    def _interval(self, now: float) -> float:
        paces = [watcher.pace(now) for watcher in self.watchers.values() if not watcher.is_over]
        chance = self.world.chance()
        each = (interval(replace(pace, failures=self._failures, cost=self._cost), chance) for pace in paces)
        return min(each, default=LONGEST)

    def _tick(self, watcher: Watcher, now: float) -> None:
        if watcher.is_over:
            return
        again, told_end = now + LOOK_EVERY, watcher.told_end
        try:
            again = watcher.tick(now, self._about(now), partial(self._count, watcher))
            self._told.discard(watcher.job)
        except StoreError as error:
            self._fails(watcher.job, error)
        self._agenda.put(watcher.job, again)
        if watcher.told_end != told_end:
            self._next_poll = min(self._next_poll, now + self._interval(now))

    def _fails(self, job: JobId, error: StoreError) -> None:
        """A store that fails is told once; watching goes on, and nothing is ended without it."""
        if job not in self._told:
            self._told.add(job)
            self.world.tell(Event(self.world.clock(), "store", str(job), f"cannot be written down: {error}"))

    def _about(self, now: float) -> Site:
        """How many jobs stall, and what was cancelled of late."""
        at, site = self._site
        if 0 <= now - at < _SITE_EVERY:
            return site
        self._site = (now, self._count())
        return self._site[1]

    def _count(self, beside: Watcher | None = None) -> Site:
        """Now; the cancel of the job itself is not one of the others'."""
        own = beside.known.number if beside is not None and beside.known is not None else None
        now = self.world.clock()
        active = [watcher for watcher in self.watchers.values() if not watcher.is_over]
        recent: list[float] = []
        if any(watcher.options.on_fail or watcher.options.cancel_hung for watcher in active):
            try:
                recent = [
                    now - action.since for action in actions_of(self.world.database)
                    if action.cause is not Cause.ARTIFACT and not action.dry and action.stage in _ACTED and action.job != own
                ]  # fmt: skip
            except StoreError:
                recent = [0.0, 0.0]
        return Site(len(active), sum(watcher.stalls() for watcher in active), tuple(recent))
