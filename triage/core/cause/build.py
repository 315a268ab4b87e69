"""The selection said as a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from triage.core.cause.blamed import named_by_launcher
from triage.core.cause.confidence import confidence_of
from triage.core.cause.facts import memory_facts
from triage.core.cause.frameworks import frameworks_of
from triage.core.cause.incident import Incident, Occurrence
from triage.core.cause.joblog import JobLog, Reason
from triage.core.cause.judge import outcome_of
from triage.core.cause.manifests import ALIKE, differences
from triage.core.cause.outcome import Outcome
from triage.core.cause.places import Locate, Places
from triage.core.cause.ranges import fold
from triage.core.cause.rootcause import Selection
from triage.core.cause.verdict import (
    FACT_NAMES,
    ChainLink,
    Downstream,
    FrameView,
    Root,
    Scanned,
    Verdict,
)
from triage.core.cause.where import short
from triage.core.events.model import Event, Exit, Frame, Link, Trace
from triage.core.lazy import lazy
from triage.core.rules.frames import phase_of
from triage.core.rules.model import Role, Rule
from triage.core.rules.template import fill

_ON_HOST = lazy(r"\bON (\S+) CANCELLED")

_ECHOED = frozenset({"nccl", "hardware", "cuda", "oom", "launcher", "network"})
"""Categories of lines whose process then dies in a traceback that tells the phase; elsewhere it dies of an aftermath."""
_JOB = lazy(r"\$JOB_ID\b")

_NODE_WORD = lazy(r"\bnode[ :=]+([A-Za-z][\w.-]*\d[\w.-]*)")


def build_verdict(
    job: JobLog, selection: Selection, locate: Locate, attempt: int, attempts: int, job_id: str | None
) -> Verdict:
    """Say what was selected; places are asked for only where evidence is shown."""
    outcome = outcome_of(job, selection)
    places = Places(locate)
    places.want([*_spans(selection, outcome), *((m.span.source, 0) for m in job.manifests)])
    root = _root(job, outcome, places) if outcome.failed else None
    facts = {name: job.facts.get(name) for name in FACT_NAMES}
    if outcome.occurrence is not None:
        facts.update({k: v for k, v in memory_facts(outcome.occurrence.captures).items() if v is not None})
    missing = _missing_ranks(job)
    values = _values(outcome, root, facts, job_id) | dict.fromkeys(frameworks_of(job), "")
    reasons = (*_who(outcome, root), *outcome.reasons, *_torchrun_says(job, root), *_missing_reason(missing))
    uneven = tuple(differences(job.manifests))
    own = root.rank if root is not None else None
    sure = confidence_of(selection, outcome, root, missing)
    reasons = (*reasons, *uneven, *(Reason(f"confidence is {sure.level}: {why}") for why in sure.doubts))
    downstream = _rows(outcome.downstream, places, own)
    return Verdict(
        failed=outcome.failed,
        category=outcome.category,
        rule=outcome.rule.id if outcome.rule else outcome.rule_id,
        ended=outcome.ended,
        confidence=sure.level,
        summary=_summary(outcome, values),
        root=root,
        facts=facts,
        downstream=downstream,
        next_steps=(
            (*_next_steps(outcome.advice or outcome.rule, values), *([ALIKE] if uneven else []))
            if outcome.failed
            else ()
        ),
        reasons=tuple(places.say(r) for r in reasons),
        unexplained=_rows(outcome.unexplained, places, None),
        attempt=attempt,
        attempts=attempts,
        scanned=Scanned(ranks=fold(job.ranks_seen), ranks_missing=fold(missing)),
    )


def _spans(selection: Selection, outcome: Outcome) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    shown: list[Event] = [i.first.event for i in (*outcome.downstream, *outcome.unexplained)]
    if outcome.occurrence is not None:
        shown.append(outcome.occurrence.event)
    for event in shown:
        spans.append((event.span.source, event.span.first))
        spans.append((event.span.source, max(event.span.first, event.span.last - 1)))
    for reason in (*outcome.reasons, *selection.reasons):
        spans.extend(reason.places)
    return spans


def _root(job: JobLog, outcome: Outcome, places: Places) -> Root | None:
    o = outcome.occurrence
    if o is None:
        return None
    culprit = outcome.culprit
    rank, local, node, attribution = o.where.rank, o.where.local_rank, o.where.node, o.where.attribution
    ranks: Iterable[int] = outcome.root.ranks if outcome.root else ()
    if culprit is not None:
        rank, node, attribution = culprit.rank, culprit.node, culprit.attribution
        local = rank % job.world.per_node if rank is not None and job.world.per_node else None
        ranks = culprit.ranks
    elif rank is None and outcome.named is not None:
        where = outcome.named.where
        rank, local, node, attribution = where.rank, where.local_rank, where.node or node, "inferred"
    elif rank is None and (named := named_by_launcher(job, o)):
        rank, local = named.rank, named.local_rank
        node = node if named.node is None or (node and short(node) == short(named.node)) else named.node
        attribution = "none" if rank is None else "inferred"
    if rank is not None and node is None:
        node = job.world.host_of.get(rank)
    blamed = _blamed_node(job, o)
    if blamed is not None and o.where.rank is None and _is_elsewhere(job, rank, blamed):
        rank, local, attribution, ranks = None, None, "none", ()
    node = blamed or node or _named_node(job, o)
    if node is None and rank is None and not o.rule.scheduler:
        node = job.world.first_host
    link = o.exception
    echo = _echo(outcome, o, rank)
    time, time_source = _time(job, o)
    return Root(
        rank=rank,
        ranks=fold({*ranks, *([rank] if rank is not None else [])}),
        local_rank=local,
        node=node,
        gpu=_gpu(o),
        time=time,
        time_source=time_source,
        exception=link.exception if link and o.rule.role is not Role.TEARDOWN else None,
        message=_message(outcome, o),
        frame=_frame(link),
        chain=_chain(o, echo),
        phase=_phase(job, outcome, echo),
        attribution=attribution,
        evidence=places.evidence(o.event.span),
    )


def _blamed_node(job: JobLog, o: Occurrence) -> str | None:
    """The node that the line's own words blame, or the one that the same failure's other lines do: whoever printed it
    may run elsewhere."""
    if own := o.captures.get("failed_node") or o.captures.get("node"):
        return own
    if not o.rule.scheduler:
        return None
    told = {
        node for x in job.occurrences if x.rule.id == o.rule.id and (node := x.captures.get("failed_node"))
    }
    return told.pop() if len(told) == 1 else None


def _is_elsewhere(job: JobLog, rank: int | None, node: str) -> bool:
    """A rank that a launcher saw fail, while the line blames a node that it does not run on."""
    host = job.world.host_of.get(rank) if rank is not None else None
    return host is not None and short(host) != short(node)


def _named_node(job: JobLog, o: Occurrence) -> str | None:
    """The node that the line names. The host after `ON` is only a step's first node: it counts where no other host
    is known."""
    if value := o.captures.get("host"):
        return value
    if said := _NODE_WORD.search(o.text[:2000]):
        return said[1]
    hosts = _hosts(job)
    on = _ON_HOST.search(o.text) if o.rule.scheduler else None
    if on is not None:
        return on[1] if {short(h) for h in hosts} <= {short(on[1])} else None
    return min(hosts, key=len) if len({short(h) for h in hosts}) == 1 else None


def _hosts(job: JobLog) -> set[str]:
    """All hosts that the logs name as the job's."""
    hosts = {*job.world.host_of.values(), *job.world.offset_of_host, *job.world.host_of_task.values()}
    hosts |= {s.node for s in job.sources if s.node} | {o.where.node for o in job.occurrences if o.where.node}
    return hosts | job.world.named_hosts | {e.where.node for e in job.exits if e.where.node}


def _message(outcome: Outcome, o: Occurrence) -> str:
    """The deciding line or exception; the scheduler says one thing for the job and again for its step: both lines."""
    link = o.exception
    if link is not None and o.rule.role is Role.TEARDOWN:
        return f"{link.exception}: {o.text}"
    if outcome.root is None or not o.rule.scheduler:
        return o.text
    same = [x.text for x in (*outcome.root.occurrences, *outcome.alike) if x.bounds == o.bounds]
    return "\n".join(list(dict.fromkeys([o.text, *same]))[:4])


def _gpu(o: Occurrence) -> int | None:
    number = o.captures.get("gpu")
    return int(number) if number is not None and number.isdigit() else None


def _time(job: JobLog, o: Occurrence) -> tuple[str | None, str]:
    if o.event.when.at is not None:
        shown = job.clock.shown(o.event.when.at)
        return (shown, "line") if shown is not None else (None, "none")
    for e in job.exits:
        if (
            e.exit.time is not None
            and e.failing
            and e.where.rank is not None
            and e.where.rank == o.where.rank
        ):
            shown = job.clock.shown(e.exit.time)
            return (shown, "elastic") if shown is not None else (None, "none")
    return None, "none"


def _frame(link: Link | None) -> FrameView | None:
    return _view(link.frames[-1]) if link and link.frames else None


def _view(frame: Frame) -> FrameView:
    return FrameView(frame.file, frame.line, frame.function)


def _echo(outcome: Outcome, o: Occurrence, rank: int | None) -> Trace | None:
    """Where a line is the root: the traceback in which the same process, or the first victim, then died."""
    if isinstance(o.event, Trace) or o.rule.scheduler:
        return None
    incidents = (*((outcome.root,) if outcome.root else ()), *outcome.downstream)
    traces = [
        x
        for i in incidents
        if i.rule.role is not Role.TEARDOWN
        for x in i.occurrences
        if isinstance(x.event, Trace)
    ]
    own = [x for x in traces if rank is not None and x.where.rank == rank]
    near = own or [
        x for x in traces if x.where.rank is None and x.place[0] == o.place[0] and x.place[1] > o.place[1]
    ]
    first = min(near, key=lambda x: x.place[1], default=None)
    return first.event if first is not None and isinstance(first.event, Trace) else None


def _chain(o: Occurrence, echo: Trace | None) -> tuple[ChainLink, ...]:
    if echo is not None:
        links = tuple(ChainLink(x.exception, x.message, _frame(x)) for x in echo.links)
        return (ChainLink(None, o.text, None), *links)
    if not isinstance(o.event, Trace) or len(o.event.links) < 2:
        return ()
    return tuple(ChainLink(x.exception, x.message, _frame(x)) for x in o.event.links)


def _phase(job: JobLog, outcome: Outcome, echo: Trace | None) -> str | None:
    """The phase that the stack or the rule tells. Once iterations were seen, `init` needs a frame that surely says it."""
    o = outcome.occurrence
    if o is None:
        return None
    trained = job.timeline.iterations > 1
    if isinstance(o.event, Trace):
        links = o.event.links
        own = links.index(o.exception) if o.exception in links else len(links) - 1
        for link in (links[own], *links[own + 1 :], *reversed(links[:own])):
            if phase := phase_of(link.frames, job.ruleset.frames, trained):
                return phase
    if echo is not None and o.rule.category in _ECHOED:
        for link in reversed(echo.links):
            if phase := phase_of(link.frames, job.ruleset.frames, trained):
                return phase
    return None if trained and o.rule.phase == "init" else o.rule.phase or None


def _rows(incidents: Sequence[Incident], places: Places, own: int | None) -> tuple[Downstream, ...]:
    """One row a rule, in the order of first sight. What only the root's own rank did is its aftermath, and no row."""
    by_rule: dict[str, list[Occurrence]] = {}
    for incident in incidents:
        others = [o for o in incident.occurrences if own is None or o.where.rank != own]
        if others:
            by_rule.setdefault(incident.rule.id, []).extend(others)
    return tuple(_row(found, places) for found in by_rule.values())


def _row(found: Sequence[Occurrence], places: Places) -> Downstream:
    ranks = {o.where.rank for o in found if o.where.rank is not None}
    return Downstream(
        found[0].rule.category,
        found[0].rule.id,
        fold(ranks),
        len(ranks) + any(o.where.rank is None for o in found),
        places.evidence(found[0].event.span),
    )


def _who(outcome: Outcome, root: Root | None) -> tuple[Reason, ...]:
    """What the root is and where it stands; a silent culprit's reasons say that themselves."""
    o = outcome.occurrence
    if o is None or root is None or outcome.culprit is not None or outcome.rule is None:
        return ()
    who = f"rank {root.rank}" if root.rank is not None else "a process whose rank is not written"
    if o.rule.scheduler and root.rank is None:
        who = "the scheduler"
    told = (Reason(f"{who}: {o.rule.title} ({{0}})", (o.place,)),)
    if outcome.root is None or outcome.root.ordered:
        return told
    how = "the lowest" if root.rank == min(outcome.root.ranks) else "the earliest by clocks that may disagree"
    return (*told, Reason(f"time does not order ranks {root.ranks}, which raised it alike: {how} is named"))


def _torchrun_says(job: JobLog, root: Root | None) -> tuple[Reason, ...]:
    """Where a launcher's summary names another rank as the first failure, say why it is overruled."""
    named = sorted(
        (e for e in job.exits if e.exit.first and e.exit.by == "torchrun" and e.where.rank is not None),
        key=lambda e: (e.time if e.time is not None else math.inf, e.where.rank or 0),
    )
    if not named or root is None or root.rank is None:
        return ()
    agreeing = [e for e in named if e.where.rank == root.rank]
    if agreeing:
        return (
            Reason(f"torchrun's summary names rank {root.rank} too ({{0}})", (_place(agreeing[0].exit),)),
        )
    return (
        Reason(
            f"torchrun's summary names rank {named[0].where.rank} as the first failure ({{0}}); overruled: it lists the "
            "earliest exit its node saw, in whole seconds, not the cause",
            (_place(named[0].exit),),
        ),
    )


def _place(event: Exit) -> tuple[int, int]:
    return (event.span.source, event.span.first)


def _missing_ranks(job: JobLog) -> frozenset[int]:
    """Ranks of the known world without a line; none where ranks share files, in which a line may be anybody's: of one
    rank's file alone nothing tells that the others have theirs, unless it is all there is."""
    size = job.world.size
    own_files = {s.rank for s in job.sources if s.rank is not None}
    alone = all(s.rank is not None for s in job.sources if s.kind == "log")
    if not size or size > 1 << 20 or len(own_files) < (1 if alone else 2):
        return frozenset()
    return frozenset(range(size)) - job.ranks_seen


def _missing_reason(missing: frozenset[int]) -> tuple[Reason, ...]:
    return (Reason(f"no line of rank(s) {fold(missing)} was seen"),) if missing else ()


def _values(
    outcome: Outcome, root: Root | None, facts: dict[str, int | float | None], job_id: str | None
) -> dict[str, object]:
    values: dict[str, object] = {k: v for k, v in facts.items() if v is not None}
    if job_id is not None:
        values["job_id"] = job_id
    if outcome.occurrence is not None:
        values.update(outcome.occurrence.captures)
    if root is not None:
        values["message"] = root.message.partition("\n")[0]
        if root.ranks not in ("", str(root.rank)):
            values["ranks"] = root.ranks
        for name in ("rank", "node", "local_rank", "gpu", "exception"):
            if (value := getattr(root, name)) is not None:
                values[name] = value
    values.update(outcome.values)
    return values


def _summary(outcome: Outcome, values: dict[str, object]) -> str:
    if outcome.summary:
        return outcome.summary
    filled = fill(outcome.rule.summary, values) if outcome.rule else None
    return _writer(values) + (filled or (outcome.rule.title if outcome.rule else outcome.category))


def _writer(values: dict[str, object]) -> str:
    rank, node = values.get("rank"), values.get("node")
    if (ranks := values.get("ranks")) is not None:
        return f"ranks {ranks}: "
    if rank is None and node is None:
        return ""
    if rank is None:
        return f"{node}: "
    return f"rank {rank}{f' ({node})' if node else ''}: "


def _next_steps(rule: Rule | None, values: dict[str, object]) -> tuple[str, ...]:
    """The steps that can be filled; a shell's `$JOB_ID` gives way to the job's id where that is known."""
    if rule is None:
        return ()
    job = values.get("job_id")
    steps = rule.next_steps if job is None else (_JOB.sub("{job_id}", step) for step in rule.next_steps)
    return tuple(step for template in steps if (step := fill(template, values)))
