"""Whose result it is. That it is newer than the job's start proves little: a lost node's processes may still write.

A result belongs to an attempt if it lies in the attempt's own folder, names the job (and the restart) itself, or is
newer than a start marker of the job's only attempt. Clocks decide only where nothing else can.
"""

from __future__ import annotations

from triage.core.jobs.artifact import Complete, Kind
from triage.core.jobs.attempt import Attempt
from triage.core.values import dataclass

_JOB_KEYS = ("job_id", "slurm_job_id", "SLURM_JOB_ID")
_RESTART_KEYS = ("restart", "restarts", "triage_attempt")
LEAST_SKEW = 2.0
"""Seconds that no two clocks are nearer than: Slurm's times are whole seconds."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known about the attempt that a result may belong to."""

    ids: frozenset[str]
    """All names of the job: `18_3` and its raw number."""
    attempt: Attempt
    folders: tuple[tuple[int, str], ...] = ()
    """Attempt numbers with their folders, as resolved paths; only folders whose marker names this job."""
    marker: float | None = None
    """When this attempt's start marker was written, by the file server's clock."""
    now: float = 0.0
    """The time of the result's file system, by a file that was just written there."""
    skew: float | None = None
    """How far that clock is from the watcher's; `None`: it could not be measured."""


@dataclass(frozen=True, slots=True)
class Own:
    """It is this attempt's."""

    because: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """It is another job's or another attempt's."""

    because: str


@dataclass(frozen=True, slots=True)
class Unproven:
    """It may be this attempt's; nothing proves it."""

    because: str


Owner = Own | Foreign | Unproven


def owner(result: Complete, resolved: str, claim: Claim) -> Owner:
    """`resolved` is the result's path without symbolic links."""
    for number, folder in claim.folders:
        if resolved.startswith(folder.rstrip("/") + "/"):
            if number == claim.attempt.restarts:
                return Own(f"it lies in the folder of attempt {number}")
            return Foreign(f"it lies in the folder of attempt {number}, not of {claim.attempt.restarts}")
    said = _said(result, claim)
    if said is not None:
        return said
    if claim.attempt.restarts:
        return Unproven(
            f"the job was restarted {claim.attempt.restarts} times and nothing in it says which attempt wrote it"
        )
    if claim.marker is not None:
        if result.written > claim.marker:
            return Own("it is newer than the job's start marker, and the job was never restarted")
        return Foreign("it is older than the job's start marker")
    return _by_clock(result, claim)


def _said(result: Complete, claim: Claim) -> Owner | None:
    """What the result says itself; `None` if it says nothing."""
    if result.kind is Kind.CHECKPOINT or not isinstance(result.value, dict):
        return None
    job = next((str(result.value[key]) for key in _JOB_KEYS if result.value.get(key) is not None), None)
    if job is None:
        return None
    if job not in claim.ids:
        return Foreign(f"it says that it is of job {job[:40]}")
    restart = next((result.value[key] for key in _RESTART_KEYS if result.value.get(key) is not None), None)
    if restart is None:
        if claim.attempt.restarts:
            return Unproven(
                f"it names the job but not the attempt, and this is attempt {claim.attempt.restarts}"
            )
        return Own("it names this job, which was never restarted")
    if str(restart) != str(claim.attempt.restarts):
        return Foreign(f"it says that it is of attempt {str(restart)[:20]}, not of {claim.attempt.restarts}")
    return Own("it names this job and this attempt")


def _by_clock(result: Complete, claim: Claim) -> Owner:
    if claim.skew is None:
        return Unproven("nothing in it names the job, and the clock of its file system could not be measured")
    margin = abs(claim.skew) + LEAST_SKEW
    if result.written > claim.now + LEAST_SKEW:
        return Unproven("it is stamped in the future: the clock that wrote it cannot be trusted")
    if result.written > claim.attempt.started + margin:
        return Own(
            "it is newer than the job's start by more than the clocks differ, and the job was never restarted"
        )
    if result.written < claim.attempt.started - margin:
        return Foreign("it is older than the job")
    return Unproven("it is about as old as the job's start, and the clocks are not better than that")
