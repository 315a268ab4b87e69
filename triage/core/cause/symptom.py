"""The first symptom of a failure that no line names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from triage.core.cause.incident import Incident, Occurrence
from triage.core.lazy import lazy

_CLOSED = lazy(r"[Cc]losed by|reset by peer|Broken pipe")
"""What a process says whose peer has gone: it points elsewhere."""


def earliest(incidents: Sequence[Incident]) -> Incident:
    """The first symptom by the clock. Without one the order in which several processes wrote into a file proves
    nothing: the lowest rank."""
    firsts = [(i, o) for i in incidents for o in i.occurrences]
    one_source = len({o.place[0] for _, o in firsts}) == 1
    happened = _in_stream([o for _, o in firsts], one_source)

    def order(pair: tuple[Incident, Occurrence]) -> tuple[object, ...]:
        _, o = pair
        rank = o.where.rank if o.where.rank is not None else 1 << 30
        when = happened[o.place]
        if one_source and math.isfinite(when):
            return (when, o.place[1])
        return (when, bool(_CLOSED.search(o.text)) and not one_source, rank, o.place[1])

    return min(firsts, key=order)[0]


def _in_stream(occurrences: Sequence[Occurrence], exact: bool) -> dict[tuple[int, int], float]:
    """By when each had happened: an unstamped symptom before the next stamped one of its source."""
    happened: dict[tuple[int, int], float] = {}
    next_one: dict[int, float] = {}
    for o in sorted(occurrences, key=lambda o: o.place, reverse=True):
        source = o.place[0]
        next_one[source] = happened[o.place] = min(_clock(o, exact), next_one.get(source, math.inf))
    return happened


def _clock(o: Occurrence, exact: bool) -> float:
    """When it was printed; a mere bound counts only where streams have nothing else to be compared by."""
    return o.bounds.guess if not exact or o.bounds.lo == o.bounds.hi else math.inf
