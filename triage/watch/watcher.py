"""One watched job: what its scheduler and its logs tell becomes events, and in the end one verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from triage.core.cause.verdict import Verdict
from triage.core.events.model import Progress
from triage.core.jobs.brakes import Quiet
from triage.core.jobs.cancel import Wait
from triage.core.jobs.identity import JobId
from triage.core.jobs.life import Happening, Life, follow
from triage.core.jobs.pace import Pace
from triage.core.jobs.state import Phase, State
from triage.core.values import dataclass
from triage.errors import StoreError, UsageError
from triage.files.joblogs import log_paths
from triage.schedulers.interface import Details
from triage.store.actions import Action
from triage.store.jobs import KnownJob, NewJob, end_job, find_job, get_job, is_same, remember
from triage.watch.early import EarlyEnd
from triage.watch.ending import EXIT_CODES, Ending, ended_at, ending_of, leave_record
from triage.watch.events import Event
from triage.watch.grounds import Grounds
from triage.watch.lease import Lease
from triage.watch.logs import JobLogs
from triage.watch.options import Options, options_of
from triage.watch.poller import Answer, Question
from triage.watch.reasons import Reason, Site, planned_end, time_left
from triage.watch.rest import CLOSE_LOOK, Rest
from triage.watch.results import Open, Proven, Results
from triage.watch.script import may_requeue_on_signal
from triage.watch.telling import told_of
from triage.watch.words import (
    outcome_words,
    progress_words,
    verdict_words,
)
from triage.watch.world import World

_PROGRESS_EVERY = 300.0
_DRAINED = 5.0
"""Seconds without a new byte after which a log of an ended job is taken to be whole, with `--drain`."""
_THERE = "there"


@dataclass(slots=True)
class Watcher:
    """Follows one job from its first sight to its verdict."""

    world: World
    job: JobId
    options: Options
    origin: str = "watch"
    life: Life = field(default_factory=Life)
    known: KnownJob | None = None
    details: Details | None = None
    logs: JobLogs | None = None
    results: Results | None = None
    early: EarlyEnd | None = None
    lease: Lease | None = None
    grounds: Grounds = field(init=False)
    verdict: Verdict | None = None
    """The latest."""
    open: Open | None = None
    """Why its results do not end it yet."""
    ending: Ending | None = None
    """How it ended."""
    _told_progress: Progress | None = None
    _told_progress_at: float = 0.0
    told_end: float = float("-inf")
    """When its logs told a failure or an end that they had not told before: the scheduler will soon know it too."""
    _told_failure: str = ""
    _told_stall: bool = False
    _rest: Rest = field(default_factory=Rest)
    _draining: float | None = None
    """Since when the ended job's logs have been silent."""

    def __post_init__(self) -> None:
        self.grounds = Grounds(self.world, self.options)

    @property
    def quiet(self) -> Quiet:
        return self.grounds.quiet

    @property
    def is_over(self) -> bool:
        return self.ending is not None

    @property
    def nodes(self) -> str | None:
        """squeue is not asked for them; scontrol told them when the attempt began."""
        status = self.life.status
        told = status.nodes if status is not None else None
        return told or (self.details.sighting.nodes if self.details is not None else None)

    def question(self) -> Question:
        return Question(self.life, self.known.submitted if self.known is not None else None)

    def pace(self, now: float) -> Pace:
        end = self.details.sighting.ended if self.details is not None else None
        left = end - now if end is not None and self.life.phase is Phase.ACTIVE else None
        acting = self.life.phase is Phase.ENDING or (self.early is not None and self.early.is_under_way)
        missing = self.life.missing is not None
        return Pace(max(0.0, now - max(self.life.changed, self.told_end)), left, 0, 0.0, acting or missing)

    def see(self, answer: Answer, now: float) -> None:
        """Takes what the scheduler said."""
        if self.is_over:
            return
        before = self.life
        after, news = follow(before, answer.status, now)
        if answer.details is not None and Happening.REUSED not in news:
            self._learn(answer.details, now)
        self.life = after
        if news:
            self._rest.end()
        for happening in news:
            self._happened(happening, before, answer, now)
        if self.life.over is not None:
            if self.options.drain and self.logs is not None:
                self._draining = now
            else:
                self._conclude(now, ended_at(self.life, answer.status, now))

    def tick(self, now: float, site: Site, site_now: Callable[[], Site]) -> float:
        """Looks at logs and results, and acts; returns when it wants to look again. `site_now` counts anew."""
        again = self._rest.next_look(now, self.logs, site.watched)
        if self._draining is not None and not self.is_over and self.logs is not None:
            if self.logs.look(now) or self.logs.grew:
                self._draining = now
            if not 0 <= now - self._draining < _DRAINED:
                self._conclude(now, ended_at(self.life, None, now))
            return again
        if self.is_over or self.logs is None:
            return again
        if self.life.phase in (Phase.WAITING, Phase.UNKNOWN):
            if self._acts:
                self._act(now, site, site_now)
            return again
        if self._rest.holds(now, self.logs):
            return again
        found = self._look(now)
        self._act(now, site, site_now)
        self._rest.begin(now, 0.0 if found is not None else self._patience(), self.logs, self.results)
        return again if found is None else min(again, found)

    def _patience(self) -> float:
        """Seconds in which time alone brings no news: none where an end is near or begun, or silence is long already."""
        ends = (
            self.grounds.proven
            or self.grounds.failed
            or self.options.min_age
            or self.life.phase is not Phase.ACTIVE
        )
        if ends or self._acts:
            return 0.0
        limit = self.options.stall_after
        return CLOSE_LOOK * (1 + self.world.chance()) / 2 if limit is None else limit - self.quiet.seconds

    def _look(self, now: float) -> float | None:
        """At logs and results; returns when a second look at the results is due."""
        assert self.logs is not None
        alive = self.logs.look(now)
        self._tell_logs(now)
        running = self.life.status is not None and self.life.status.reading.is_running
        self.grounds.looked(now, self.details, alive=alive, running=running, acts=self._acts)
        self.stalls()
        return self._look_at_results(now)

    def leave(self) -> None:
        """Stops watching; the job is left alone."""
        try:
            for event in self.early.leave(self.world.clock()) if self.early is not None else ():
                self.world.tell(event)
        except StoreError as error:
            self._event("store", f"has an action that cannot be taken back: {error}")
        if self.lease is not None and self.lease.held:
            self.lease.give_back()
        if self.known is not None and not self.is_over:
            self._event("note", "is left alone: nobody watches it now")

    def _learn(self, details: Details, now: float) -> None:
        """scontrol tells where the logs lie, whose job it is, and what it may use."""
        self.details = details
        first = details.sighting.submitted if not details.sighting.restarts else None
        self._as_submitted(details)
        number = remember(self.world.database, NewJob(
            self.job, self.origin, now, details.uid, first, details.name, details.folder, details.script, details.output,
            details.error, scheduler=self.world.scheduler.name,
        ))  # fmt: skip
        if self.known is None or self.known.number != number:
            self.known = get_job(self.world.database, number)
            self.lease = Lease(self.world, number)
            self.early = EarlyEnd(self.world, self.known, self.options, self.lease)
            self.early.resume()
            if self.options.signal is not None and may_requeue_on_signal(details.script):
                self._event("note", f"has a script that names `scontrol requeue` or `--signal=`: {self.options.signal} may requeue it instead of ending it")  # fmt: skip
        if self.logs is None:
            raw = details.raw if details.raw is not None else self.job.number
            ids = list(dict.fromkeys((self.job.local, str(raw))))
            paths = log_paths(details.output, details.error, ids, self.options.logs)
            began, world = min(now, details.sighting.started or now), self.world
            self.logs = JobLogs(self.job.local, paths, details.output, world.analysis, began, world.folders)

    def _as_submitted(self, details: Details) -> None:
        """A result that the job's submit named is waited for, unless one is named now; no other watcher's ever is."""
        known = find_job(self.world.database, self.job) if self.known is None else None
        if known is None or not known.asked or self.options.artifacts:
            return
        sighting = details.sighting
        if is_same(known, self.world.scheduler.name, details.uid, sighting.submitted, sighting.restarts):
            self.options = self.grounds.options = replace(
                self.options, artifacts=options_of(known.asked).artifacts
            )

    def _happened(self, happening: Happening, before: Life, answer: Answer, now: float) -> None:
        if happening is Happening.REQUEUED:
            self._requeued(before)
        elif happening is Happening.STARTED:
            self._started(now)
        told = told_of(happening, self.life, self.details, answer.status, now)
        if told is not None:
            kind, message, data = told
            self._event(kind, message, **data)

    def _requeued(self, before: Life) -> None:
        """The next attempt may truncate the logs of this one: their ends are kept now."""
        number = before.attempt.restarts if before.attempt is not None else self.life.requeues - 1
        kept: list[str] = []
        if self.logs is not None:
            self.logs.drain()
            try:
                kept = self.logs.keep_tails(number)
            except OSError as error:
                self._event("note", f"has logs whose ends could not be kept: {error.strerror}")
        self._event("requeued", f"was requeued: attempt {number} is over, and it will start again", kept=kept)
        self.results, self.open = None, None
        self.grounds.over()

    def _started(self, now: float) -> None:
        attempt = self.life.attempt
        assert attempt is not None
        if self.details is not None and self.options.artifacts:
            try:
                self.results = Results(self.options, self.details, attempt, self.world.clock)
            except UsageError as error:
                self._event("note", f"can have no such result: {error}")
        if attempt.restarts:
            self._event("attempt", f"runs its attempt {attempt.restarts}", restarts=attempt.restarts)
            if self.logs is not None:
                self.logs.new_attempt(attempt.restarts)
        self.grounds.begin(now)
        self._told_stall = False

    def _tell_logs(self, now: float) -> None:
        assert self.logs is not None
        sent = self.early is not None and self.early.was_sent
        there = self.life.phase in (Phase.ACTIVE, Phase.ENDING)
        verdict = self.logs.early_verdict(now) if there and not sent else None
        if verdict is not None:
            if verdict.ended and (self.verdict is None or not self.verdict.ended):
                self.told_end = now
            self.verdict = verdict
            self.grounds.judged(verdict)
            if verdict.failed and verdict.summary != self._told_failure:
                self._told_failure, self.told_end = verdict.summary, now
                self._event("failure", f"has failed: {verdict_words(verdict)}", verdict=verdict.to_json())
        progress = self.logs.progress
        news = progress is not None and progress is not self._told_progress
        if progress is not None and news and not 0 <= now - self._told_progress_at < _PROGRESS_EVERY:
            self._told_progress, self._told_progress_at = progress, now
            left = time_left(self.logs.curve)
            self._event("progress", progress_words(progress, left), iteration=progress.iteration, total=progress.total, left=left)  # fmt: skip

    def _look_at_results(self, now: float) -> float | None:
        if self.results is None or self.logs is None:
            return None
        found, due = self.results.look(now, self.logs.progress)
        if isinstance(found, Open):
            self.open = found
            if found.tell and self.results.is_news(found.about or found.why):
                self._event("artifact", found.why)
            elif not found.tell and _THERE in self.results.told and self.results.is_news("again"):
                self._event("artifact", f"waits for its result to be whole again: {found.why}")
        elif isinstance(found, Proven):
            self.open = Open("")
            if self.results.is_news(_THERE):
                self._event("artifact", f"has its result: {found.result.path} ({found.because})", path=found.result.path, sha256=found.result.digest)  # fmt: skip
        self.grounds.proven = found if isinstance(found, Proven) else None
        return due

    def _act(self, now: float, site: Site, site_now: Callable[[], Site]) -> None:
        """Where there is a reason to end it, or an end that was begun."""
        early, status = self.early, self.life.status
        if early is None or self.details is None or self.life.attempt is None or status is None:
            return
        reason = None
        if not early.is_under_way and self.options.cancel and status.state is State.RUNNING:
            reason = self._reason(now, site)
        if reason is not None or early.is_under_way:
            for event in early.step(now, self.details, reason, lambda: self._reason_again(site_now)):
                self.world.tell(event)

    def _reason_again(self, site_now: Callable[[], Site]) -> Reason | Wait | None:
        """The reason, from all that can be seen now: a job that works again has none any more."""
        now = self.world.clock()
        due = self._look(now)
        if self.life.status is None or self.life.status.state is not State.RUNNING:
            return None
        reason = self._reason(now, site_now())
        return Wait("its result is looked at a second time") if reason is None and due is not None else reason

    def stalls(self) -> bool:
        """Its logs have been silent for too long, which is told."""
        stalled, seconds = self.grounds.stalls, self.grounds.quiet.seconds
        if stalled and not self._told_stall:
            self._event("stall", f"has shown no progress for {seconds:.0f} s", seconds=seconds)
        self._told_stall = stalled
        return stalled

    def _reason(self, now: float, site: Site) -> Reason | None:
        life, details = self.life, self.details
        assert life.attempt is not None
        assert life.status is not None
        assert details is not None
        end = planned_end(self.logs, details, now)
        return self.grounds.reason(
            now, life.attempt, life.status.state, details, self.verdict, end, site, acts=self._acts
        )

    @property
    def _acts(self) -> bool:
        return self.early is not None and self.early.is_under_way

    def _conclude(self, now: float, at: float) -> None:
        """One verdict, in the store, beside the logs, and told; the job ended `at` that time."""
        if self.life.over is Happening.ENDED and self.logs is not None:
            self.logs.drain()
        action = None
        if self.early is not None and self.details is not None:
            ended = self.life.status.ended if self.life.status is not None else None
            for event in self.early.close(now, self.details, ended):
                self.world.tell(event)
            action = self.early.action
        logs = (
            self.logs.verdict() if self.logs is not None and self.life.over is not Happening.REUSED else None
        )
        self.ending = ending_of(
            self.job, self.life, logs, action, self.early.signal if self.early is not None else None
        )
        self.verdict = self.ending.verdict
        if self.results is not None and self.results.lack is not None:
            self._event("note", self.results.lack)
        self.known = self.known or find_job(self.world.database, self.job)
        if self.known is not None:
            self._write_down(at, action)
        data = {"outcome": self.ending.outcome, "verdict": self.verdict.to_json()}
        self._event("verdict", outcome_words(self.ending.outcome, self.verdict, self.job), **data)
        if self.lease is not None and self.lease.held:
            self.lease.give_back()

    def _write_down(self, at: float, action: Action | None) -> None:
        assert self.known is not None
        assert self.ending is not None
        outcome, verdict = self.ending.outcome, self.ending.verdict
        try:
            end_job(
                self.world.database, self.known.number, at, outcome, EXIT_CODES[outcome], verdict.to_json()
            )
        except StoreError as error:
            self._event("store", f"has a verdict that cannot be written down: {error}")
        if self.life.over is Happening.ENDED:
            problem = leave_record(self.job, self.known.uid, self.details, self.ending.status, action)
            if problem is not None:
                self._event("note", problem)

    def _event(self, kind: str, message: str, **data: Any) -> None:
        self.world.tell(Event(self.world.clock(), kind, str(self.job), message, data))
