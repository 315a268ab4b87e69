"""When a job is looked at, and whether a close look is worth it: mostly nothing was written, and that is cheap to see."""

from __future__ import annotations

from dataclasses import field

from triage.core.values import dataclass
from triage.files.marks import Mark, hold
from triage.watch.agenda import in_slot
from triage.watch.logs import JobLogs
from triage.watch.results import Results

LOOK_EVERY = 1.0
LOOK_AT_REST = 2.0
"""Seconds between two looks at logs and results, and for each of many jobs that have been silent for some time."""
_MANY = 50
_SILENT = 120.0
CLOSE_LOOK = 60.0
"""Seconds for which it is enough to see that neither logs nor results have changed."""
_NEVER = float("-inf")


@dataclass(slots=True)
class Rest:
    """The rest of one job between two close looks."""

    _ends: float = _NEVER
    _local: dict[str, Mark] = field(default_factory=dict)
    _remote: dict[str, Mark] = field(default_factory=dict)
    """What logs and results showed at the close look; those on network file systems are opened to see it."""
    _grew: float = _NEVER
    """When its logs last grew."""

    def begin(self, now: float, seconds: float, logs: JobLogs, results: Results | None) -> None:
        """From a close look on, for at most so long: then time alone may bring news."""
        written = logs.marks() if seconds > 0 else None
        made = results.marks() if results is not None else ({}, {})
        if written is None or made is None:
            return self.end()
        self._ends, self._remote = now + min(seconds, CLOSE_LOOK), made[1]
        self._local = {**written, **made[0]}
        return None

    def end(self) -> None:
        """Something happened: the next look is a close one."""
        self._ends = _NEVER

    def holds(self, now: float, logs: JobLogs) -> bool:
        """Nothing was written since the close look."""
        if not 0 < self._ends - now <= CLOSE_LOOK:
            return False
        return hold(self._local, self._remote) and not logs.may_have_new(now)

    def next_look(self, now: float, logs: JobLogs | None, watched: int) -> float:
        """When to look again; `watched`: so many jobs share this processor."""
        if logs is not None and logs.grew:
            self._grew = now
        silent = watched >= _MANY and not 0 <= now - self._grew < _SILENT
        return in_slot(now + (LOOK_AT_REST if silent else LOOK_EVERY))
