"""What the tool asks of a scheduler, and which schedulers there are.

A scheduler never interprets: it asks, parses, and hands on values of `triage.core.jobs`. Errors are `SchedulerError`
with a sentence for the user; `transient` says whether asking again may help.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from triage.core.jobs.dependents import Waiting
from triage.core.jobs.identity import JobId
from triage.core.jobs.submission import Looked, Outcome
from triage.core.jobs.witness import JobStatus, Sighting
from triage.core.script.site import Site
from triage.core.values import dataclass
from triage.errors import UsageError


@dataclass(frozen=True, slots=True)
class Request:
    """A job to submit."""

    script: Path
    folder: Path
    """Where it is submitted from: relative paths in the script's directives start here."""
    token: str
    """Marks the job, so that it is found again when the answer is lost. Letters and digits, unique to this request."""
    name: str | None = None
    """Its name if not the script's own; the token's start is added, so that it can be found in accounting."""
    comment: str = ""
    options: tuple[str, ...] = ()
    """Further options of sbatch."""
    arguments: tuple[str, ...] = ()
    """Of the script."""
    cluster: str | None = None
    """One, or several with commas of which the first free one takes it; `None` is the one that answers by default."""


@dataclass(frozen=True, slots=True)
class Details:
    """All that the scheduler tells about one job that it still knows."""

    job: JobId
    sighting: Sighting
    name: str = ""
    partition: str = ""
    folder: str = ""
    script: str = ""
    output: str = ""
    """As the scheduler says it, which is not always the file on disk: a leftover `%` is a wildcard."""
    error: str = ""
    array: int | None = None
    """Number of the array that it is a task of."""
    raw: int | None = None
    """The number that the job knows itself by, `SLURM_JOB_ID`; of an array's task another one than the array's."""
    uid: int | None = None
    """Whose job it is."""
    requeue: bool | None = None
    """Whether the scheduler may start it again; `None`: not told."""
    gpus: int | None = None
    limit: float | None = None
    """Its time limit in seconds."""
    numbers: tuple[int, ...] = ()
    """Of an array or a heterogeneous job that is meant as a whole, the raw numbers of its parts."""


class Scheduler(Protocol):
    """One way to run jobs."""

    @property
    def name(self) -> str: ...

    def argv(self, request: Request) -> tuple[str, ...]:
        """The command that submits it, for people to read."""

    def submit(self, request: Request, *, limit: float) -> Outcome:
        """Sends the request once and never retries; after `limit` seconds nothing of it is running any more."""

    def find(self, token: str, since: float, cluster: str | None = None) -> Looked:
        """Which jobs carry the token, of those submitted after `since`; never raises, an incomplete look says so."""

    def status(self, jobs: Sequence[JobId], since: float | None = None) -> Mapping[JobId, JobStatus]:
        """The state of each asked job; `since`, the first submit, keeps rows of an older job with the same id out."""

    def details(self, job: JobId) -> Details | None:
        """`None` if the scheduler does not know the job (any more)."""

    def named(self, job: JobId) -> JobId:
        """The id by which it acts on the job; that of an array's task is not the number that the task knows itself by."""

    def past(self, job: JobId) -> Details | None:
        """What is still known of a job that has left: at least where its logs lay; `None` if nothing is."""

    def cancel(self, job: JobId) -> None:
        """Asks for the job's end. That it returns proves nothing: ask `status`."""

    def signal(self, job: JobId, name: str) -> None:
        """Sends a signal to the batch script alone; likewise proves nothing."""

    def set_requeue(self, job: JobId, allowed: bool) -> None:
        """Whether the job may be started again; raises `SchedulerError` where the scheduler did not take it."""

    def waiting(self, cluster: str | None = None) -> tuple[Waiting, ...] | None:
        """All pending jobs with what they wait for; `None` if the answer was not whole."""

    def comment(self, job: JobId, text: str) -> None:
        """Leaves a word with the job where its user looks."""

    def mine(self) -> tuple[JobId, ...]:
        """The user's own jobs that are in the queue."""

    def site(self) -> Site | None:
        """What a request can be checked against; `None` where there is nothing to. Answers within seconds."""

    def message_timeout(self) -> float:
        """Seconds that the scheduler may work on a request that its sender has given up."""


SCHEDULERS: Mapping[str, str] = {
    "slurm": "triage.schedulers.slurm.client",
    "local": "triage.schedulers.local.client",
}
"""Each entry is a module with `connect(environment) -> Scheduler`; it is imported when it is asked for."""


def connect(name: str, environment: Mapping[str, str]) -> Scheduler:
    """The scheduler of that name for the user of this environment."""
    if name not in SCHEDULERS:
        raise UsageError(f"there is no scheduler `{name}`: choose one of {', '.join(SCHEDULERS)}")
    scheduler: Scheduler = importlib.import_module(SCHEDULERS[name]).connect(environment)
    return scheduler
