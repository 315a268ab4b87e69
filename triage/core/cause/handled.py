"""Failures that were survived: the same run went on behind them."""

from __future__ import annotations

import math

from triage.core.cause.clock import SKEW
from triage.core.cause.incident import Occurrence
from triage.core.cause.joblog import JobLog
from triage.core.cause.signs import Sign
from triage.core.cause.timeline import FINISHED
from triage.core.events.model import Message, Trace
from triage.core.rules.model import Role

STEPS = 2
"""Iterations behind a traceback that prove that the run went on: one may be another rank's last word."""


def survived(o: Occurrence, job: JobLog) -> str | None:
    """Why this is no failure, or None when it may be one."""
    if o.rule.scheduler:
        return None
    if isinstance(o.event, Trace) and o.event.style == "ignored":
        return "Python itself ignored it"
    if isinstance(o.event, Trace) and o.event.style == "bare" and job.timeline.finished is not None:
        return "training had finished"
    if (
        _warned(o)
        and o.rule.role is Role.DOWNSTREAM
        and job.timeline.finished is not None
        and not job.failing_exits()
    ):
        return "training had finished, and a logger only warns"
    behind = _Behind(o, job)
    if behind.shows(frozenset({"success"})):
        return "the run reported success after it"
    if o.where.rank in job.ranks_failed and o.where.attribution != "inferred":
        return None
    failing = bool(job.failing_exits())
    if _succeeded(job):
        return "the run reported success"
    if not failing and behind.shows(FINISHED):
        return "training finished after it"
    last = behind.went_on(surely=failing and not _warned(o) and not _told_otherwise(o, job))
    return None if last is None else f"training went on after it ({_told(last)})"


def _told_otherwise(o: Occurrence, job: JobLog) -> bool:
    """Nobody's name is on it, and every process that was seen to fail has a traceback with its own name."""
    return (
        o.where.attribution not in ("tag", "file")
        and bool(job.ranks_failed)
        and job.ranks_failed <= job.ranks_telling
    )


def _warned(o: Occurrence) -> bool:
    """A logger calls it a warning or less: whatever ends the run later, the program went on behind this line."""
    return isinstance(o.event, Message) and o.event.level[:1] in ("W", "I", "D")


def _told(sign: Sign) -> str:
    last = sign.progress
    return f"iteration {last.iteration}" if last.iteration is not None else last.kind


def _succeeded(job: JobLog) -> bool:
    done = job.timeline.finished
    return done is not None and done.progress.kind == "success" and not job.failing_exits()


class _Behind:
    """Signs of life that come after an occurrence: in its own stream, or by the clock."""

    def __init__(self, o: Occurrence, job: JobLog) -> None:
        self._source, self._lo = o.event.span.source, o.bounds.lo
        own = job.timeline.after(self._source, o.event.span.last)
        known = math.isfinite(self._lo)
        self._own = [s for s in own if s.time is None or not known or s.time >= self._lo - SKEW]
        self._kinds = {s.progress.kind for s in self._own}
        self._others = job.timeline.elsewhere
        self._after = o.bounds.hi + SKEW if math.isfinite(o.bounds.hi) else math.inf

    def shows(self, kinds: frozenset[str]) -> bool:
        """Whether one of these announcements is among them."""
        return not kinds.isdisjoint(self._kinds) or self._others.shows(kinds, self._after, self._source)

    def went_on(self, *, surely: bool) -> Sign | None:
        """The last sign, if there are iterations enough. Surely: by stamps alone. It is over when others show a time
        behind its bounds, and in its own stream already when lines behind it are stamped later than those before it."""
        own = self._own
        if surely:
            known = math.isfinite(self._lo)
            own = [s for s in own if known and s.time is not None and s.time > self._lo + SKEW]
        steps = sum(s.progress.kind == "iteration" for s in own)
        if steps + self._others.iterations(self._after, self._source) < STEPS:
            return None
        return self._others.last(self._after, self._source) or own[-1]
