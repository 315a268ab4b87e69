"""Whose result it is. That it is newer than the job's start proves little: a lost node's processes may still write.

What speaks against the attempt outranks all that speaks for it: another job's folder or id, an age beyond the start. Then
a result belongs to the attempt if it lies in the attempt's own folder, names the job (and the restart) itself, or is newer
than a start marker of the job's only attempt. Clocks decide only where nothing else can.
"""

from __future__ import annotations

import re

from triage.core.jobs.artifact import Complete, Kind
from triage.core.jobs.attempt import Attempt
from triage.core.jobs.handshake import Started
from triage.core.jobs.names import Named, names_in
from triage.core.values import dataclass

LEAST_SKEW = 2.0
"""Seconds that no two clocks are nearer than: Slurm's times are whole seconds."""
_RENDERED = re.compile(r"/[^/]+-(\d{1,10}(?:_\d{1,10})?)/attempt-(\d{1,5})(?=/)", re.A)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known about the attempt that a result may belong to."""

    ids: frozenset[str]
    """All names of the job: `18_3` and its raw number."""
    attempt: Attempt
    folders: tuple[tuple[int, str], ...] = ()
    """Attempt numbers with their folders, as resolved paths; only folders whose marker names this job."""
    marker: float | None = None
    """When this attempt's start marker was written, if the result lies on the marker's file system."""
    now: float = 0.0
    """The time of the result's file system, by a file that was just written there."""
    skew: float | None = None
    """How far that clock is from the watcher's; `None`: it could not be measured."""
    array: tuple[str, str] | None = None
    """Of an array's task the array's id and the task's index; the id is also the raw number of one of the tasks."""
    is_singular: bool = True
    """The path that was asked for cannot be that of another task of the array."""
    cluster: str | None = None
    """Where it is known by name."""
    above: tuple[Started, ...] = ()
    """The nearest start markers of the folders that hold the result."""


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


def is_older(written: float, attempt: Attempt, skew: float) -> bool:
    """Written before the attempt started, whichever of the two clocks Slurm's times follow."""
    return written < attempt.started + min(0.0, skew) - LEAST_SKEW


def owner(result: Complete, resolved: str, claim: Claim) -> Owner:
    """`resolved` is the result's path without symbolic links."""
    names = names_in(result.value) if result.kind is not Kind.CHECKPOINT else ()
    against = _elsewhere(result, resolved, claim) or _another(names, claim)
    if against is not None:
        return against
    if is_older(_age(result), claim.attempt, claim.skew or 0.0):
        if claim.skew is not None:
            return Foreign("it is older than this attempt of the job")
        return Unproven("it is older than this attempt of the job, unless the clocks differ")
    if any(_is_below(resolved, folder) for _, folder in claim.folders):
        return Own(f"it lies in the folder of attempt {claim.attempt.restarts}")
    said = _said(names, claim)
    if said is not None:
        return said
    if claim.attempt.restarts:
        return Unproven(
            f"the job was restarted {claim.attempt.restarts} times and nothing in it says which attempt wrote it"
        )
    return _by_time(result, claim)


def _age(result: Complete) -> float:
    """When what decides was written, at the latest: a line that the first look found whole is as old as the file was."""
    line = result.line
    if line is None or line.first is None or line.at >= line.first.size:
        return result.written
    return min(result.written, line.first.modified / 1e9)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _elsewhere(result: Complete, resolved: str, claim: Claim) -> Foreign | None:
    """In the folder of another job or attempt, as its marker or its rendered name says."""
    restarts = claim.attempt.restarts
    for number, folder in claim.folders:
        if number != restarts and _is_below(resolved, folder):
            return Foreign(f"it lies in the folder of attempt {number}, not of {restarts}")
    for above in claim.above:
        if str(above.job) not in claim.ids or above.attempt != restarts:
            return Foreign(f"it lies in the folder of job {above.job}, attempt {above.attempt}")
    ids = claim.ids | ({claim.array[0]} if claim.array is not None else set())
    for path in (resolved, result.path):
        rendered = _RENDERED.findall(path)
        if rendered and (rendered[-1][0] not in ids or int(rendered[-1][1]) != restarts):
            return Foreign(f"it lies in a folder of job {rendered[-1][0]}, attempt {rendered[-1][1]}")
    return None


def _another(names: tuple[Named, ...], claim: Claim) -> Foreign | None:
    """An id of another job, anywhere near the surface."""
    array, index = claim.array if claim.array is not None else (None, None)
    for named in names:
        for cluster in named.clusters:
            if claim.cluster is not None and cluster != claim.cluster:
                return Foreign(f"it says that it is of a job on {cluster[:40]}")
        for job in named.jobs:
            if job not in claim.ids and job != array:
                return Foreign(f"it says that it is of job {job[:40]}")
        for job in named.arrays:
            if job != array and job not in claim.ids:
                return Foreign(f"it says that it is of array {job[:40]}")
        for task in named.tasks:
            if index is not None and task != index:
                return Foreign(f"it says that it is of task {task[:20]} of the array")
    return None


def _said(names: tuple[Named, ...], claim: Claim) -> Owner | None:
    """What the result says itself, at its top; `None` if it says nothing."""
    top = next((named for named in names if named.is_top), None)
    if top is None or not (top.jobs or top.arrays):
        return None
    restarts = claim.attempt.restarts
    for restart in top.restarts:
        if restart != str(restarts):
            return Foreign(f"it says that it is of attempt {restart[:20]}, not of {restarts}")
    array = claim.array[0] if claim.array is not None else None
    if array is not None and not top.tasks and not any(job in claim.ids and job != array for job in top.jobs):
        return Unproven(f"it names only the array {array}, and so may each of its tasks")
    if restarts and not top.restarts:
        return Unproven(f"it names the job but not the attempt, and this is attempt {restarts}")
    if not top.restarts:
        return Own("it names this job, which was never restarted")
    return Own("it names this job and this attempt")


def _by_time(result: Complete, claim: Claim) -> Owner:
    """Of a job that was never restarted."""
    if claim.skew is None:
        return Unproven("nothing in it names the job, and the clock of its file system could not be measured")
    if not claim.is_singular:
        return Unproven(
            "the other tasks of the array may write it too: put {array_task_id} into --artifact, or the job's id into it"
        )
    if result.written > claim.now + LEAST_SKEW:
        return Unproven("it is stamped in the future: the clock that wrote it cannot be trusted")
    line = result.line
    if line is not None and line.first is not None and line.at < line.first.size and not line.is_last:
        return Unproven(
            "its last whole line was there at the first look, and what came since is no whole line"
        )
    written = _age(result)
    if claim.marker is not None:
        if written > claim.marker:
            return Own("it is newer than the job's start marker, and the job was never restarted")
        return Foreign("it is older than the job's start marker")
    margin = abs(claim.skew) + LEAST_SKEW
    if written > claim.attempt.started + margin:
        return Own(
            "it is newer than the job's start by more than the clocks differ, and the job was never restarted"
        )
    return Unproven("it is about as old as the job's start, and the clocks are not better than that")
