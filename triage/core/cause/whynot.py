"""Why a rank's failure is not the root: the selection's other side, told for one rank."""

from __future__ import annotations

from triage.core.cause.explain import Explained
from triage.core.cause.incident import Incident, Occurrence
from triage.core.cause.joblog import Reason
from triage.core.cause.ranges import fold
from triage.core.rules.model import Role


def why_not(explained: Explained, rank: int) -> tuple[Reason, ...]:
    """Sentences with places, most telling first."""
    verdict, selection, job = explained.verdict, explained.selection, explained.job
    root = verdict.root
    if root is not None and root.rank == rank:
        return (Reason(f"rank {rank} is the root: {verdict.summary}"),)
    if selection.root is not None and rank in selection.root.ranks:
        blamed = root.rank if root is not None else None
        if blamed is not None and blamed not in selection.root.ranks:
            text = (
                f"rank {rank} only reported it ({{0}}): it waited for rank {blamed}, which the reasons blame"
            )
            return (Reason(text, (_of(selection.root, rank).place,)),)
        return (
            Reason(
                f"rank {rank} raised the same failure as the root ({{0}}); it is not the first of them",
                (_of(selection.root, rank).place,),
            ),
        )
    told: list[Reason] = []
    for incident in (*selection.downstream, *selection.unexplained):
        if rank in incident.ranks:
            told.append(_downstream(incident, _of(incident, rank), explained))
    for incident in selection.survived:
        if rank in incident.ranks:
            o = _of(incident, rank)
            told.append(
                Reason(
                    f"rank {rank}: {incident.rule.title} ({{0}}) was survived: the run went on", (o.place,)
                )
            )
    if told:
        once: dict[tuple[object, ...], Reason] = {}
        for reason in told:
            once.setdefault(_said(reason), reason)
        return tuple(once.values())
    size = job.world.size
    if size is not None and rank >= size:
        return (Reason(f"there is no rank {rank}: the world has {size}"),)
    if rank in job.ranks_seen:
        return (Reason(f"rank {rank} wrote lines, and none of them tells of a failure"),)
    known = f"; seen were ranks {fold(job.ranks_seen)}" if job.ranks_seen else ""
    return (Reason(f"no line of rank {rank} was seen: the logs do not clear it{known}"),)


def _said(reason: Reason) -> tuple[object, ...]:
    """What reads the same but for the lines of one file is told once, with the first of them."""
    return (reason.text, *(source for source, _ in reason.places))


def _of(incident: Incident, rank: int) -> Occurrence:
    return next(o for o in incident.occurrences if o.where.rank == rank)


def _downstream(incident: Incident, o: Occurrence, explained: Explained) -> Reason:
    selection, job = explained.selection, explained.job
    what = f"rank {o.where.rank}: {incident.rule.title} ({{0}})"
    root = selection.root
    if root is None or root is incident:
        return Reason(f"{what} is a symptom: it waited for somebody who did not come", (o.place,))
    first = root.first
    if incident.role is Role.TEARDOWN:
        return Reason(
            f"{what} was the launcher ending it after the root failed ({{1}})", (o.place, first.place)
        )
    if edges := job.ruleset.explains(root.rule, incident.rule):
        return Reason(f"{what} is explained by the root ({{1}}): {edges[0].why}", (o.place, first.place))
    if root.bounds.before(incident.bounds):
        return Reason(f"{what} comes after the root ({{1}})", (o.place, first.place))
    if incident.role is Role.DOWNSTREAM:
        return Reason(
            f"{what} only reports that another rank went away; the root is at {{1}}", (o.place, first.place)
        )
    return Reason(
        f"{what} might be a second failure; what says that the root ({{1}}) is first is in the verdict's reasons",
        (o.place, first.place),
    )
