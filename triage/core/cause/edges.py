"""Whether one incident explains another one, by the edges of `causes.toml`."""

from __future__ import annotations

import math

from triage.core.cause.incident import Incident
from triage.core.cause.joblog import JobLog
from triage.core.rules.ruleset import CauseEdge

STILL = 60.0
"""Seconds without progress below which a job counts as running when the scheduler ends it."""
STILL_GAPS = 3.0


def explains(cause: Incident, effect: Incident, job: JobLog) -> bool:
    """By any edge between their rules that holds for these two."""
    edges = job.ruleset.explains(cause.rule, effect.rule)
    return any(_edge_holds(edge, cause, effect, job) for edge in edges)


def _edge_holds(edge: CauseEdge, cause: Incident, effect: Incident, job: JobLog) -> bool:
    if effect.bounds.before(cause.bounds):
        return False
    if edge.within is not None and (
        effect.bounds.guess - cause.bounds.guess > edge.within or _stopped_it(effect, cause, job)
    ):
        return False
    if edge.same == "rank":
        return bool(cause.ranks & effect.ranks) or not (cause.ranks and effect.ranks)
    if edge.same == "node":
        nodes = {o.where.node for o in cause.occurrences}, {o.where.node for o in effect.occurrences}
        return bool(nodes[0] & nodes[1]) or None in nodes[0] | nodes[1]
    return True


def _stopped_it(effect: Incident, cause: Incident, job: JobLog) -> bool:
    """The job had stood still for clearly longer than a step takes when the scheduler spoke: the supposed effect is
    what had stopped it. Without any time the order of the lines decides."""
    if not cause.rule.scheduler:
        return False
    at = cause.bounds.lo
    silent = job.timeline.silent_before(at) if math.isfinite(at) else None
    waited = [t for t in (silent, at - effect.bounds.lo) if t is not None and math.isfinite(t)]
    if waited:
        return min(waited) > max(STILL, STILL_GAPS * (job.timeline.gap() or 0.0))
    source, place = cause.first.place
    return all(o.place[0] == source and o.place[1] < place for o in effect.occurrences)
