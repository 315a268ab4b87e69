"""Who did it: from what a line and its file say to a global rank and a node, never by guess."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import pairwise

from triage.core.cause.groups import is_default
from triage.core.cause.launched import spoken_through
from triage.core.events.model import Collective, Event, Exit, Facts
from triage.core.logs.record import Tags
from triage.core.logs.source import Source
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Where:
    """A resolved writer; None where not known."""

    rank: int | None = None
    local_rank: int | None = None
    node: str | None = None
    attribution: str = "none"
    """How `rank` is known: `tag`, `file`, `inferred`, `none`."""


@dataclass
class World:
    """The job's shape as its logs show it: sizes, and which rank ran where."""

    size: int | None = None
    per_node: int | None = None
    nodes: int | None = None
    host_of: dict[int, str] = field(default_factory=dict)
    """Global rank -> host, as launcher summaries and rank-tagged lines in node files print it."""
    local_of: dict[int, int] = field(default_factory=dict)
    """Global rank -> local rank, as launcher summaries print both."""
    offset_of_source: dict[int, int] = field(default_factory=dict)
    """Source -> the global rank of its node's local rank 0. A rank that a line of such a source prints and that lies
    below it is the program's word for a local rank."""
    offset_of_host: dict[str, int] = field(default_factory=dict)
    spoken_through: dict[int, int] = field(default_factory=dict)
    """Source -> the one rank whose output a launcher lets through; it keeps that of the others and shows it labelled."""
    rank_of_pid: dict[tuple[int, int], int] = field(default_factory=dict)
    """(source, pid) -> global rank."""
    rank_on_host: dict[tuple[str, int], int] = field(default_factory=dict)
    """(short host name, pid) -> global rank."""
    host_of_task: dict[int, str] = field(default_factory=dict)
    first_host: str | None = None
    """The host of the task that srun saw fail before any other."""
    named_hosts: frozenset[str] = frozenset()
    """Hosts that a job script says it runs on."""
    lone_launcher: bool = False
    """Every summary is of one host whose ranks begin at 0, and no file is another node's."""
    one_tree: bool = False
    """The local ranks of paths occur once each: all are of one node's launcher."""
    plain: bool = False
    """No model parallelism and no other group than that of all ranks is known, so that `[Rank n]` is a position in
    the world."""
    task_is_rank: bool | None = None
    """Whether `srun --label` and `%t` numbers are ranks (one task per GPU) or nodes; None where not known."""

    def resolve(self, source: Source, index: int, tags: Tags) -> Where:
        node = tags.node or source.node
        local = tags.local_rank if tags.local_rank is not None else source.local_rank
        if tags.rank is not None:
            first = self.offset_of_source.get(index, 0)
            if tags.rank < first:
                return self._placed(first + tags.rank, tags.rank, node, "tag")
            return self._placed(tags.rank, local, node, "tag")
        if source.rank is not None:
            return self._placed(source.rank, local, node, "file")
        task = tags.task if tags.task is not None else source.task
        if local is None and task is not None and self.task_is_rank:
            return self._placed(task, None, node, "tag" if tags.task is not None else "file")
        if local is None and tags.device is not None:
            local = tags.device
        base = self._base(source, index, node, task)
        if local is not None and base is not None:
            printed = tags.local_rank is not None or tags.device is not None
            return self._placed(base + local, local, node, "tag" if printed else "file")
        if tags.pid is not None:
            if (index, tags.pid) in self.rank_of_pid:
                return self._placed(self.rank_of_pid[(index, tags.pid)], local, node, "tag")
            if node is not None and (_short(node), tags.pid) in self.rank_on_host:
                return self._placed(self.rank_on_host[(_short(node), tags.pid)], local, node, "tag")
        if self.size == 1:
            return self._placed(0, 0, node, "inferred")
        if index in self.spoken_through:
            return self._placed(self.spoken_through[index], 0, node, "inferred")
        if self.plain and tags.group_rank is not None and tags.rank is None:
            return self._placed(tags.group_rank, local, node, "inferred")
        return Where(None, local, node or self._node_of(source, index, task))

    def by_pid(self, pid: int, node: str | None) -> Where | None:
        """The rank whose process it is, as a launcher printed it; None where no launcher did or two hosts have it."""
        here = None if node is None else _short(node)
        ranks = {r for (host, p), r in self.rank_on_host.items() if p == pid and here in (None, host)}
        if not ranks:
            ranks = {r for (_, p), r in self.rank_of_pid.items() if p == pid and self._may_be_on(r, here)}
        return self._placed(ranks.pop(), None, node, "tag") if len(ranks) == 1 else None

    def _may_be_on(self, rank: int, node: str | None) -> bool:
        host = self.host_of.get(rank)
        return node is None or host in (None, "localhost") or _short(host) == node

    def _placed(self, rank: int, local: int | None, node: str | None, attribution: str) -> Where:
        if local is None:
            local = self.local_of.get(rank, rank % self.per_node if self.per_node else None)
        host = self.host_of.get(rank) or node
        if host is None and self.task_is_rank is not None:
            task = rank if self.task_is_rank else rank // self.per_node if self.per_node else None
            host = self.host_of_task.get(task) if task is not None else None
        return Where(rank, local, host, attribution)

    def _base(self, source: Source, index: int, node: str | None, task: int | None) -> int | None:
        if index in self.offset_of_source:
            return self.offset_of_source[index]
        if node is not None and node in self.offset_of_host:
            return self.offset_of_host[node]
        if self.per_node:
            if source.node_rank is not None:
                return source.node_rank * self.per_node
            if task is not None and self.task_is_rank is False:
                return task * self.per_node
        if self.nodes == 1 or (self.size is not None and self.size == self.per_node):
            return 0
        if self.lone_launcher and node in (None, *self.offset_of_host):
            return 0
        if self.one_tree and source.local_rank is not None and len(set(self.offset_of_host.values())) == 1:
            return next(iter(self.offset_of_host.values()))
        return None

    def _node_of(self, source: Source, index: int, task: int | None) -> str | None:
        base = self._base(source, index, source.node, task)
        return self.host_of.get(base) if base is not None else None


def build_world(
    sources: Sequence[Source], events: Iterable[Event], facts: dict[str, int | float | None]
) -> World:
    """What all events of one attempt together say about ranks, nodes and their places."""
    events = list(events)
    parallel = (facts.get("tp"), facts.get("pp"), facts.get("cp"))
    named = any(isinstance(e, Collective) and e.group and not is_default(e.group) for e in events)
    plain = not named and all(n in (None, 1) for n in parallel)
    world = World(size=_int(facts.get("world_size")), plain=plain)
    helper: dict[str, Counter[int]] = defaultdict(Counter)
    for event in events:
        if isinstance(event, Facts):
            for name in ("nnodes", "nproc_per_node"):
                if isinstance(value := event.values.get(name), int) and not isinstance(value, bool):
                    helper[name][value] += 1
    world.nodes = _sole(helper["nnodes"])
    world.per_node = _sole(helper["nproc_per_node"])
    if world.size is None and world.nodes and world.per_node:
        world.size = world.nodes * world.per_node
    world.named_hosts = frozenset(
        str(e.values["host"]) for e in events if isinstance(e, Facts) and "host" in e.values
    )
    _learn_placed(world, events)
    world.one_tree = _is_one_tree(sources)
    _learn_exits(world, sources, events)
    _learn_spawned(world, sources, events)
    world.lone_launcher = _is_lone_launcher(world, sources)
    _learn_tags(world, sources, events)
    _learn_tasks(world, sources, events)
    _learn_task_hosts(world, events)
    if world.per_node is None:
        _learn_per_node(world)
    if world.size is None and world.nodes == 1 and world.per_node:
        world.size = world.per_node
    return world


def _learn_placed(world: World, events: Sequence[Event]) -> None:
    """What a launcher or a labelled line says about ranks, tasks and hosts."""
    for event in events:
        if not isinstance(event, Facts):
            continue
        for host, ranks in event.placed:
            for rank in ranks:
                world.host_of.setdefault(rank, host)
            if ranks and list(ranks) == list(range(ranks[0], ranks[0] + len(ranks))):
                world.offset_of_host.setdefault(host, ranks[0])
        if (host_said := event.values.get("host")) is not None:
            if event.tags.rank is not None:
                world.host_of.setdefault(event.tags.rank, str(host_said))
            elif event.tags.task is not None:
                world.host_of_task.setdefault(event.tags.task, str(host_said))


def _learn_task_hosts(world: World, events: Sequence[Event]) -> None:
    """One task on each host, as the job's node list or all of srun's exit lines together show it: the n-th host runs
    task n. And the host on which a task failed first."""
    exits = [e for e in events if isinstance(e, Exit) and e.by == "srun" and e.hosts]
    exits.sort(key=lambda e: (e.span.source, e.span.first))
    failed = [e for e in exits if e.exitcode != 0 and not e.victim]
    if failed and failed[0].host and len({e.span.source for e in failed}) == 1:
        world.first_host = failed[0].host
    pairs = {
        (t, h) for e in exits if len(e.hosts) == len(e.ranks) for t, h in zip(e.ranks, e.hosts, strict=True)
    }
    tasks, hosts = {t for t, _ in pairs}, {h for _, h in pairs}
    told = {h for e in exits for h in e.hosts}
    if len(pairs) == len(tasks) == len(hosts) == len(told) > 1 and max(tasks) + 1 == len(tasks):
        for task, host in pairs:
            world.host_of_task.setdefault(task, host)
        _one_task_a_node(world, len(tasks))
    lists = {e.nodelist for e in events if isinstance(e, Facts) and e.nodelist}
    if len(lists) == 1 and world.task_is_rank is False:
        nodes = next(iter(lists))
        if world.nodes in (None, len(nodes)):
            for task, host in enumerate(nodes):
                world.host_of_task.setdefault(task, host)


def _one_task_a_node(world: World, nodes: int) -> None:
    """Where the world is larger than that, each task started several ranks."""
    if (
        world.size is not None
        and world.size > nodes
        and world.size % nodes == 0
        and world.task_is_rank is None
    ):
        world.task_is_rank = False
        world.nodes = world.nodes or nodes
        world.per_node = world.per_node or world.size // nodes


def _is_lone_launcher(world: World, sources: Sequence[Source]) -> bool:
    nodes = {s.node for s in sources if s.node is not None} | {
        s.node_rank for s in sources if s.node_rank is not None
    }
    return set(world.offset_of_host.values()) == {0} and len(world.offset_of_host) == 1 and len(nodes) <= 1


def _is_one_tree(sources: Sequence[Source]) -> bool:
    seen = [(s.attempt, s.stream, s.kind, s.local_rank) for s in sources if s.local_rank is not None]
    return bool(seen) and len(seen) == len(set(seen))


def _learn_exits(world: World, sources: Sequence[Source], events: Sequence[Event]) -> None:
    bases: dict[int, set[int]] = defaultdict(set)
    for event in events:
        if not isinstance(event, Exit) or event.rank is None:
            continue
        index = event.span.source
        if event.host and event.host != "localhost":
            world.host_of.setdefault(event.rank, event.host)
        elif node := (event.tags.node or sources[index].node):
            world.host_of.setdefault(event.rank, node)
        if event.pid is not None:
            world.rank_of_pid.setdefault((index, event.pid), event.rank)
            if event.host:
                world.rank_on_host.setdefault((_short(event.host), event.pid), event.rank)
        if event.local_rank is not None and event.local_rank <= event.rank:
            world.local_of.setdefault(event.rank, event.local_rank)
            bases[index].add(event.rank - event.local_rank)
            if event.host:
                world.offset_of_host.setdefault(event.host, event.rank - event.local_rank)
    _learn_consecutive(world, events)
    world.spoken_through = spoken_through(events)
    printed: dict[int, set[int]] = defaultdict(set)
    for event in events:
        if event.tags.rank is not None:
            printed[event.span.source].add(event.tags.rank)
    for index, seen in bases.items():
        base = next(iter(seen))
        foreign = {r for r in printed[index] if r < base}
        if len(seen) == 1 and (not foreign or not any(r >= base for r in printed[index])):
            world.offset_of_source.setdefault(index, base)


def _learn_spawned(world: World, sources: Sequence[Source], events: Sequence[Event]) -> None:
    """Processes that a launcher names with their local rank as it starts them."""
    for event in events:
        if not isinstance(event, Facts) or not isinstance(pid := event.values.get("pid"), int):
            continue
        local, index = event.values.get("local_rank"), event.span.source
        node = event.tags.node or sources[index].node
        base = world.offset_of_host.get(node) if node is not None else None
        if base is None and world.nodes == 1:
            base = 0
        if base is not None and isinstance(local, int):
            world.rank_of_pid.setdefault((index, pid), base + local)


def _learn_consecutive(world: World, events: Sequence[Event]) -> None:
    """torchrun starts its workers one after the other: where the process ids it names run on without a gap and the
    known ones agree, the others' ranks follow."""
    by_source: dict[int, set[int]] = defaultdict(set)
    for event in events:
        if isinstance(event, Exit) and event.by == "torchrun" and event.pid is not None:
            by_source[event.span.source].add(event.pid)
    for index, pids in by_source.items():
        known = {world.rank_of_pid[(index, p)] - p for p in pids if (index, p) in world.rank_of_pid}
        ordered = sorted(pids)
        if len(known) == 1 and ordered[-1] - ordered[0] == len(ordered) - 1:
            shift = next(iter(known))
            if ordered[0] + shift >= 0:
                for pid in ordered:
                    world.rank_of_pid.setdefault((index, pid), pid + shift)


def _short(host: str) -> str:
    return host.split(".")[0]


def _learn_tags(world: World, sources: Sequence[Source], events: Sequence[Event]) -> None:
    bases: dict[int, set[int]] = defaultdict(set)
    for event in events:
        tags, index = event.tags, event.span.source
        if tags.rank is None:
            continue
        base = -1 if tags.local_rank is None else tags.rank - tags.local_rank
        if base >= 0 and tags.node is not None:
            world.offset_of_host.setdefault(tags.node, base)
        elif base >= 0:
            bases[index].add(base)
        if node := (tags.node or sources[index].node):
            world.host_of.setdefault(tags.rank, node)
    for index, seen in bases.items():
        if len(seen) == 1:
            world.offset_of_source.setdefault(index, next(iter(seen)))
    for event in events:
        if (
            isinstance(event, Collective)
            and event.what == "init"
            and event.ranks
            and event.tags.pid is not None
        ):
            world.rank_of_pid.setdefault((event.span.source, event.tags.pid), event.ranks[0])
            if event.tags.node:
                world.host_of.setdefault(event.ranks[0], event.tags.node)
    for event in events:
        if isinstance(event, Exit) and event.by == "srun" and event.host and len(event.hosts) == 1:
            for task in event.ranks:
                world.host_of_task.setdefault(task, event.host)


def _learn_tasks(world: World, sources: Sequence[Source], events: Sequence[Event]) -> None:
    tasks: set[int] = {s.task for s in sources if s.task is not None}
    same = other = 0
    for event in events:
        task = event.tags.task if event.tags.task is not None else sources[event.span.source].task
        if task is None:
            continue
        tasks.add(task)
        if event.tags.rank is not None and event.tags.local_rank is None:
            same += event.tags.rank == task
            other += event.tags.rank != task
        elif event.tags.local_rank is not None:
            other += 1
        if isinstance(event, Exit) and event.by == "torchrun":
            other += 1
    several = any(
        isinstance(e, Exit) and e.by == "srun" and len(e.hosts) == 1 and len(e.ranks) > 1 for e in events
    )
    if same or other:
        world.task_is_rank = same > 0 and other == 0
    elif several:
        world.task_is_rank = True
    elif tasks and world.size is not None and max(tasks) > 0:
        if world.nodes and world.nodes > max(tasks) and world.per_node and world.per_node > 1:
            world.task_is_rank = False
        elif max(tasks) + 1 == world.size:
            world.task_is_rank = True
    elif len(tasks) > 1 and world.size is None and len(_hosts(events)) == 1:
        world.task_is_rank = True


def _hosts(events: Sequence[Event]) -> set[str]:
    """The nodes that the launchers name."""
    found = {h for e in events if isinstance(e, Exit) for h in (*e.hosts, *([e.host] if e.host else []))}
    return {h.split(".")[0] for h in found}


def _learn_per_node(world: World) -> None:
    starts = sorted({*world.offset_of_source.values(), *world.offset_of_host.values()})
    gaps = {b - a for a, b in pairwise(starts)}
    if len(gaps) == 1:
        world.per_node = next(iter(gaps))
    elif world.size and world.nodes and world.size % world.nodes == 0:
        world.per_node = world.size // world.nodes


def _sole(counts: Counter[int]) -> int | None:
    return next(iter(counts)) if len(counts) == 1 else None


def _int(value: int | float | None) -> int | None:
    return int(value) if value is not None else None
