"""Who is to blame when only collectives failed: the selection's view of the search in `collectives.py`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from triage.core.cause.collectives import find_culprit
from triage.core.cause.groups import Sizes
from triage.core.cause.incident import Incident, Occurrence
from triage.core.cause.joblog import JobLog, Reason
from triage.core.cause.outcome import Blame
from triage.core.cause.peers import call_of, common_peer, group_of
from triage.core.cause.situation import RankError, RankExit, Seen, Situation
from triage.core.lazy import lazy

_TIMEOUT = lazy(r"[Tt]imed out|[Tt]imeout|time ?out", re.ASCII)
_CLOSED = lazy(
    r"[Cc]losed|reset by peer|Broken pipe|refused|remote peer|remote process exited|network error|ncclRemoteError",
    re.ASCII,
)


def culprit_of(job: JobLog, symptoms: Sequence[Incident]) -> Blame:
    """Ask the collectives who is behind, absent or in another collective."""
    errors = tuple(
        RankError(o.where.rank, _kind(o), o.where.node, _finite(o.bounds.guess), call_of(o.exception.frames))
        for i in symptoms
        for o in i.occurrences
        if o.where.rank is not None and o.exception is not None
    )
    found = find_culprit(
        [Seen(c.event, c.where.rank, c.where.node, _finite(c.bounds.guess)) for c in job.collectives],
        _situation(job, errors),
    )
    if not found.ranks and not found.nodes and (missing := _missing_peer(job, symptoms)) is not None:
        why = f"rank {missing} is the one rank that shares a group with all that lost a peer, and reported nothing"
        return Blame(missing, job.world.host_of.get(missing), (missing,), "inferred", False, (Reason(why),))
    rank = found.ranks[0] if len(found.ranks) == 1 else None
    node = found.nodes[0] if len(found.nodes) == 1 else None
    if rank is not None and node is None:
        node = job.world.host_of.get(rank)
    if rank is None and node is not None:
        rank = _only_rank_on(node, job)
    texts = [found.why] if found.why else []
    texts += [f"not known: {found.unknown}"] if found.unknown else []
    return Blame(
        rank,
        node,
        found.ranks,
        "inferred" if rank is not None or node is not None else "none",
        found.confident,
        tuple(Reason(t) for t in texts),
        found.how,
    )


def _missing_peer(job: JobLog, symptoms: Sequence[Incident]) -> int | None:
    victims = {
        o.where.rank: group
        for i in symptoms
        for o in i.occurrences
        if o.where.rank is not None
        and o.exception is not None
        and _kind(o) == "closed"
        and (group := group_of(o.exception.frames)) is not None
    }
    return common_peer(victims.items(), _sizes(job, _likely_world(job)))


def _likely_world(job: JobLog) -> int | None:
    """The world's size; where nothing states it, that of the ranks a launcher named, if it fits the parallel sizes."""
    if job.world.size is not None:
        return job.world.size
    ranks = {e.where.rank for e in job.exits if e.where.rank is not None}
    size = max(ranks, default=-1) + 1
    return size if len(ranks) == size > 1 else None


def _sizes(job: JobLog, world: int | None) -> Sizes:
    facts = {k: int(v) for k, v in job.facts.items() if isinstance(v, int)}
    return Sizes(world, facts.get("tp"), facts.get("cp"), facts.get("pp"), facts.get("dp"), facts.get("ep"))


def _only_rank_on(node: str, job: JobLog) -> int | None:
    """The node's rank, where it runs one process only."""
    here = {r for r, host in job.world.host_of.items() if host.split(".")[0] == node.split(".")[0]}
    return here.pop() if len(here) == 1 and job.world.per_node == 1 else None


def _situation(job: JobLog, errors: tuple[RankError, ...]) -> Situation:
    hosts: dict[int, str | None] = {r: job.world.host_of.get(r) for r in job.ranks_seen}
    hosts.update(job.world.host_of)
    nodes = {s.node for s in job.sources if s.node is not None}
    return Situation(
        sizes=_sizes(job, job.world.size),
        per_node=job.world.per_node,
        hosts=hosts,
        nodes=tuple(sorted(nodes)),
        logged=_logged(job, hosts, nodes),
        errors=errors,
        exits=tuple(
            RankExit(
                e.where.rank, e.exit.exitcode, e.where.node, e.exit.first, e.exit.victim,
                "forcefully" in e.exit.reason or "Unable to shutdown" in e.exit.reason, e.time,
            )
            for e in job.exits
        ),
    )  # fmt: skip


def _logged(job: JobLog, hosts: dict[int, str | None], nodes: set[str]) -> frozenset[int]:
    """Ranks whose output would be in the files given: a file of their own, or the common one of their node or job."""
    own = {s.rank for s in job.sources if s.rank is not None}
    logged = {r for r, host in hosts.items() if host in nodes} | own
    if own:
        return frozenset(logged)
    per_node = job.world.per_node
    if per_node and per_node <= 1 << 10:
        for first in {r // per_node * per_node for r in logged}:
            logged.update(range(first, first + per_node))
    if not nodes:
        logged.update(range(max(hosts, default=-1) + 1))
    return frozenset(logged)


def _kind(o: Occurrence) -> str:
    if _TIMEOUT.search(o.text):
        return "timeout"
    return "closed" if _CLOSED.search(o.text) else "other"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
