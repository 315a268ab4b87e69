"""Whether a job that is only named by its id is one at all: a typo must not look like a success."""

from __future__ import annotations

from collections.abc import Mapping

from triage.cli.output import tell
from triage.core.jobs.identity import JobId
from triage.errors import InputError, SchedulerError
from triage.schedulers.interface import connect
from triage.store.database import Database
from triage.store.jobs import find_job


def must_exist(job: JobId, database: Database, environment: Mapping[str, str]) -> None:
    """Raises InputError for a job that neither the store nor a scheduler knows, SchedulerError where no Slurm is.

    While Slurm does not answer, the job is believed: a veto must not wait for it.
    """
    if find_job(database, job) is not None:
        return
    if job.cluster is None and connect("local", environment).details(job) is not None:
        return
    client = connect("slurm", environment)
    try:
        status = client.status([job]).get(job)
        if status is not None and status.known:
            return
        if client.details(job) is not None:
            return
    except SchedulerError as error:
        if not error.transient:
            raise
        tell(f"it is not known whether there is a job {job}: {error}")
        return
    raise InputError(
        f"no job {job}: the queue does not list it, accounting has no row of it, and triage has not watched it;"
        " check the number, and name the cluster (`18;CLUSTER`) if it is another one"
    )
