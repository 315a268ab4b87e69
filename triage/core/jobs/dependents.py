"""Jobs that wait for another one, and which of them its cancelling would harm.

Source: SchedMD/slurm src/slurmctld/job_scheduler.c (`_depend_type2str`): `afterok:18(unfulfilled),afterany:18_*`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from triage.core.jobs.identity import JobId
from triage.core.values import dataclass

_HARMED = frozenset({"afterok", "afternotok", "aftercorr"})
"""After a cancelled job the first and the last wait for ever, the second starts."""
_ITEM = re.compile(r"([a-z]+)((?::\d{1,10}(?:_(?:\*|\d{1,10}))?(?:\+\d{1,9})?)+)", re.A)
_ONE = re.compile(r":(\d{1,10})(?:_(\*|\d{1,10}))?", re.A)
_KNOWN = frozenset({*_HARMED, "after", "afterany", "afterburstbuffer", "singleton", "expand"})


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pending job and what it waits for, as squeue's `%E` prints it."""

    job: str
    dependency: str


def harmed_by_cancel(job: JobId, numbers: Iterable[int], waiting: Iterable[Waiting]) -> tuple[str, ...]:
    """The jobs that would be left waiting for ever, or started by mistake, as `62 (afterok)`; `numbers` are those that
    the job has beside its own.

    A dependency that is not understood counts as one: better no cancel than a broken chain.
    """
    found = []
    meant = {job.number, *numbers}
    for one in waiting:
        kinds = [kind for kind in _kinds(one.dependency, job, meant) if kind in _HARMED or kind not in _KNOWN]
        if kinds:
            found.append(f"{one.job} ({kinds[0]})")
    return tuple(found)


def _kinds(text: str, job: JobId, numbers: Collection[int]) -> list[str]:
    """The kinds of dependency on this job."""
    found = []
    for match in _ITEM.finditer(text):
        for one in _ONE.finditer(match[2]):
            task = one[2]
            same_task = task in (None, "*") or job.task is None or task == str(job.task)
            if int(one[1]) in numbers and same_task:
                found.append(match[1])
    return found
