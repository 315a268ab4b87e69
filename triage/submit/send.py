"""The steps of one submission: folders, script and record on disk, the request once, the first word about the job."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from triage.core.jobs.identity import JobId
from triage.core.jobs.pending import never_starts
from triage.core.jobs.state import Phase
from triage.core.jobs.submission import Done, Lost, NotSent
from triage.core.jobs.witness import JobStatus
from triage.core.values import dataclass
from triage.errors import RefusedError, SchedulerError, StoreError
from triage.schedulers.interface import Scheduler
from triage.schedulers.once import Journal, recover, submit_once
from triage.submit.record import Record, write_record, write_whole
from triage.submit.unfinished import Unfinished

_LOOKS = 8
_PAUSE = 0.4
"""Seconds between looks for the first reason: a scheduler gives it within its first round."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A job, and the first word about it."""

    record: Record
    """With the job."""
    status: JobStatus
    others: tuple[JobId, ...] = ()
    """Further jobs with the same token; it must not happen."""
    troubles: tuple[str, ...] = ()
    """What went wrong without harm to the job, as sentences."""

    @property
    def never_starts(self) -> str | None:
        """What to change, if the job will not start by itself."""
        if self.status.phase is not Phase.WAITING or self.status.reason is None:
            return None
        return never_starts(self.status.reason)


def make_folders(folders: Sequence[str]) -> None:
    """Those of the logs: Slurm makes none. Raises `RefusedError`."""
    for folder in folders:
        top = "/".join(folder.split("/")[:2])
        try:
            if not os.path.isdir(top):
                raise RefusedError(
                    f"the log folder {folder} cannot be made: there is no {top} on this machine; change --output"
                )
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise RefusedError(
                f"the log folder {folder} cannot be made: {error.strerror}; change --output"
            ) from error


def keep(record: Record, script: str, config: str | None) -> None:
    """Script, configuration and record beside the logs. Raises `StoreError`; nothing was sent then."""
    try:
        record.kept.mkdir(parents=True)
        if not (ignore := record.kept.parent / ".gitignore").exists():
            write_whole(ignore, "*\n")
        own = record.kept / Path(record.script).name
        write_whole(own, script, 0o755)
        if record.config is not None and config is not None:
            write_whole(Path(record.config), config)
        write_record(record, record.path)
    except OSError as error:
        raise StoreError(
            f"{record.kept} cannot be written: {error.strerror}; nothing was submitted"
        ) from error


def send(scheduler: Scheduler, entry: Unfinished, patience: float, tell: Callable[[str], None]) -> Sent:
    """The job of this entry; what takes time is told. Raises what `submit_once` raises."""
    journal = entry.journal()
    told: set[str] = set()

    def once(trouble: NotSent | Lost) -> None:
        next_step = f"trying for {patience:g} s" if isinstance(trouble, NotSent) else "looking for the job"
        if next_step not in told:
            tell(f"{trouble.sentence}; {next_step}")
        told.add(next_step)

    request = entry.record.request()
    done = submit_once(scheduler, request, journal, patience=patience, on_trouble=once)
    return _found(scheduler, entry, journal, done)


def look_for(scheduler: Scheduler, entry: Unfinished) -> Sent | None:
    """The job of a call that was killed, if there is one. Raises `SchedulerError` while nobody can tell."""
    journal = entry.journal()
    done = recover(scheduler, entry.record.request(), journal)
    return None if done is None else _found(scheduler, entry, journal, done)


def _found(scheduler: Scheduler, entry: Unfinished, journal: Journal, done: Done) -> Sent:
    first = journal.steps[0].at if journal.steps else entry.record.asked
    record = dataclasses.replace(entry.record, job_id=str(done.job), submitted=first)
    troubles = [] if journal.failure is None else [journal.failure]
    try:
        record.kept.mkdir(parents=True, exist_ok=True)
        write_record(record, record.path)
    except OSError as error:
        troubles.append(f"{record.path} cannot be written: {error.strerror}")
    status = first_word(scheduler, done.job)
    return Sent(record, status, done.others, tuple(troubles))


def first_word(scheduler: Scheduler, job: JobId, sleep: Callable[[float], None] = time.sleep) -> JobStatus:
    """The job's state as soon as it runs, has ended or says why it waits; what is known by then if it does not."""
    status = JobStatus()
    for look in range(_LOOKS):
        if look:
            sleep(_PAUSE)
        try:
            status = scheduler.status([job])[job]
        except SchedulerError as error:
            return JobStatus(because=(str(error),))
        waits = status.phase in (Phase.WAITING, Phase.UNKNOWN)
        if not waits or (status.reason is not None and status.reason != "None"):
            break
    return status
