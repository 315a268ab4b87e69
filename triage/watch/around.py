"""What stands around a job that is to end early: its other names, the jobs that wait for it, the tasks that it means."""

from __future__ import annotations

from triage.core.jobs.dependents import harmed_by_cancel
from triage.core.jobs.identity import JobId
from triage.core.values import dataclass
from triage.errors import SchedulerError
from triage.schedulers.interface import Details, Scheduler


@dataclass(frozen=True, slots=True)
class Around:
    """What a cancel would touch beside the job."""

    harmed: tuple[str, ...] | None = ()
    """Dependents that it would harm; `None`: they could not be read."""
    rows: int = 1
    """Rows of the queue that the id stands for."""


def names_of(job: JobId, details: Details) -> list[JobId]:
    """The ids that the job may be held by: as it is watched, its raw numbers, and its array."""
    whole = details.array if job.task is None else None
    others = (details.raw, whole, *details.numbers)
    return [job, *(JobId(one, cluster=job.cluster) for one in dict.fromkeys(others) if one is not None)]


def look_around(scheduler: Scheduler, job: JobId, details: Details) -> Around | None:
    """`None` where the scheduler does not answer. An array has at least the tasks that were told of it before: a row that
    could not be read must not make it a single job."""
    is_array = details.array is not None and job.task is None
    try:
        waiting = scheduler.waiting(job.cluster)
        rows = (
            [one for one in scheduler.status([job]) if one != job and one.number == job.number]
            if is_array
            else [job]
        )
    except SchedulerError:
        return None
    if not rows:
        return None
    numbers = {number for number in (details.raw, *details.numbers) if number is not None}
    harmed = None if waiting is None else harmed_by_cancel(job, numbers, waiting)
    return Around(harmed, max(len(rows), len(details.numbers)) if is_array else 1)
