"""Which job: a number, an array task or a component of a heterogeneous job, on a cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass

_JOB = re.compile(r"(\d{1,10})(?:_(\d{1,10})|\+(\d{1,5}))?(?:;([\w.-]{1,128}))?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class JobId:
    """A job as its user names it. Names are never part of it: they change."""

    number: int
    task: int | None = None
    """Index of the task of an array. Without it the id of an array means the whole array."""
    component: int | None = None
    """Component of a heterogeneous job."""
    cluster: str | None = None
    """The same number exists on each cluster; `None` is the one that answers by default."""

    def __str__(self) -> str:
        """As sbatch prints it: `18`, `18_3`, `18+1`, `18;west`."""
        return self.local + (f";{self.cluster}" if self.cluster is not None else "")

    @property
    def local(self) -> str:
        """What the commands of its cluster take."""
        if self.task is not None:
            return f"{self.number}_{self.task}"
        return f"{self.number}+{self.component}" if self.component is not None else str(self.number)


def overlap(one: JobId, other: JobId) -> bool:
    """Whether both may mean the same job: an array all its tasks, a component its whole job, no cluster any cluster."""
    clusters = None in (one.cluster, other.cluster) or one.cluster == other.cluster
    tasks = None in (one.task, other.task) or one.task == other.task
    return one.number == other.number and clusters and tasks


def parse_job(text: str) -> JobId | None:
    """`18`, `18_3`, `18+1`, each with `;CLUSTER`; `None` for anything else, a range of tasks included."""
    match = _JOB.fullmatch(text.strip())
    if match is None:
        return None
    task, component = (int(part) if part is not None else None for part in (match[2], match[3]))
    return JobId(int(match[1]), task, component, match[4])
