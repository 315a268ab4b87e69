"""When each watched job is to be looked at next: a turn costs what is due, however many jobs there are."""

from __future__ import annotations

import heapq
import math
from dataclasses import field

from triage.core.jobs.identity import JobId
from triage.core.values import dataclass

_SLOTS = 4
"""Regular looks begin so often a second at most: many jobs share one waking."""


@dataclass(slots=True)
class Agenda:
    """Jobs in the order of their next looks."""

    _due: dict[JobId, float] = field(default_factory=dict)
    _order: list[tuple[float, int, JobId]] = field(default_factory=list)
    """A heap; an entry that is not as in `_due` is no longer true."""
    _count: int = 0

    def put(self, job: JobId, at: float) -> None:
        """It is looked at then, whenever that was to be before."""
        self._due[job] = at
        self._count += 1
        heapq.heappush(self._order, (at, self._count, job))

    def drop(self, job: JobId) -> None:
        self._due.pop(job, None)

    def next(self) -> float | None:
        """When the first job is due."""
        while self._order and self._due.get(self._order[0][2]) != self._order[0][0]:
            heapq.heappop(self._order)
        return self._order[0][0] if self._order else None

    def take(self, now: float) -> list[JobId]:
        """The jobs that are due, the longest first; they are on the agenda no longer."""
        found = []
        while (at := self.next()) is not None and at <= now:
            job = heapq.heappop(self._order)[2]
            del self._due[job]
            found.append(job)
        return found

    def all_at(self, at: float) -> None:
        """The clock was set back: what was due sooner or later is due then."""
        self._order.clear()
        for job in self._due:
            self.put(job, at)


def in_slot(at: float) -> float:
    """The next time from then on at which regular looks begin."""
    return math.ceil(at * _SLOTS) / _SLOTS
