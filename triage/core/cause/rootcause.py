"""Which incident is the root: a pure selection in which each step leaves its reason.

Order of belief: a Python failure that is not NCCL's, the first in time; the scheduler's own word, which outranks what
its signals provoke; a process killed by a signal; collective failures, for which the culprit is looked for among the
ranks that are silent; and last, exits that nobody explains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from triage.core.cause.aftermath import by_itself, came_too_late, is_aftermath
from triage.core.cause.clock import SKEW
from triage.core.cause.edges import explains
from triage.core.cause.handled import survived
from triage.core.cause.incident import Incident, is_bare, is_soft, same_stream_before
from triage.core.cause.joblog import JobLog, Reason
from triage.core.cause.symptom import earliest
from triage.core.cause.where import short
from triage.core.events.model import Exit, Message, Trace
from triage.core.rules.model import FALLBACK, WEAK, Role
from triage.core.values import dataclass, replace

COMPARED = 200
"""Different failures that are weighed against one another."""
NEAR = 4 << 10
"""Bytes within which two lines of one stream are about one failure."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The root and what becomes of everything else; each live incident is in exactly one place."""

    root: Incident | None
    downstream: tuple[Incident, ...] = ()
    unexplained: tuple[Incident, ...] = ()
    advice: tuple[Incident, ...] = ()
    survived: tuple[Incident, ...] = ()
    reasons: tuple[Reason, ...] = ()
    named: Incident | None = None
    """The line that the root's traceback speaks for, where it knows a rank that the traceback does not."""
    rivals: tuple[Incident, ...] = ()
    """The other candidates of which time does not say that the root came before them."""
    ordered: bool = True
    """False when time does not say that the root came before the other candidates."""


def select(job: JobLog) -> Selection:
    """Choose the root among the incidents of one attempt."""
    live, gone = _split_survived(job)
    advice = tuple(i for i in live if i.role is Role.ADVICE)
    live = [i for i in live if i.role is not Role.ADVICE]
    reasons: list[Reason] = []
    if gone:
        o = gone[0][0].first
        reasons.append(Reason(f"{len(gone)} earlier problem(s) survived: {gone[0][1]} ({{0}})", (o.place,)))
    candidates = _candidates(live, job, reasons)
    if not candidates:
        return Selection(
            None,
            unexplained=tuple(live),
            advice=advice,
            survived=tuple(i for i, _ in gone),
            reasons=tuple(reasons),
        )
    root, named, rivals = _first(candidates, job, reasons)
    ordered = not rivals
    downstream, unexplained = _place_rest(root, live, job)
    if (rival := _perhaps_before(root, downstream)) is not None:
        ordered = False
        places = (rival.first.place, root.first.place)
        reasons.append(Reason("nothing says that {0} came after the scheduler's word ({1})", places))
    return Selection(
        root,
        tuple(downstream),
        tuple(unexplained),
        advice,
        tuple(i for i, _ in gone),
        tuple(reasons),
        named,
        rivals,
        ordered,
    )


def _split_survived(job: JobLog) -> tuple[list[Incident], list[tuple[Incident, str]]]:
    live: list[Incident] = []
    gone: list[tuple[Incident, str]] = []
    for incident in job.incidents:
        why = {id(o): survived(o, job) for o in incident.occurrences}
        kept = tuple(o for o in incident.occurrences if why[id(o)] is None)
        lost = tuple(o for o in incident.occurrences if why[id(o)] is not None)
        if kept:
            live.append(replace(incident, occurrences=kept))
        if lost:
            gone.append((replace(incident, occurrences=lost), why[id(lost[0])] or ""))
    return live, gone


def _candidates(live: Sequence[Incident], job: JobLog, reasons: list[Reason]) -> list[Incident]:
    """The incidents of the strongest kind that is present, those explained by another one taken out."""
    roots = [i for i in live if i.role is Role.ROOT and not i.rule.scheduler and i.rule.specificity > WEAK]
    fallback = [
        i for i in live if i.role is Role.ROOT and not i.rule.scheduler and i.rule.specificity <= FALLBACK
    ]
    scheduler = [i for i in live if i.rule.scheduler and i.role is Role.ROOT]
    strong = [i for i in scheduler if not _plain_cancel(i) and not came_too_late(i, live)]
    weak = [
        i for i in live if i.role is Role.ROOT and FALLBACK < i.rule.specificity <= WEAK and by_itself(i, job)
    ]
    weak = [i for i in weak if not is_aftermath(i, live)]
    roots = [i for i in roots if not is_aftermath(i, live)]
    if strong:
        roots, fallback = ([i for i in found if not is_bare(i)] for found in (roots, fallback))
    roots = _not_after_scheduler([*roots, *fallback], strong, reasons)
    for tier in (_tier(roots, strong, job), strong, weak, _plain_cancels(scheduler, live)):
        if tier:
            return _unexplained(_likeliest(tier, job), job)
    downstream = [i for i in live if i.role is Role.DOWNSTREAM and not _ends_a_failed_step(i, job)]
    if not downstream:
        return []
    reasons.append(Reason("no Python traceback that is not NCCL's own, on any rank"))
    collective = [i for i in downstream if i.category == "nccl"] or downstream
    return [earliest(collective)]


def _tier(roots: list[Incident], strong: list[Incident], job: JobLog) -> list[Incident]:
    """Roots, together with scheduler statements that came before them."""
    if not roots:
        return []
    early = [s for s in strong if all(s.bounds.before(r.bounds) or explains(s, r, job) for r in roots)]
    return early or roots


def _plain_cancel(incident: Incident) -> bool:
    """`CANCELLED AT` without a reason: a person's scancel, or only the aftermath of a failed task."""
    return incident.category == "cancelled"


def _plain_cancels(scheduler: list[Incident], live: Sequence[Incident]) -> list[Incident]:
    if any(i.role is Role.DOWNSTREAM and i.category == "nccl" for i in live):
        return []
    return [i for i in scheduler if _plain_cancel(i)]


def _ends_a_failed_step(incident: Incident, job: JobLog) -> bool:
    """A plain `CANCELLED AT` behind a task that failed, without a step of training in between: srun cancels a step
    after a bad exit by itself."""
    if not (incident.rule.scheduler and _plain_cancel(incident)):
        return False
    source, at = incident.first.place
    signs = [s.progress.span for s in job.timeline.signs]
    exits = [e.exit.span for e in job.failing_exits()]
    return any(
        e.source == source
        and e.first < at
        and not any(s.source == source and e.first < s.first < at for s in signs)
        for e in exits
    )


def _not_after_scheduler(
    roots: list[Incident], strong: list[Incident], reasons: list[Reason]
) -> list[Incident]:
    """Without the tracebacks that come behind the scheduler's statement in its own stream or by the clock."""
    kept = []
    for root in roots:
        told = next((s for s in strong if _behind(root, s)), None)
        if told is None:
            kept.append(root)
        else:
            reasons.append(
                Reason(
                    "the scheduler's word ({0}) comes before the traceback it provoked ({1})",
                    (told.first.place, root.first.place),
                )
            )
    return kept


def _behind(root: Incident, told: Incident) -> bool:
    if told.bounds.before(root.bounds, 0.0):
        return True
    source, at = told.first.place
    return all(o.place[0] == source and o.place[1] > at for o in root.occurrences)


def _likeliest(tier: list[Incident], job: JobLog) -> list[Incident]:
    """So many that they can all be compared with one another."""
    if len(tier) <= COMPARED:
        return tier
    return sorted(tier, key=lambda i: _preference(i, job))[:COMPARED]


def _unexplained(tier: list[Incident], job: JobLog) -> list[Incident]:
    left = [
        b
        for b in tier
        if not any(a is not b and explains(a, b, job) and not explains(b, a, job) for a in tier)
    ]
    return left or tier


def _first(
    candidates: list[Incident], job: JobLog, reasons: list[Reason]
) -> tuple[Incident, Incident | None, tuple[Incident, ...]]:
    """The earliest; where time does not order them, the one that says most."""
    candidates = _firm(candidates)
    earliest = [
        c
        for c in candidates
        if not any(o is not c and (o.bounds.before(c.bounds) or same_stream_before(o, c)) for o in candidates)
    ] or candidates
    said = min(earliest, key=lambda i: _preference(i, job))
    best = _speaker(said, candidates)
    others = [c for c in candidates if c is not best]
    rivals = tuple(
        c for c in others if not (best.bounds.before(c.bounds, _skew(best, c)) or same_stream_before(best, c))
    )
    if others:
        how = "is the first in time" if not rivals else "says most; time alone does not order them"
        reasons.append(
            Reason(
                f"of {len(candidates)} failures that could be the root, {{0}} {how} (next: {{1}})",
                (best.first.place, others[0].first.place),
            )
        )
    return best, _named(best, said, candidates), rivals


def _firm(candidates: list[Incident]) -> list[Incident]:
    """Without mere warnings and logged tracebacks, unless nothing else is there or they are about the same failure."""
    firm = [c for c in candidates if not is_soft(c)]
    if not firm:
        return candidates
    return [
        c
        for c in candidates
        if c in firm or any(f.category == c.category and _may_be_one(c, f) for f in firm)
    ]


def _speaker(best: Incident, candidates: list[Incident]) -> Incident:
    """Of a line and a traceback of the same process about the same thing, the traceback says more (whatever its rule, if
    the line was mere information); of two lines close together, the more specific one."""
    event = best.first.event
    if isinstance(event, Trace):
        return best
    informs = isinstance(event, Message) and event.level[:1] in ("I", "D")
    alike = [c for c in candidates if c is not best and c.category == best.category and _may_be_one(best, c)]
    for other in alike:
        if isinstance(other.first.event, Trace) and (other.rule is best.rule or informs):
            return other
    source, at = best.first.place
    near = [c for c in alike if c.first.place[0] == source and 0 <= c.first.place[1] - at <= NEAR]
    return max([best, *near], key=lambda c: (c.rule.specificity, c is best))


def _named(best: Incident, said: Incident, candidates: list[Incident]) -> Incident | None:
    """A line about the same failure that knows whose it is, where the traceback does not."""
    if best.ranks:
        return None
    if said is not best and said.ranks:
        return said
    same = [c for c in candidates if c.rule is best.rule and len(c.ranks) == 1 and _may_be_one(best, c)]
    return same[0] if len({r for c in same for r in c.ranks}) == 1 else None


def _may_be_one(a: Incident, b: Incident) -> bool:
    if a.ranks and b.ranks:
        return bool(a.ranks & b.ranks)
    nodes = {o.where.node for o in a.occurrences} & {o.where.node for o in b.occurrences}
    return bool(nodes) or bool({o.place[0] for o in a.occurrences} & {o.place[0] for o in b.occurrences})


def _skew(a: Incident, b: Incident) -> float:
    """Seconds by which the clocks of two incidents may disagree: none where one host's clock stamped both."""
    one_source = len({o.place[0] for i in (a, b) for o in i.occurrences}) == 1
    hosts = {o.where.node for i in (a, b) for o in i.occurrences}
    return 0.0 if one_source or (len(hosts) == 1 and None not in hosts) else SKEW


def _preference(incident: Incident, job: JobLog) -> tuple[object, ...]:
    o = incident.first
    first_exit = {e.where.rank for e in job.exits if e.exit.first and e.failing}
    first_host = job.world.first_host
    logged = isinstance(o.event, Trace) and o.event.logged
    fallback = incident.rule.specificity <= FALLBACK
    return (
        logged,
        fallback,
        isinstance(o.event, Message) and o.event.level[:1] in ("W", "I", "D"),
        not any(x.killed for x in incident.occurrences),
        not (incident.ranks & first_exit),
        first_host is None or o.where.node is None or short(o.where.node) != short(first_host),
        o.bounds.guess if math.isfinite(o.bounds.guess) else math.inf,
        -incident.rule.specificity,
        len(incident.ranks) or 1 << 20,
        incident.fingerprint,
    )


def _place_rest(
    root: Incident, live: Sequence[Incident], job: JobLog
) -> tuple[list[Incident], list[Incident]]:
    downstream: list[Incident] = []
    unexplained: list[Incident] = []
    for incident in live:
        if incident is root:
            continue
        explained = (
            incident.role in (Role.DOWNSTREAM, Role.TEARDOWN)
            or isinstance(incident.first.event, Exit)
            or (incident.rule is root.rule and _may_be_one(root, incident))
            or explains(root, incident, job)
            or root.bounds.before(incident.bounds, _skew(root, incident))
            or _killed_what_was_left(root, incident)
            or (bool(incident.ranks) and incident.ranks <= root.ranks)
            or same_stream_before(root, incident)
            or incident.rule.specificity <= WEAK
        )
        (downstream if explained else unexplained).append(incident)
    return downstream, unexplained


def _killed_what_was_left(root: Incident, incident: Incident) -> bool:
    """The time limit, a cancel or a requeue ends what a failure has left behind."""
    kills = incident.rule.scheduler and incident.category in ("timeout", "cancelled", "preempted")
    return kills and not root.rule.scheduler and not incident.bounds.before(root.bounds)


def _perhaps_before(told: Incident, downstream: Sequence[Incident]) -> Incident | None:
    """A failure of the program that the scheduler's word explains, though neither lines nor clocks put it behind it."""
    if not told.rule.scheduler:
        return None
    own = (i for i in downstream if i.role is Role.ROOT and not i.rule.scheduler)
    return next((i for i in own if i.category != told.category and not _behind(i, told)), None)
