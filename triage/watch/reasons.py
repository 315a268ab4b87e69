"""Reasons to end a job early: its result is there, it has failed and does not end, or it hangs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triage.core.cause.verdict import Verdict
from triage.core.events.model import Progress
from triage.core.jobs.attempt import Attempt
from triage.core.jobs.brakes import Stall, brake
from triage.core.jobs.cancel import Cause
from triage.core.jobs.state import State
from triage.core.values import dataclass
from triage.schedulers.interface import Details
from triage.watch.logs import JobLogs
from triage.watch.record import evidence_of
from triage.watch.results import Proven
from triage.watch.script import has_restarts_left

QUIET_AFTER_FAILURE = 30.0
"""Seconds without progress after a failure was seen, before the job is taken to hang on it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a job is to end early."""

    cause: Cause
    why: str
    attempt: Attempt
    evidence: Mapping[str, Any]
    brake: str | None = None
    planned_end: float | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """What goes on beside the job."""

    watched: int = 1
    stalled: int = 0
    recent: Sequence[float] = ()
    """Seconds since this user's last cancels for a failure or a hang."""


@dataclass(frozen=True, slots=True)
class Quietness:
    """What the brakes of a cancel are judged by."""

    state: State
    seconds: float
    storage_answers: bool
    script: str
    site: Site


def for_result(proven: Proven, attempt: Attempt, planned_end: float | None) -> Reason:
    result = proven.result
    why = f"its result {result.path} is complete"
    evidence = evidence_of(
        result.path,
        result.kind.value,
        result.digest,
        result.size,
        result.written,
        result.data,
        proven.because,
    )
    return Reason(Cause.ARTIFACT, why, attempt, evidence, None, planned_end)


def for_failure(
    verdict: Verdict, attempt: Attempt, quiet: Quietness, planned_end: float | None
) -> Reason | None:
    """A rank is dead and the root is known; the others only wait for it."""
    root = verdict.root
    if not verdict.failed or verdict.category == "unknown" or verdict.confidence == "low" or root is None:
        return None
    if root.rank is None and root.node is None:
        return None
    held = brake(_stall(quiet, QUIET_AFTER_FAILURE, verdict.attempts))
    return Reason(
        Cause.FAILURE, f"it has failed and does not end: {verdict.summary}", attempt, {"verdict": verdict.to_json()},
        held, planned_end,
    )  # fmt: skip


def for_hang(
    limit: float, verdict: Verdict | None, attempt: Attempt, quiet: Quietness, planned_end: float | None
) -> Reason:
    behind = f"; {verdict.summary}" if verdict is not None and verdict.failed else ""
    held = brake(_stall(quiet, limit, verdict.attempts if verdict is not None else 1))
    why = f"it has shown no progress for {quiet.seconds:.0f} s{behind}"
    body = verdict.to_json() if verdict is not None else None
    return Reason(Cause.HANG, why, attempt, {"verdict": body, "quiet": quiet.seconds}, held, planned_end)


def _stall(quiet: Quietness, limit: float, attempts: int) -> Stall:
    site = quiet.site
    return Stall(
        quiet.state, quiet.seconds, limit, quiet.storage_answers, site.recent, site.stalled, site.watched,
        has_restarts_left(quiet.script, attempts),
    )  # fmt: skip


def planned_end(logs: JobLogs | None, details: Details, now: float) -> float | None:
    """When the job would end by itself: by its progress, else by its time limit."""
    left = time_left(logs.curve) if logs is not None else None
    known = (now + left if left is not None else None, details.sighting.ended)
    return min((end for end in known if end is not None), default=None)


def time_left(curve: Sequence[tuple[float, Progress]]) -> float | None:
    """Seconds to the last iteration, by the pace of the latest ones."""
    if not curve:
        return None
    last = curve[-1][1]
    if last.iteration is None or last.total is None:
        return None
    pace = last.values.get("elapsed_ms")
    if pace is not None and 0 < pace < 1e9:
        return max(0.0, (last.total - last.iteration) * pace / 1000)
    first_at, first = curve[0]
    steps = last.iteration - (first.iteration or 0)
    seconds = curve[-1][0] - first_at
    return max(0.0, (last.total - last.iteration) * seconds / steps) if steps > 0 and seconds > 0 else None
