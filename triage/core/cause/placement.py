"""Where ranks run: what all events of one attempt together say about the job's world."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from triage.core.cause.groups import is_default
from triage.core.cause.launched import spoken_through
from triage.core.cause.where import World, short
from triage.core.events.model import Collective, Event, Exit, Facts
from triage.core.logs.source import Source


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
    _learn_own(world, events)
    world.one_tree = _is_one_tree(sources)
    _learn_exits(world, sources, events)
    _learn_spawned(world, sources, events)
    world.lone_launcher = _is_lone_launcher(world, sources)
    _learn_tags(world, sources, events)
    _learn_communicators(world, events)
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
            if isinstance(said := event.values.get("rank", event.values.get("own_rank", "")), int):
                world.host_of.setdefault(said, str(host_said))
            elif event.tags.rank is not None:
                world.host_of.setdefault(event.tags.rank, str(host_said))
            elif event.tags.task is not None:
                world.host_of_task.setdefault(event.tags.task, str(host_said))


def _learn_own(world: World, events: Sequence[Event]) -> None:
    """Sources whose only process says which rank it is: at least two of them, no two alike, and no sign of others."""
    own: dict[int, set[int]] = defaultdict(set)
    shared: set[int] = set()
    for event in events:
        if isinstance(event, Facts) and isinstance(rank := event.values.get("own_rank"), int):
            own[event.span.source].add(rank)
        if event.tags.local_rank is not None or (isinstance(event, Exit) and event.by == "torchrun"):
            shared.add(event.span.source)
        elif event.tags.rank is not None:
            own[event.span.source].add(event.tags.rank)
    alone = {i: next(iter(ranks)) for i, ranks in own.items() if len(ranks) == 1 and i not in shared}
    if world.size is not None and 2 <= len(alone) == len(set(alone.values())):
        world.rank_of_source = {i: rank for i, rank in alone.items() if rank < world.size}


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
                world.rank_on_host.setdefault((short(event.host), event.pid), event.rank)
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
        if isinstance(event, Exit) and event.by == "srun" and event.host and len(event.hosts) == 1:
            for task in event.ranks:
                world.host_of_task.setdefault(task, event.host)


def _learn_communicators(world: World, events: Sequence[Event]) -> None:
    """Processes in NCCL's lines on the communicator of all ranks: `host:700:712 [1] NCCL INFO comm ... rank 9 nranks 16`."""
    found: dict[tuple[str, int], set[int]] = defaultdict(set)
    placed: dict[tuple[str, int], set[int]] = defaultdict(set)
    for event in events:
        if isinstance(event, Collective) and event.what == "comm" and event.group_rank is not None:
            node, pid = event.tags.node, event.tags.pid
            if node is not None and pid is not None and event.size == world.size and event.size != 1:
                found[short(node), pid].add(event.group_rank)
                if event.peer:
                    placed[short(node), int(event.peer, 16)].add(event.group_rank)
    for process, ranks in found.items():
        if len(ranks) == 1:
            world.rank_on_host.setdefault(process, next(iter(ranks)))
    world.rank_on_bus |= {place: next(iter(ranks)) for place, ranks in placed.items() if len(ranks) == 1}


def _learn_tasks(world: World, sources: Sequence[Source], events: Sequence[Event]) -> None:
    tasks: set[int] = {s.task for s in sources if s.task is not None}
    same = other = 0
    for event in events:
        task = event.tags.task if event.tags.task is not None else sources[event.span.source].task
        if task is None:
            continue
        tasks.add(task)
        if isinstance(event, Facts) and (own := event.values.get("own_rank")) is not None:
            same += own == task
            other += own != task
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
