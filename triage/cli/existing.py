"""Whether a job that is only named by its id is one at all: a typo must not look like a success."""

from __future__ import annotations

import time
from collections.abc import Mapping

from triage.cli.output import tell
from triage.core.jobs.identity import JobId
from triage.errors import InputError, SchedulerError
from triage.schedulers.interface import connect
from triage.store.database import Database
from triage.store.jobs import find_job


def must_exist(job: JobId, database: Database, environment: Mapping[str, str]) -> tuple[JobId, float | None]:
    """The job by the id that its scheduler acts on, and when it was submitted, where it is not the one that the store
    knows by this id and that has not ended.

    Raises InputError for a job that neither the store nor a scheduler knows, SchedulerError where no Slurm is. While
    Slurm does not answer, the job is believed, and believed to be another one than a job that has ended: a veto must
    not wait for it.
    """
    known = find_job(database, job)
    if known is not None and known.ended is None:
        return job, None
    try:
        name, submitted = _found(job, environment)
    except SchedulerError as error:
        if not error.transient:
            raise
        tell(f"it is not known whether there is a job {job}: {error}")
        return job, time.time() if known is not None else None
    if submitted is None and known is None:
        raise InputError(
            f"no job {job}: the queue does not list it, accounting has no row of it, and triage has not watched it;"
            " check the number, and name the cluster (`18;CLUSTER`) if it is another one"
        )
    return (job, submitted or None) if name == job else must_exist(name, database, environment)


def _found(job: JobId, environment: Mapping[str, str]) -> tuple[JobId, float | None]:
    """Its id and its submit; `None` for a job that no scheduler knows."""
    if job.cluster is None:
        local = connect("local", environment).details(job)
        if local is not None:
            return job, local.sighting.submitted
    client = connect("slurm", environment)
    details = client.details(job)
    if details is not None:
        return job, details.sighting.submitted
    name = client.named(job)
    if name != job:
        return name, 0.0
    status = client.status([job]).get(job)
    return job, (status.submitted or 0.0) if status is not None and status.known else None
