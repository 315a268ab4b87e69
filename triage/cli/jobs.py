"""A job that is named by its id: where its logs lie, and what its scheduler and the store say about it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from triage.cli.state import open_store, scheduler_of
from triage.core.cause.record import Record, read_record
from triage.core.jobs.cancel import Stage
from triage.core.jobs.identity import JobId, parse_job
from triage.core.jobs.witness import JobStatus, Program, Witness, merge
from triage.core.values import dataclass, replace
from triage.errors import InputError, SchedulerError, StoreError
from triage.files.joblogs import log_paths
from triage.files.records import parse_record, read_text, record_name
from triage.files.records import read_record as read_file
from triage.schedulers.interface import Details, Scheduler, connect
from triage.schedulers.slurm.saved import read_saved
from triage.store.actions import Action, actions_of
from triage.store.jobs import KnownJob, find_job
from triage.watch.ending import record_of


@dataclass(frozen=True, slots=True)
class Found:
    """A job's logs and record."""

    paths: tuple[str, ...]
    """Those that are there."""
    record: Record
    places: tuple[str, ...]
    """Where logs were looked for."""


def named_job(words: list[str]) -> JobId | None:
    """The job that a command line names, if its one word is a job id and no file."""
    if len(words) != 1 or os.path.lexists(words[0]):
        return None
    return parse_job(words[0])


def find(job: JobId, environment: Mapping[str, str], scheduler: str | None) -> Found:
    """Asks the scheduler, accounting and the store. Raises InputError for a job that nobody knows, SchedulerError where
    nobody answers."""
    client = connect(scheduler_of(job, environment, scheduler), environment)
    known, action = _stored(job, environment)
    status, details, failure = _asked(client, job)
    if details is None and known is None:
        if failure is not None:
            raise failure
        raise InputError(
            f"no job {job}: the queue does not list it, accounting has no row of it, and triage has not watched it"
        )
    output = details.output if details is not None else known.output if known is not None else ""
    error = details.error if details is not None else known.error if known is not None else ""
    raw = details.raw if details is not None and details.raw is not None else job.number
    places = log_paths(output, error, list(dict.fromkeys((job.local, str(raw)))))
    record = record_of(job, status if status is not None and status.known else None, action)
    if output:
        record = _with_file(record, os.path.join(os.path.dirname(output), record_name(job.local)))
    return Found(tuple(path for path in places if _is_there(path)), record, tuple(places))


def saved(path: str, job: JobId | None) -> Record:
    """The record that `--record` names: one that `triage watch` wrote, or what Slurm printed. Raises InputError."""
    text = read_text(path)
    own = parse_record(text)
    if own is not None:
        return read_record(own)
    found = read_saved(text, job)
    if found is None:
        raise InputError(
            f"{path} is no record of a job: give a triage-JOBID.json that `triage watch` wrote, or what"
            " `scontrol show job ID` or `sacct -P -j ID` printed"
        )
    return record_of(*found, None)


def _asked(client: Scheduler, job: JobId) -> tuple[JobStatus | None, Details | None, SchedulerError | None]:
    """scontrol while it knows the job, then accounting."""
    try:
        status = client.status([job]).get(job)
        details = client.details(job)
        if details is not None and (status is None or not status.known):
            status = merge([Witness(Program.SCONTROL, 0.0, (details.sighting,))])
        elif details is not None and status is not None and status.restarts is None:
            status = replace(status, restarts=details.sighting.restarts)
        return status, details if details is not None else client.past(job), None
    except SchedulerError as error:
        return None, None, error


def _stored(job: JobId, environment: Mapping[str, str]) -> tuple[KnownJob | None, Action | None]:
    """What the store knows; a store that cannot be used is no reason not to explain."""
    try:
        database = open_store(environment)
        known = find_job(database, job)
        if known is None:
            return None, None
        actions = [
            a for a in actions_of(database, known.number) if not a.dry and a.stage is not Stage.ABANDONED
        ]
    except StoreError:
        return None, None
    return known, actions[-1] if actions else None


def _with_file(record: Record, path: str) -> Record:
    """What another user's or host's watcher left beside the logs."""
    if (record.early is not None and record.slurm is not None) or not os.path.isfile(path):
        return record
    left = read_record(read_file(path))
    early = record.early if record.early is not None else left.early
    if record.slurm is None:
        return replace(left, early=early)
    return replace(record, early=early)


def _is_there(path: str) -> bool:
    import glob

    return os.path.lexists(path) or (any(c in path for c in "*?[") and bool(glob.glob(path)))
