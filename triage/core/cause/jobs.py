"""Several jobs in one folder: the newest is explained, the others are named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from triage.core.cause.keeper import Holding
from triage.core.logs.source import Source
from triage.core.values import dataclass
from triage.errors import InputError


class Fed(Protocol):
    @property
    def source(self) -> Source: ...
    @property
    def holding(self) -> Holding: ...


@dataclass(frozen=True, slots=True)
class ChosenJob:
    job: str | None
    sources: tuple[int, ...]
    """Indexes of the sources that belong to it; those whose name says no job belong to every job."""
    others: tuple[str, ...] = ()


def choose_job(feeds: Sequence[Fed], wanted: str | None) -> ChosenJob:
    """The asked one, else the one with the latest stamped line, else the one with the highest id.

    Raises InputError when the asked one is not there.
    """
    by_job: dict[str, list[int]] = {}
    for index, feed in enumerate(feeds):
        if feed.source.job is not None:
            by_job.setdefault(feed.source.job, []).append(index)
    if wanted is not None and wanted not in by_job:
        there = ", ".join(sorted(by_job, key=_id_order)) or "none named in the file names"
        raise InputError(f"no file of job {wanted}; jobs here: {there}")
    if not by_job:
        return ChosenJob(None, tuple(range(len(feeds))))
    job = wanted or next(iter(by_job))
    if len(by_job) > 1 and wanted is None:
        job = max(by_job, key=lambda j: (_latest(feeds, by_job[j]), _id_order(j)))
    own = set(by_job[job])
    sources = tuple(i for i, feed in enumerate(feeds) if i in own or feed.source.job is None)
    return ChosenJob(job, sources, tuple(sorted((j for j in by_job if j != job), key=_id_order)))


def _latest(feeds: Sequence[Fed], indexes: Sequence[int]) -> float:
    latest = [stamps[-1] for i in indexes if (stamps := feeds[i].holding.recent)]
    return max((s.seconds for s in latest if s.seconds is not None and s.has_year), default=0.0)


def _id_order(job: str) -> tuple[int, str]:
    number = re.match(r"\d+", job)
    return (int(number.group()) if number else -1, job)
