"""One attempt's events to its verdict: resolve who and when, select the root, and say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triage.core.cause.attempts import Attempt
from triage.core.cause.build import build_verdict
from triage.core.cause.clock import Bounds, Clock
from triage.core.cause.facts import merge_facts
from triage.core.cause.incident import Occurrence, group, is_statement
from triage.core.cause.joblog import JobLog, ResolvedExit, SeenCollective
from triage.core.cause.jobs import Fed
from triage.core.cause.keeper import Kept, is_crowd
from triage.core.cause.placement import build_world
from triage.core.cause.places import Locate
from triage.core.cause.rootcause import Selection, select
from triage.core.cause.timeline import build_timeline
from triage.core.cause.verdict import Verdict
from triage.core.cause.where import Where, World
from triage.core.events.model import Collective, Event, Exit, Facts, Manifest, Message, Progress, Trace, Words
from triage.core.lazy import lazy
from triage.core.logs.record import Stamp, Tags
from triage.core.logs.source import Source
from triage.core.rules.ruleset import RuleSet
from triage.core.values import dataclass

_PCI = lazy(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.|\Z)")
"""NCCL prints the same as one hexadecimal number (src/misc/utils.cc, `busIdToInt64`)."""
_PID = lazy(r"\bpid=(\d{1,10})\b")
_RECEIVED = lazy(r"\breceived by PID (\d{1,10})\b")
_SPAWNED = lazy(r"\b[Pp]roc(?:ess|ces) (\d{1,6}) terminated with (?:the following error|signal|exit code)")


@dataclass(frozen=True, slots=True)
class Explained:
    """A verdict and what it was chosen from."""

    verdict: Verdict
    selection: Selection
    job: JobLog


def explain_attempt(
    attempt: Attempt,
    attempts: Sequence[Attempt],
    feeds: Sequence[Fed],
    ruleset: RuleSet,
    locate: Locate,
    job_id: str | None = None,
) -> Explained:
    """The verdict on one attempt, as if the others had not been."""
    everything = [k.event for a in attempts for k in a.kept]
    job = resolve(attempt, feeds, ruleset, everything)
    selection = select(job)
    verdict = build_verdict(job, selection, locate, attempt.number, len(attempts), job_id)
    return Explained(verdict, selection, job)


def resolve(attempt: Attempt, feeds: Sequence[Fed], ruleset: RuleSet, everything: Sequence[Event]) -> JobLog:
    """Who did what when, on one axis of ranks and one of time; where ranks run is learnt from all attempts."""
    sources = [feed.source for feed in feeds]
    events = [k.event for k in attempt.kept]
    facts = merge_facts(
        [e for e in events if isinstance(e, Facts)], [e for e in events if isinstance(e, Progress)]
    )
    world = build_world(sources, everything, facts)
    if facts.get("world_size") is None and world.size is not None:
        facts["world_size"] = world.size
    clock = Clock(_stamps(attempt.kept))
    writers = _Writers(world, sources)
    exits = _exits(attempt.kept, writers, clock)
    collectives: list[SeenCollective] = []
    occurrences = _occurrences(attempt.kept, writers, clock, exits, collectives)
    return JobLog(
        sources=sources,
        world=world,
        clock=clock,
        timeline=build_timeline(events, clock),
        incidents=group(occurrences),
        occurrences=occurrences,
        exits=exits,
        collectives=collectives,
        ruleset=ruleset,
        facts=facts,
        manifests=sorted((e for e in events if isinstance(e, Manifest)), key=lambda e: e.node_rank),
        words=[(e, writers.of(e)) for e in events if isinstance(e, Words)],
        cut=[
            (k.event, writers.of(k.event))
            for k in attempt.kept
            if isinstance(k.event, Trace)
            and k.deciding is None
            and not k.event.complete
            and not k.event.logged
        ],
        stamps=_line_times(feeds, clock),
        ranks_seen=_ranks_seen(feeds, world, attempt),
    )


class _Writers:
    """Who wrote an event. What one process wrote in a source shares one value."""

    def __init__(self, world: World, sources: Sequence[Source]) -> None:
        self.world = world
        self.sources = sources
        self._source = -1
        self._known: dict[Tags, Where] = {}
        self._same: dict[Where, Where] = {}
        """Those of the source that was asked for last."""

    def of(self, event: Event) -> Where:
        index, tags = event.span.source, event.tags
        if self._source != index:
            self._source, self._known, self._same = index, {}, {}
        if tags not in self._known:
            where = self.world.resolve(self.sources[index], index, tags)
            self._known[tags] = self._same.setdefault(where, where)
        return self._known[tags]


def _stamps(kept: Sequence[Kept]) -> list[Stamp]:
    found: list[Stamp] = []
    for k in kept:
        found.extend(s for s in (k.event.when.at, k.event.when.after, k.event.when.before) if s is not None)
        if isinstance(k.event, Exit) and k.event.time is not None:
            found.append(k.event.time)
    return found


def _exits(kept: Sequence[Kept], writers: _Writers, clock: Clock) -> list[ResolvedExit]:
    world, sources = writers.world, writers.sources
    found = []
    for k in kept:
        if not isinstance(k.event, Exit):
            continue
        event = k.event
        source = sources[event.span.source]
        where = writers.of(event)
        if event.rank is not None:
            where = Where(
                event.rank, event.local_rank, world.host_of.get(event.rank) or event.host or where.node, "tag"
            )
        elif event.local_rank is not None:
            node = event.host or where.node
            base = world.offset_of_source.get(event.span.source)
            if base is None and node is not None:
                base = world.offset_of_host.get(node)
            rank = None if base is None else base + event.local_rank
            where = Where(rank, event.local_rank, node, "none" if rank is None else "tag")
            if rank is None and event.by == "python":
                where = world.spawned(source, event.span.source, event.tags, event.local_rank)
        elif event.ranks and world.task_is_rank:
            where = Where(event.ranks[0], None, event.host or where.node, "tag")
        elif event.by != "lightning":
            where = Where(None, None, event.host or where.node)
        found.append(ResolvedExit(event, where, clock.seconds(event.time or event.when.at)))
    return found


def _occurrences(
    kept: Sequence[Kept],
    writers: _Writers,
    clock: Clock,
    exits: Sequence[ResolvedExit],
    collectives: list[SeenCollective],
) -> list[Occurrence]:
    """What rules matched; `collectives` get those on the way, for neighbours share who and when."""
    world, sources = writers.world, writers.sources
    ended: dict[int, float] = {}
    died: set[int] = set()
    for e in exits:
        if e.where.rank is not None and e.failing:
            died.add(e.where.rank)
            if e.time is not None and e.exit.by == "torchrun":
                ended[e.where.rank] = min(e.time, ended.get(e.where.rank, e.time))
    where_of_exit = {id(e.exit): e.where for e in exits}
    found: list[Occurrence] = []
    for k in kept:
        event, match = k.event, k.deciding
        if isinstance(event, Collective):
            collectives.append(SeenCollective(event, writers.of(event), clock.bounds(event.when)))
        if match is None:
            continue
        where = where_of_exit.get(id(event)) or _by_pid(
            match.captures, sources[event.span.source], event, world
        )
        where = (
            where or _by_bus(match.captures, sources[event.span.source], event, world) or writers.of(event)
        )
        if where.rank is None and match.captures.get("rank", "").isdigit():
            where = Where(int(match.captures["rank"][:9]), None, where.node, "tag")
        if where.rank is None and (spawned := _spawned(event)) is not None:
            where = world.spawned(sources[event.span.source], event.span.source, event.tags, spawned)
        if (said := _rank_in_chain(event, match.link)) is not None:
            where = Where(said, None, world.host_of.get(said) or where.node, "tag")
        if isinstance(event, Message) and is_statement(match.rule, event.text):
            where = Where(node=where.node)  # the label is that of the task through which the line came
        bounds = clock.bounds(event.when)
        if isinstance(event, Exit):
            bounds = Bounds(bounds.lo, bounds.hi) if event.time is None else _exit_bounds(clock, event)
        elif isinstance(event, Trace) and where.rank in ended:
            bounds = bounds.capped(ended[where.rank] + 1.0)
        found.append(
            Occurrence(event, match.rule, match.link, match.captures, where, bounds, where.rank in died)
        )
    return found


def _rank_in_chain(event: Event, link: int | None) -> int | None:
    """The rank that a block of the chain names (`Traceback ... (RANK 3)`), up to the deciding link."""
    if link is None or not isinstance(event, Trace):
        return None
    said = [x.rank for x in event.links[: link + 1] if x.rank is not None]
    return said[-1] if said else None


def _spawned(event: Event) -> int | None:
    """The process of `torch.multiprocessing.spawn` (or of those that copied it) whose traceback its parent repeats."""
    if not isinstance(event, Trace):
        return None
    found = (_SPAWNED.search(link.message) for link in reversed(event.links))
    return next((int(match[1]) for match in found if match is not None), None)


def _by_pid(captures: Mapping[str, str], source: Source, event: Event, world: World) -> Where | None:
    """A kernel line names the process that it is about, and glog's the one that a signal hit."""
    pid, node = captures.get("pid"), event.tags.node or source.node
    if pid is None and isinstance(event, Message) and (event.dialect == "kernel" or source.kind == "kernel"):
        pid = found[1] if (found := _PID.search(event.text)) else None
    elif pid is None and isinstance(event, Message) and "received by PID " in event.text:
        pid = found[1] if (found := _RECEIVED.search(event.text)) else None
    if pid is None or not pid.isdigit():
        return None
    return world.by_pid(int(pid), node)


def _by_bus(captures: Mapping[str, str], source: Source, event: Event, world: World) -> Where | None:
    """A line of the driver names the GPU that it is about by its place on the PCI bus."""
    place = _PCI.match(captures.get("pci") or "")
    if place is None:
        return None
    domain, bus, device = (int(part or "0", 16) for part in place.groups())
    return world.by_bus(domain << 20 | bus << 12 | device << 4, event.tags.node or source.node)


def _exit_bounds(clock: Clock, event: Exit) -> Bounds:
    at = clock.seconds(event.time)
    return Bounds() if at is None else Bounds(at, at + 1.0)


def _line_times(feeds: Sequence[Fed], clock: Clock) -> list[float]:
    crowd = is_crowd(len(feeds))
    held = (feed.holding.recent if crowd else feed.holding.stamps for feed in feeds)
    found = (clock.seconds(stamp) for stamps in held for stamp in stamps)
    return sorted(seconds for seconds in found if seconds is not None)


def _ranks_seen(feeds: Sequence[Fed], world: World, attempt: Attempt) -> frozenset[int]:
    """Ranks that wrote at least one line in this attempt's sources."""
    used = {k.event.span.source for k in attempt.kept}
    folders = {feeds[index].source.attempt for index in used}
    seen: set[int] = set()
    for index, feed in enumerate(feeds):
        named = feed.source.rank is not None or feed.source.local_rank is not None
        if index not in used and not (named and feed.source.attempt in folders):
            continue
        for tags in feed.holding.tags:
            where = world.resolve(feed.source, index, tags)
            if where.rank is not None and where.attribution in ("tag", "file"):
                seen.add(where.rank)
    return frozenset(seen)
