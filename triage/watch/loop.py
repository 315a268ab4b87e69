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
from triage.watch.events import Event
from triage.watch.poller import Answers, Poller
from triage.watch.reasons import Site
from triage.watch.watcher import LOOK_EVERY, Watcher
from triage.watch.world import World

_SITE_EVERY = 5.0
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
    _ticks: dict[JobId, float] = field(default_factory=dict)
    _site: tuple[float, Site] = (float("-inf"), Site())

    def add(self, watcher: Watcher) -> None:
        self.watchers[watcher.job] = watcher
        self._next_poll = 0.0

    def run(self) -> None:
        """Until every job has ended."""
        while any(not watcher.is_over for watcher in self.watchers.values()):
            self.rest(self.turn())

    def rest(self, seconds: float) -> None:
        (self.wait or self.waker.wait)(seconds)

    def turn(self) -> float:
        """Everything that is due now; seconds until something is due again."""
        now = self.world.clock()
        changed = self.waker.changed()
        answers = self.poller.take()
        if answers is not None:
            self.take(answers, now)
        active = [watcher for watcher in self.watchers.values() if not watcher.is_over]
        if not active:
            return 0.0
        if not self.poller.is_asking and not 0 < self._next_poll - now <= LONGEST:
            self.poller.start({watcher.job: watcher.question() for watcher in active}, self.waker.wake)
        due = [self._tick(watcher, now, changed) for watcher in active]
        later = min([*due, self._next_poll if not self.poller.is_asking else due[0]])
        return max(0.0, later - self.world.clock())

    def take(self, answers: Answers, now: float) -> None:
        """What the scheduler said about all jobs."""
        silent = all(not answer.status.answered for answer in answers.jobs.values())
        self._failures = self._failures + 1 if silent else 0
        self._cost = 0.0 if silent else answers.cost
        for job, answer in answers.jobs.items():
            if job in self.watchers:
                watcher = self.watchers[job]
                self._safely(watcher, partial(watcher.see, answer, now))
                self._ticks.pop(job, None)
                if watcher.results is not None:
                    self.waker.watch(watcher.results.folders)
        self._next_poll = now + self._interval(now)

    def _interval(self, now: float) -> float:
        paces = [watcher.pace(now) for watcher in self.watchers.values() if not watcher.is_over]
        chance = self.world.chance()
        each = (interval(replace(pace, failures=self._failures, cost=self._cost), chance) for pace in paces)
        return min(each, default=LONGEST)

    def _tick(self, watcher: Watcher, now: float, changed: frozenset[str]) -> float:
        due = self._ticks.get(watcher.job)
        woken = changed and watcher.results is not None and not changed.isdisjoint(watcher.results.folders)
        if due is not None and 0 < due - now <= LONGEST and not woken:
            return due
        self._ticks[watcher.job] = now + LOOK_EVERY
        self._safely(
            watcher,
            lambda: self._ticks.update(
                {watcher.job: watcher.tick(now, self._about(now), partial(self._count, watcher))}
            ),
        )
        return self._ticks[watcher.job]

    def _safely(self, watcher: Watcher, do: Callable[[], None]) -> None:
        """A store that fails is told once; watching goes on, and nothing is ended without it."""
        try:
            do()
            self._told.discard(watcher.job)
        except StoreError as error:
            if watcher.job not in self._told:
                self._told.add(watcher.job)
                self.world.tell(
                    Event(self.world.clock(), "store", str(watcher.job), f"cannot be written down: {error}")
                )

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
