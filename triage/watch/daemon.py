"""Watches all jobs that the store says are watched, and those of the user that match; the store outlives it."""

from __future__ import annotations

import fnmatch
import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import field

from triage.core.jobs.identity import JobId, parse_job
from triage.core.values import dataclass
from triage.errors import SchedulerError, StoreError
from triage.store import daemons
from triage.store.jobs import (
    KnownJob,
    NewJob,
    Note,
    all_jobs,
    find_job,
    is_same,
    note_states,
    remember,
    set_watched,
)
from triage.watch.events import Event
from triage.watch.loop import Loop
from triage.watch.options import Options, options_of
from triage.watch.snapshot import Snapshot, snapshot
from triage.watch.watcher import Watcher
from triage.watch.world import World

_LOOK_EVERY = 2.0
_FIND_EVERY = 30.0
_BEAT_EVERY = 30.0
_WRITE_EVERY = 5.0
_SHOW_EVERY = 30.0
"""Seconds between two snapshots that nobody asked for: they tell that the daemon turns."""
_TELL_EVERY = 600.0
"""Seconds between two words about a store that fails."""
_LONGEST_REST = 2.0
_PATIENCE = 2.0
"""Seconds that somebody who asks waits for a new snapshot."""


@dataclass(slots=True)
class Daemon:
    """Runs until `stop` is called."""

    loop: Loop
    world: World
    options: Options
    """For jobs that it finds by itself."""
    all_mine: bool = False
    pattern: str | None = None
    """Names of the jobs that it finds by itself."""
    alive: Callable[[], None] = lambda: None
    """Called on every turn."""
    address: str | None = None
    latest: Snapshot = field(default_factory=lambda: Snapshot(0.0, {}))
    ended: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    _stopped: bool = False
    _due: dict[str, float] = field(default_factory=dict)
    _started: float = 0.0
    _changes: int | None = None
    """Of the store, when the watched jobs were taken from it."""
    _notes: dict[JobId, Note] = field(default_factory=dict)
    """Not written down yet."""
    _asked: threading.Event = field(default_factory=threading.Event)
    _shown: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        self._started = self.world.clock()
        while not self._stopped:
            self.loop.rest(min(self.turn(), _LONGEST_REST))
        self.leave()

    def stop(self) -> None:
        """From a signal: the turn that is under way is finished."""
        self._stopped = True
        self.loop.waker.wake()

    def turn(self) -> float:
        """Everything that is due; seconds until something is due again."""
        now = self.world.clock()
        try:
            if self._is_due("look", _LOOK_EVERY, now):
                self._take_up()
            if (self.all_mine or self.pattern is not None) and self._is_due("find", _FIND_EVERY, now):
                self._find(now)
            if self._is_due("beat", _BEAT_EVERY, now):
                world = self.world
                beat = daemons.Daemon(world.holder, world.host, os.getpid(), self._started, now, self.address)
                daemons.beat(world.database, beat)
            if self._is_due("write", _WRITE_EVERY, now):
                self._write()
        except StoreError as error:
            if self._is_due("told", _TELL_EVERY, now):
                self._tell("store", f"the store cannot be used for now: {error}")
        asking = self.loop.poller.is_asking
        rest = self.loop.turn()
        self.rounds += asking and not self.loop.poller.is_asking
        self._drop()
        if self._asked.is_set() or not 0 <= now - self.latest.at < _SHOW_EVERY:
            self._asked.clear()
            self.latest = self.snapshot()
            self._shown.set()
        self.alive()
        return rest if self.loop.watchers else _LONGEST_REST

    def snapshot(self) -> Snapshot:
        """As it is now."""
        return snapshot(self.loop.watchers.values(), self.world.clock(), self.rounds, self.ended)

    def ask(self) -> Snapshot:
        """From another thread: as it is now; as it was, if the daemon is busy for too long."""
        self._shown.clear()
        self._asked.set()
        self.loop.waker.wake()
        self._shown.wait(_PATIENCE)
        return self.latest

    def leave(self) -> None:
        """The jobs go on, and stay in the store for the next daemon."""
        for watcher in self.loop.watchers.values():
            watcher.leave()
        try:
            self._write()
            daemons.leave(self.world.database, self.world.holder)
        except StoreError as error:
            self._tell("store", str(error))

    def tell(self, event: Event) -> None:
        """Keeps the last word about each job for the store, which gets those of all jobs at once."""
        job = parse_job(event.job)
        if job is not None:
            state = event.data.get("state")
            before = self._notes.get(job)
            known = state if isinstance(state, str) else before.state if before is not None else None
            self._notes[job] = Note(event.at, event.message, known)

    def _write(self) -> None:
        if self._notes:
            note_states(self.world.database, self._notes)
            self._notes.clear()

    def _take_up(self) -> None:
        """Jobs that were added, also by other processes; and those that were forgotten."""
        changes = self.world.database.changes
        if changes == self._changes:
            return
        own = (None, self.world.scheduler.name)
        watched = all_jobs(self.world.database, watched=True)
        known = {job.job: job for job in watched if job.scheduler in own}
        for job, row in known.items():
            if job not in self.loop.watchers:
                self.loop.add(Watcher(self.world, job, options_of(row.options), "daemon"))
        for job in [
            job for job in self.loop.watchers if job not in known and not self.loop.watchers[job].is_over
        ]:
            self.loop.watchers[job].leave()
            self.loop.drop(job)
        self._changes = changes

    def _find(self, now: float) -> None:
        """The user's own jobs in the queue, by name where a pattern is given."""
        world = self.world
        try:
            mine = world.scheduler.mine()
            for job in mine:
                known = find_job(world.database, job)
                if known is not None and known.watched:
                    continue
                own, again = (known.options, None) if known is not None else ({}, None)
                if known is not None and known.ended is not None:
                    own, again = {}, self._submitted_again(job, known.ended)
                    if again is None:
                        continue
                elif known is not None and own and not self._is_same(known):
                    own = {}
                if self._matches(job):
                    options = {**self.options.as_json(), **own}
                    new = NewJob(
                        job, "daemon", now, submitted=again, options=options, scheduler=world.scheduler.name
                    )
                    set_watched(world.database, remember(world.database, new), True)
                    self._changes = None
        except SchedulerError as error:
            self._tell("scheduler", f"your jobs cannot be listed for now: {error}")

    def _submitted_again(self, job: JobId, ended: float) -> float | None:
        """The queue lists a job for a while after its end; only one submitted since then is another, or runs again."""
        details = self.world.scheduler.details(job)
        submitted = details.sighting.submitted if details is not None else None
        return submitted if submitted is not None and submitted > ended else None

    def _is_same(self, known: KnownJob) -> bool:
        """How to watch a job is not taken from one that had its id before."""
        details = self.world.scheduler.details(known.job)
        if details is None:
            return False
        sighting = details.sighting
        return is_same(known, self.world.scheduler.name, details.uid, sighting.submitted, sighting.restarts)

    def _matches(self, job: JobId) -> bool:
        if self.pattern is None:
            return True
        details = self.world.scheduler.details(job)
        return details is not None and fnmatch.fnmatchcase(details.name, self.pattern)

    def _drop(self) -> None:
        """Jobs that have ended are in the store."""
        for job, watcher in list(self.loop.watchers.items()):
            if watcher.ending is not None:
                self.ended[watcher.ending.outcome] += 1
                self.loop.drop(job)

    def _is_due(self, what: str, every: float, now: float) -> bool:
        if 0 < self._due.get(what, 0.0) - now <= every:
            return False
        self._due[what] = now + every
        return True

    def _tell(self, kind: str, message: str) -> None:
        self.world.tell(Event(self.world.clock(), kind, "-", message))
