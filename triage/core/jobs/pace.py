"""How long to wait before the scheduler is asked again: rarely for a job that runs for days, often near its end."""

from __future__ import annotations

from triage.core.values import dataclass

SHORTEST = 1.5
LONGEST = 60.0
"""Seconds between two questions."""
_NEAR = 120.0
"""Seconds before a job's time limit from which on its end is looked for closely."""
_SHARE = 0.02
"""Of the job's age: a job that runs for 50 minutes is asked about once a minute."""
_COST = 20.0
"""An answer that took a second is not asked for again for this many seconds: the site has a long queue."""
_SPREAD = 0.2


@dataclass(frozen=True, slots=True)
class Pace:
    """What the next interval depends on; seconds."""

    age: float
    """Since the last change that was seen of the job, or since its logs told an end."""
    left: float | None = None
    """Until its time limit."""
    failures: int = 0
    """Questions in a row that were not answered."""
    cost: float = 0.0
    """How long the last answer took."""
    acting: bool = False
    """Its end was asked for and is waited for."""


def interval(pace: Pace, chance: float) -> float:
    """`chance` from 0 to 1 spreads the questions of many watchers."""
    base = min(LONGEST, max(SHORTEST, pace.age * _SHARE))
    if pace.left is not None and pace.left < _NEAR:
        base = min(base, 5.0)
    if pace.acting:
        base = SHORTEST
    if pace.failures:
        base = max(base, min(LONGEST, 2.0 ** min(pace.failures + 1, 10)))
    base = min(LONGEST, max(base, pace.cost * _COST))
    return max(SHORTEST, min(LONGEST, base * (1 - _SPREAD + 2 * _SPREAD * chance)))
