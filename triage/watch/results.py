"""The results of a job: whether all that `--artifact` names are there, whole, and this attempt's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import field, replace

from triage.core.events.model import Progress
from triage.core.jobs.artifact import Complete, Kind, NotYet, Target
from triage.core.jobs.attempt import Attempt
from triage.core.jobs.expression import fields_of
from triage.core.jobs.ownership import Claim, Foreign, Own, owner
from triage.core.values import dataclass
from triage.files.artifacts import TRACKER, Observer, expand
from triage.files.canary import Canary, sing
from triage.files.handshake import is_of, marked_attempts, marker_above
from triage.files.marks import Mark
from triage.schedulers.interface import Details
from triage.watch.options import Options

_CLOCK_HOLDS = 60.0
"""Seconds for which a measured clock is believed."""


@dataclass(frozen=True, slots=True)
class Proven:
    """Every result is there."""

    result: Complete
    """The one that came last."""
    because: str
    """Why it is this attempt's."""
    attempt: Attempt
    all: tuple[Complete, ...] = ()


@dataclass(frozen=True, slots=True)
class Open:
    """Not all results are there, or not all are proven."""

    why: str
    """A phrase that follows the job."""
    tell: bool = False
    """Something is there and does not count: worth a line."""
    about: str = ""
    """What is told once, where the phrase itself changes from look to look."""


@dataclass(slots=True)
class Results:
    """The results of one attempt."""

    options: Options
    details: Details
    attempt: Attempt
    clock: Callable[[], float]
    _observer: Observer = field(init=False)
    _singular: frozenset[Target] = field(init=False)
    """Those whose path no other task of the array has."""
    missing: tuple[str, ...] = ()
    """Fields that the condition needs and the latest result lacks."""
    fields: tuple[str, ...] = ()
    """Those that it has."""
    told: set[str] = field(default_factory=set)
    """What was told about them."""
    _clocks: dict[str, tuple[float, Canary | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        targets = expanded(self.options.targets, self.details, self.attempt.restarts)
        self._observer = Observer(targets)
        self._singular = frozenset(
            target for asked, target in zip(self.options.targets, targets, strict=True)
            if "{array_task_id}" in asked.path
            or ("{job_id}" in asked.path and self.details.raw not in (None, self.details.job.number))
        )  # fmt: skip

    @property
    def places(self) -> list[str]:
        """Paths at which an event would tell of a new result."""
        return [
            os.path.join(target.path, TRACKER) if target.kind is Kind.CHECKPOINT else target.path
            for target in self._observer.targets
        ]

    def marks(self) -> tuple[dict[str, Mark], dict[str, Mark]] | None:
        """What local results and others show as long as nobody writes them; `None` where that is not enough to know."""
        return self._observer.marks() if self.options.artifacts else ({}, {})

    def is_news(self, what: str) -> bool:
        """Once for each attempt: a result that is rewritten all the time is no news each time."""
        new = what not in self.told
        self.told.add(what)
        return new

    @property
    def lack(self) -> str | None:
        """That the condition is over fields that never came: most likely they are spelled differently."""
        if not self.missing:
            return None
        there = ", ".join(self.fields) or "none"
        return f"ended without {', '.join(self.missing)} in its result, which --when needs; its fields were: {there}"

    def look(self, now: float, progress: Progress | None) -> tuple[Proven | Open | None, float | None]:
        """What there is, and when a second look is due; `None` without `--artifact`."""
        if not self.options.artifacts:
            return None, None
        found, due = self._observer.step(now)
        proven: list[tuple[Complete, str]] = []
        for target, seen in found.items():
            answer = self._of_target(target, seen, now, progress)
            if isinstance(answer, Open):
                return answer, due
            proven.append(answer)
        last = max(proven, key=lambda pair: pair[0].written)
        return Proven(*last, self.attempt, tuple(result for result, _ in proven)), due

    def _of_target(
        self, target: Target, seen: Sequence[Complete | NotYet], now: float, progress: Progress | None
    ) -> tuple[Complete, str] | Open:
        """One match that counts is enough; of several that do not, the one that came furthest is told."""
        reasons: list[Open] = []
        for one in seen:
            answer = (
                Open(f"{one.path} {one.reason}", False)
                if isinstance(one, NotYet)
                else self._counts(target, one, now, progress)
            )
            if not isinstance(answer, Open):
                return answer
            reasons.append(answer)
        return next(
            (reason for reason in reasons if reason.tell),
            reasons[0] if reasons else Open(f"{target} is not there yet"),
        )

    def _counts(
        self, target: Target, result: Complete, now: float, progress: Progress | None
    ) -> tuple[Complete, str] | Open:
        resolved = os.path.realpath(result.path)
        claim = self._claim(result, resolved, target)
        whose = owner(result, resolved, claim)
        if not isinstance(whose, Foreign):
            claim = self._with_clock(claim, os.path.dirname(result.path), now)
            whose = owner(result, resolved, claim)
        if isinstance(whose, Foreign):
            return Open(f"has a result at {result.path} that does not count: {whose.because}", True)
        if not isinstance(whose, Own):
            return Open(
                f"has a result at {result.path} that may be its own, but nothing proves it: {whose.because}",
                True,
            )
        if self.options.min_age > 0:
            here = self._with_clock(claim, os.path.dirname(result.path), now).now or now
            if here - result.written < self.options.min_age:
                return Open(f"{result.path} is younger than --min-age", False)
        condition = self.options.condition
        if condition is not None:
            answer = condition.holds(result.value)
            self.missing, self.fields = answer.missing, fields_of(result.value)
            if answer.holds is not True:
                lack = f": it lacks {', '.join(answer.missing)}" if answer.missing else ""
                return Open(f"{result.path} does not fulfil --when yet{lack}", bool(answer.missing))
        elif not self.options.any and _still_trains(progress):
            assert progress is not None
            return Open(
                f"has a complete result at {result.path}, but its logs show iteration {progress.iteration} of"
                f" {progress.total}: it waits (give --when, or --any to end it all the same)", True, "still trains",
            )  # fmt: skip
        return result, whose.because

    def _with_clock(self, claim: Claim, folder: str, now: float) -> Claim:
        """With the time of the result's file system, which is measured rarely: each measure writes a file there."""
        if folder not in self._clocks or not 0 <= now - self._clocks[folder][0] < _CLOCK_HOLDS:
            self._clocks[folder] = (now, sing(folder, self.clock))
        at, canary = self._clocks[folder]
        return claim if canary is None else replace(claim, now=canary.now + (now - at), skew=canary.skew)

    def _claim(self, result: Complete, resolved: str, target: Target) -> Claim:
        """All that tells whose a result at this path is."""
        details = self.details
        raw, job = details.raw if details.raw is not None else details.job.number, details.job
        marked = marked_attempts(details.output, raw) if details.output else ()
        own = next((one for one in marked if is_of(one, self.attempt, self.clock)), None)
        others = (one for one in marked if one.started.attempt != self.attempt.restarts)
        above = (marker_above(path) for path in dict.fromkeys((resolved, result.path)))
        return Claim(
            frozenset({job.local, str(raw), *map(str, details.numbers)}), self.attempt,
            tuple((one.started.attempt, one.folder) for one in (own, *others) if one is not None),
            own.at if own is not None and own.device == _device(resolved) else None,
            array=(str(job.number), str(job.task)) if job.task is not None else None,
            is_singular=job.task is None or target in self._singular,
            cluster=job.cluster,
            above=tuple(one for one in above if one is not None),
        )  # fmt: skip


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def _still_trains(progress: Progress | None) -> bool:
    if progress is None or progress.iteration is None or progress.total is None:
        return False
    return progress.iteration < progress.total


def expanded(targets: Sequence[Target], details: Details, attempt: int) -> list[Target]:
    """The targets of one attempt. Raises UsageError for what can never be found."""
    job = details.job
    values = {
        "job_id": str(details.raw if details.raw is not None else job.number),
        "array_job_id": str(job.number),
        "array_task_id": "" if job.task is None else str(job.task),
        "name": details.name,
        "attempt": str(attempt),
    }
    return [expand(target, values, details.folder or os.getcwd()) for target in targets]
