"""Who waits for whom: from the states that time-outs print to the ranks that the others wait for.

A rank that timed out in a group waits for the members that did not reach that collective. A rank that is waited
for and waits for nobody itself is where the chain ends: pipeline stages and data-parallel peers that time out in
other groups are links of the chain, not its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from triage.core.cause.groups import Group, Groups
from triage.core.cause.situation import Seen
from triage.core.events.model import Collective
from triage.core.values import dataclass, field

_POINT_TO_POINT = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED"})
"""Numbered apart from the group's collectives, or differently on each member: only absence counts."""
_ONE_SIZE = frozenset(
    {"ALLREDUCE", "BROADCAST", "REDUCE", "ALLGATHER", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"}
)
"""Collectives whose element counts are equal on all members."""
WAITING = frozenset({"timeout", "error", "wait"})
MAX_EDGES = 500_000
MAX_NUMBERS = 64
"""Different numbers at which members of one group wait; a real hang has two or three."""


@dataclass
class State:
    """Where one rank stands in one group."""

    rank: int
    timed_out: bool = False
    """It reported that it waited in vain."""
    broken: bool = False
    """Its collective ended with an error of the transport."""
    seq: int | None = None
    op: str = ""
    numel: tuple[int | None, int | None] = (None, None)
    enqueued: int | None = None
    began: float | None = None

    def add(self, seen: Seen) -> None:
        event = seen.event
        if event.last_enqueued is not None:
            self.enqueued = event.last_enqueued
        if event.what == "enqueued" and event.seq is not None:
            self.seq = event.seq if self.seq is None else min(self.seq, event.seq)
        if event.what not in ("timeout", "error"):
            return
        self.timed_out = self.timed_out or event.what == "timeout"
        self.broken = self.broken or event.what == "error"
        if self.seq is None or event.seq is None or event.seq <= self.seq:
            self.seq = event.seq if event.seq is not None else self.seq
            self.op = event.op
            self.numel = (event.numel_in, event.numel_out)
        if seen.at is not None and event.ran_ms is not None:
            began = seen.at - event.ran_ms / 1000
            self.began = began if self.began is None else min(self.began, began)

    @property
    def signature(self) -> tuple[object, ...]:
        """What it runs, as far as all members must agree on it."""
        return (self.op, *self.numel) if self.op in _ONE_SIZE else (self.op,)


@dataclass
class Chain:
    """The whole picture."""

    states: dict[int, list[tuple[Group, State]]] = field(default_factory=lambda: defaultdict(list))
    """Rank -> its state in each group that it spoke of."""
    waits: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Rank -> the ranks it waits for."""
    behind: set[int] = field(default_factory=set)
    """Ranks that printed a lower number than others of their group waited at."""
    odd: dict[int, tuple[Group, State]] = field(default_factory=dict)
    """Ranks in another collective than the majority of their group at the same number."""
    ahead: dict[int, tuple[Group, State]] = field(default_factory=dict)
    """Ranks that alone are in a collective which no other member, all heard of, has begun."""
    split: list[tuple[Group, dict[tuple[object, ...], list[int]]]] = field(default_factory=list)
    """Groups whose members disagree without a majority."""
    together: list[Group] = field(default_factory=list)
    """Groups of which every member waits in the same collective."""
    shaky: set[int] = field(default_factory=set)
    """Ranks whose membership is interpolated from fewer than three positions."""

    def ends(self) -> set[int]:
        """Ranks that are waited for and wait for nobody."""
        blocked = set().union(*self.waits.values()) if self.waits else set()
        return {rank for rank in blocked if not self.waits.get(rank)}

    def circle(self) -> tuple[int, ...]:
        """Ranks that wait for one another in a circle, where every chain ends in one; empty otherwise."""
        if not self.waits or self.ends():
            return ()
        start = next((r for r, blockers in self.waits.items() if blockers), None)
        if start is None:
            return ()
        rank, path = start, dict[int, int]()
        while rank not in path:
            path[rank] = len(path)
            rank = min(self.waits[rank])
        return tuple(path)[path[rank] :]

    def waiters_of(self, rank: int) -> set[int]:
        return {w for w, blockers in self.waits.items() if rank in blockers}

    def began_of_waits(self, ranks: set[int]) -> dict[int, float]:
        """For each of `ranks` that is waited for: when the earliest wait for it began, where that is known."""
        found: dict[int, float] = {}
        for waiter, blockers in self.waits.items():
            times = [s.began for _, s in self.states.get(waiter, ()) if s.began is not None]
            if times:
                for rank in blockers & ranks:
                    found[rank] = min(min(times), found.get(rank, min(times)))
        return found


def follow(seen: Sequence[Seen], groups: Groups) -> Chain:
    """The chain of waits in these events (of one attempt, each rank's in its order)."""
    table: dict[int, tuple[Group, dict[int, State]]] = {}
    named = _named_groups(seen, groups)
    for item, group in zip(seen, named, strict=True):
        rank = item.rank
        if rank is None and group is not None and item.event.group_rank is not None:
            rank = group.rank_at(item.event.group_rank)
        if group is None or rank is None or item.event.what not in ("timeout", "error", "enqueued", "dump"):
            continue
        states = table.setdefault(id(group), (group, {}))[1]
        states.setdefault(rank, State(rank)).add(item)
    chain = Chain()
    for group, states in table.values():
        for rank, state in states.items():
            chain.states[rank].append((group, state))
    for group, states in table.values():
        _link(chain, group, states)
    return chain


def _named_groups(seen: Sequence[Seen], groups: Groups) -> list[Group | None]:
    """The group of each event. A watchdog's first line names none: the same rank's line of the same collective does."""
    found: list[Group | None] = []
    by_work: dict[tuple[int, int], Group] = {}
    by_rank: dict[int, set[int]] = defaultdict(set)
    for item in seen:
        group = groups.of(item.event, item.rank) if item.event.what not in ("comm", "trace") else None
        found.append(group)
        if group is not None and item.rank is not None:
            if item.event.seq is not None:
                by_work.setdefault((item.rank, item.event.seq), group)
            if item.event.what != "member":
                by_rank[item.rank].add(id(group))
    known = {id(g): g for g in groups.all.values()}
    bare = [i for i, item in enumerate(seen) if found[i] is None and _is_work(item.event)]
    for i in bare:
        item = seen[i]
        if item.rank is not None:
            seq = item.event.seq
            found[i] = by_work.get((item.rank, seq)) if seq is not None else None
            if found[i] is None and len(by_rank[item.rank]) == 1:
                found[i] = known[next(iter(by_rank[item.rank]))]
    _default_for_bare(seen, found, [i for i in bare if found[i] is None and not seen[i].event.group], groups)
    return found


def _is_work(event: Collective) -> bool:
    return event.what in ("timeout", "error", "enqueued", "dump")


def _default_for_bare(
    seen: Sequence[Seen], found: list[Group | None], bare: list[int], groups: Groups
) -> None:
    """Lines without a group (torch up to 2.1) belong to the group of all ranks where every position is the rank."""
    if not bare or not groups.sizes.plain:
        return
    if any(seen[i].rank not in (None, seen[i].event.group_rank) for i in bare):
        return
    for i in bare:
        event, group = seen[i].event, groups.default()
        group.note(event, event.group_rank if seen[i].rank is None else seen[i].rank)
        found[i] = group


def _link(chain: Chain, group: Group, states: dict[int, State]) -> None:
    members, whole = group.members()
    waiting = [s for s in states.values() if s.timed_out]
    if not waiting:
        return
    absent = [m for m in members if m not in states]
    if 0 < group.interpolated_from < 3:
        chain.shaky.update(absent)
    numbered = [s for s in waiting if s.op not in _POINT_TO_POINT and s.seq is not None]
    _disagree(chain, group, numbered)
    if whole and not absent and len(numbered) == len(members) and _out_of_step(chain, group, numbered):
        return
    _alone(chain, group, numbered, states, absent, whole)
    edges = sum(len(blockers) for blockers in chain.waits.values())
    numbers = sorted({s.seq for s in numbered if s.seq is not None})[:MAX_NUMBERS]
    late = {n: {s.rank for s in states.values() if _is_behind(s, n)} for n in numbers}
    chain.behind.update(*late.values())
    for state in waiting:
        blockers = set(absent)
        if state.op not in _POINT_TO_POINT and state.seq is not None:
            blockers |= late.get(state.seq, set())
        blockers.discard(state.rank)
        edges += len(blockers)
        if edges > MAX_EDGES:
            return
        chain.waits[state.rank] |= blockers
    if (
        whole
        and not absent
        and len(numbered) == len(members)
        and len({(s.seq, s.signature) for s in numbered}) == 1
    ):
        chain.together.append(group)


def _is_behind(state: State, seq: int | None) -> bool:
    if seq is None or state.op in _POINT_TO_POINT:
        return False
    if state.timed_out or state.broken:
        return state.seq is not None and state.seq < seq
    return state.enqueued is not None and state.enqueued < seq


def _disagree(chain: Chain, group: Group, numbered: list[State]) -> None:
    """Members at one number in different collectives: a minority is odd, equal halves are a split."""
    by_seq: dict[int | None, dict[tuple[object, ...], list[int]]] = defaultdict(lambda: defaultdict(list))
    own = {s.rank: s for s in numbered}
    for state in numbered:
        if state.op:
            by_seq[state.seq][state.signature].append(state.rank)
    for kinds in by_seq.values():
        if len(kinds) < 2:
            continue
        most = max(len(ranks) for ranks in kinds.values())
        total = sum(len(ranks) for ranks in kinds.values())
        if 2 * most > total:
            for ranks in kinds.values():
                if len(ranks) < most:
                    chain.odd.update({r: (group, own[r]) for r in ranks})
        else:
            chain.split.append((group, dict(kinds)))


def _out_of_step(chain: Chain, group: Group, numbered: list[State]) -> bool:
    """All members wait, at different numbers and in different collectives, and no majority tells the common order: the
    one with the lower number need not be the one that left it, so nobody is waited for."""
    kinds: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for state in numbered:
        kinds[f"{state.op} #{state.seq}",].append(state.rank)
    one_each = len({s.seq for s in numbered}) == len({s.op for s in numbered if s.op}) == len(kinds) > 1
    if not one_each or 2 * max(len(ranks) for ranks in kinds.values()) > len(numbered):
        return False
    chain.split.append((group, dict(kinds)))
    return True


def _alone(
    chain: Chain,
    group: Group,
    numbered: list[State],
    states: dict[int, State],
    absent: list[int],
    whole: bool,
) -> None:
    """One rank waits in a collective while all others, each heard of, have nothing outstanding."""
    if absent or not whole or len(states) < 3 or len(numbered) != 1:
        return
    others = [s for s in states.values() if s is not numbered[0]]
    if all(_is_behind(s, numbered[0].seq) and not s.timed_out for s in others):
        chain.ahead[numbered[0].rank] = (group, numbered[0])
