"""The store of the user of this environment."""

from __future__ import annotations

from collections.abc import Mapping

from triage.core.folders import state_folder
from triage.core.jobs.identity import JobId
from triage.errors import StoreError
from triage.files.network import is_on_network
from triage.store.database import Database
from triage.store.jobs import find_job


def open_store(environment: Mapping[str, str]) -> Database:
    """Raises StoreError with what to do."""
    folder = state_folder(environment)
    return Database(folder, is_on_network(folder))


def scheduler_of(job: JobId, environment: Mapping[str, str], asked: str | None) -> str:
    """The one that is named on the command line, else the one that the store has the job from, else Slurm."""
    if asked is not None:
        return asked
    try:
        known = find_job(open_store(environment), job)
    except StoreError:
        known = None
    return (known.scheduler if known is not None else None) or "slurm"
