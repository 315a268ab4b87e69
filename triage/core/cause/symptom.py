"""The first symptom of a failure that no line names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from triage.core.cause.incident import Incident, Occurrence

_CLOSED = re.compile(r"[Cc]losed by|reset by peer|Broken pipe")
"""What a process says whose peer has gone: it points elsewhere."""


def earliest(incidents: Sequence[Incident]) -> Incident:
    """The first symptom by the clock. Without one the order in which several processes wrote into a file proves
    nothing: the lowest rank."""
    firsts = [(i, o) for i in incidents for o in i.occurrences]
    one_source = len({o.place[0] for _, o in firsts}) == 1

    def order(pair: tuple[Incident, Occurrence]) -> tuple[object, ...]:
        _, o = pair
        rank = o.where.rank if o.where.rank is not None else 1 << 30
        when = min(_clock(o, one_source), _next_in_stream(o, firsts, one_source))
        if one_source and math.isfinite(when):
            return (when, o.place[1])
        return (when, bool(_CLOSED.search(o.text)) and not one_source, rank, o.place[1])

    return min(firsts, key=order)[0]


def _clock(o: Occurrence, exact: bool) -> float:
    """When it was printed; a mere bound counts only where streams have nothing else to be compared by."""
    return o.bounds.guess if not exact or o.bounds.lo == o.bounds.hi else math.inf


def _next_in_stream(o: Occurrence, firsts: Sequence[tuple[Incident, Occurrence]], exact: bool) -> float:
    """An unstamped symptom happened before the next stamped one of its source."""
    source, at = o.place
    later = (_clock(x, exact) for _, x in firsts if x.place[0] == source and x.place[1] >= at)
    return min(later, default=math.inf)
