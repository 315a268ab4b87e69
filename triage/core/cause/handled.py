"""Failures that were survived: the same run went on behind them."""

from __future__ import annotations

import math

from triage.core.cause.clock import SKEW
from triage.core.cause.incident import Occurrence
from triage.core.cause.joblog import JobLog
from triage.core.cause.timeline import FINISHED, Sign
from triage.core.events.model import Trace

STEPS = 2
"""Iterations behind a traceback that prove that the run went on: one may be another rank's last word."""


def survived(o: Occurrence, job: JobLog) -> str | None:
    """Why this is no failure, or None when it may be one."""
    if o.rule.scheduler:
        return None
    if isinstance(o.event, Trace) and o.event.style == "ignored":
        return "Python itself ignored it"
    behind = _behind(o, job)
    if any(s.progress.kind == "success" for s in behind):
        return "the run reported success after it"
    if _died(o, job):
        return None
    failing = bool(job.failing_exits())
    if _succeeded(job):
        return "the run reported success"
    if not failing and any(s.progress.kind in FINISHED for s in behind):
        return "training finished after it"
    later = [s for s in behind if s.time is not None and s.time > _over_by(o, s) + SKEW]
    steps = later if failing else behind
    if _steps(steps) >= STEPS:
        return f"training went on after it ({_last(steps)})"
    return None


def _over_by(o: Occurrence, sign: Sign) -> float:
    """A time by which it had happened, as far as this sign can be compared with it: lines behind it in its own stream
    that are stamped later than the lines before it were written after it."""
    return o.bounds.lo if sign.progress.span.source == o.event.span.source else o.bounds.hi


def _steps(signs: list[Sign]) -> int:
    return sum(s.progress.kind == "iteration" for s in signs)


def _last(signs: list[Sign]) -> str:
    last = signs[-1].progress
    return f"iteration {last.iteration}" if last.iteration is not None else last.kind


def _died(o: Occurrence, job: JobLog) -> bool:
    return o.where.rank is not None and any(
        e.where.rank == o.where.rank and e.failing for e in job.exits if not e.exit.victim
    )


def _succeeded(job: JobLog) -> bool:
    done = job.timeline.finished
    return done is not None and done.progress.kind == "success" and not job.failing_exits()


def _behind(o: Occurrence, job: JobLog) -> list[Sign]:
    """Signs of life that come after it: in its own stream, or by the clock."""
    own = job.timeline.after(o.event.span.source, o.event.span.last)
    own = [s for s in own if s.time is None or not math.isfinite(o.bounds.lo) or s.time >= o.bounds.lo - SKEW]
    if not math.isfinite(o.bounds.hi):
        return own
    source = o.event.span.source
    others = [s for s in job.timeline.later_than(o.bounds.hi + SKEW) if s.progress.span.source != source]
    return [*own, *others]
