"""Which run of a job this is: a requeue keeps the id, and a site that loses its state gives an id out again."""

from __future__ import annotations

import enum

from triage.core.jobs.witness import JobStatus
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a job, as a witness told it whose state was RUNNING; times in epoch seconds."""

    restarts: int
    submitted: float
    """A requeue gives the job a new one."""
    started: float


class Succession(enum.Enum):
    """How a later attempt follows an earlier one of the same id."""

    SAME = "same"
    REQUEUED = "requeued"
    REUSED = "reused"
    """Another job has got the id: what was known about the old one does not hold for it."""
    EARLIER = "earlier"
    """No later attempt at all: an old answer, or that of an array of which a restarted task is no longer told."""


def attempt_of(status: JobStatus) -> Attempt | None:
    """`None` unless the job runs and scontrol told the restarts: before, the times are estimates."""
    if not status.reading.is_running or status.restarts is None:
        return None
    if status.submitted is None or status.started is None:
        return None
    return Attempt(status.restarts, status.submitted, status.started)


def succession(earlier: Attempt, later: Attempt) -> Succession:
    """A new submit time is a requeue only if the restarts rose."""
    if later.restarts > earlier.restarts:
        return Succession.REQUEUED
    if (later.restarts, later.submitted) == (earlier.restarts, earlier.submitted):
        return Succession.SAME
    return Succession.REUSED if later.submitted > earlier.submitted else Succession.EARLIER
