"""What torch itself concludes: fr_trace, the desync report, barriers, fingerprints, a watchdog's own CUDA error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from triage.core.cause.groups import Group, Groups
from triage.core.cause.ranges import fold
from triage.core.cause.situation import Seen
from triage.core.values import dataclass

_TRANSPORT = (
    "ncclRemoteError", "remote process exited", "network error", "ncclSystemError", "unhandled system error",
    "ncclInternalError", "internal error", "ncclInProgress", "NCCL error", "Connection", "Broken pipe", "timeout",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    ranks: tuple[int, ...] = ()
    why: str = ""
    how: str = "named"
    confident: bool = True
    unknown: str = ""


def is_transport(reason: str) -> bool:
    """Whether an exception's text blames the connection or a peer rather than the rank's own device."""
    return any(word in reason for word in _TRANSPORT)


def conclusion(seen: Sequence[Seen], groups: Groups) -> Answer | None:
    """The first report that names somebody; an answer without ranks says why a report does not."""
    doubt: Answer | None = None
    for question in _QUESTIONS:
        answer = question(seen, groups)
        if answer is not None and answer.ranks:
            return answer
        doubt = doubt or answer
    return doubt


def _trace(seen: Sequence[Seen], _groups: Groups) -> Answer | None:
    """fr_trace's summary; where it blames most members, the one it compared them with is the odd one."""
    for item in seen:
        event = item.event
        if event.what != "trace" or not event.ranks or event.reason not in ("missing", "mismatch"):
            continue
        named, members = set(event.ranks), set(event.members)
        what = f"collective #{event.seq}" if event.seq is not None else "a collective"
        if members and 2 * len(named) >= len(members):
            rest = members - named
            if len(rest) == 1 and len(members) > 2:
                rank = rest.pop()
                return Answer(
                    (rank,),
                    f"in {what} rank {rank} differs from all others (fr_trace)",
                    "other-collective",
                    False,
                )
            return Answer(
                unknown=f"which side is wrong: fr_trace blames ranks {fold(named)} of {len(members)} in {what}"
            )
        if event.reason == "missing":
            return Answer(tuple(sorted(named)), f"fr_trace: {what} lacks ranks {fold(named)}", "absent")
        return Answer(
            tuple(sorted(named)), f"fr_trace: ranks {fold(named)} differ in {what}", "other-collective"
        )
    return None


def _desync(seen: Sequence[Seen], groups: Groups) -> Answer | None:
    """torch's desync report: who never joined, else who is at the lowest number; all ranks at it say nothing."""
    reports = [s for s in seen if s.event.what == "desync"]
    if not reports:
        return None
    lowest: dict[int, set[int]] = defaultdict(set)
    missing: set[int] = set()
    states: set[int] = set()
    for item in seen:
        if item.event.what in ("desync", "snapshot"):
            group = _group(item, groups)
            ranks = {_rank(group, p, groups) for p in item.event.ranks}
            if None in ranks:
                return Answer(unknown="which ranks the positions in the desync report stand for")
            known = {r for r in ranks if r is not None}
            if item.event.what == "snapshot":
                states |= known
            elif item.event.reason == "missing":
                missing |= known
            elif item.event.seq is not None:
                lowest[item.event.seq] |= known
    if missing:
        return Answer(
            tuple(sorted(missing)),
            f"ranks {fold(missing)} never joined any collective (desync report)",
            "absent",
        )
    lagging = lowest[min(lowest)] if lowest else set()
    if not lagging or (states and lagging >= states):
        return Answer(unknown="who is late: the desync report shows all ranks at the same collective")
    if states and 2 * len(lagging) >= len(states) and len(states) > 2:
        return Answer(unknown=f"whether ranks {fold(lagging)} are late or the others ahead (desync report)")
    return Answer(
        tuple(sorted(lagging)), f"ranks {fold(lagging)} are behind the others (desync report)", "behind"
    )


def _barrier(seen: Sequence[Seen], groups: Groups) -> Answer | None:
    """A monitored barrier or the store's barrier: who did not pass."""
    events = [s for s in seen if s.event.what == "barrier"]
    missing = [s for s in events if s.event.reason in ("missing", "first-missing")]
    arrived = {r for s in events if s.event.reason == "arrived" for r in [s.rank] if r is not None}
    if not missing:
        return None
    named: set[int] = set()
    for item in missing:
        if item.rank not in (None, 0) and not item.event.group:
            return Answer(
                unknown="which ranks a barrier's positions stand for: its group is not the default one"
            )
        group = _group(item, groups)
        ranks = {_rank(group, p, groups) for p in item.event.ranks}
        if None in ranks:
            return Answer(unknown="which ranks a barrier's positions stand for")
        named |= {r for r in ranks if r is not None}
    named -= arrived
    if not named:
        return None
    world = groups.sizes.world
    asked_all = all(s.event.reason == "missing" for s in missing)
    complete = world is not None and len(arrived | named | {0}) == world
    sure = groups.sizes.plain and (asked_all or complete)
    doubt = (
        ""
        if sure
        else "whether more ranks than the first were missing"
        if groups.sizes.plain
        else "the barrier's group"
    )
    many = world is not None and world > 2 and 2 * len(named) >= world
    if many:
        return Answer(unknown=f"why most ranks ({fold(named)}) did not reach a barrier")
    return Answer(
        tuple(sorted(named)),
        f"ranks {fold(named)} did not reach a barrier that others waited at",
        "absent",
        sure,
        doubt,
    )


def _fingerprints(seen: Sequence[Seen], groups: Groups) -> Answer | None:
    """`TORCH_DISTRIBUTED_DEBUG=DETAIL`: each rank tells its own collective and one that differs."""
    prints: dict[int, str] = {}
    for item in seen:
        event = item.event
        if event.what != "mismatch" or event.reason != "fingerprint" or event.group_rank is None:
            continue
        if item.rank is not None and item.rank != event.group_rank:
            return Answer(unknown="which ranks the positions of differing collectives stand for")
        seq = f"#{event.seq}" if event.seq is not None else ""
        prints[event.group_rank] = " ".join(filter(None, (seq, event.op, event.shape)))
        for other in event.ranks:
            prints.setdefault(other, event.other)
    if not prints:
        return None
    kinds: dict[str, set[int]] = defaultdict(set)
    for rank, text in prints.items():
        kinds[text].add(rank)
    most = max(len(ranks) for ranks in kinds.values())
    if 2 * most <= len(prints) or len(prints) < 3:
        sides = "; ".join(f"ranks {fold(ranks)} in {text}" for text, ranks in sorted(kinds.items()))
        return Answer(unknown=f"which side is wrong: {sides}")
    odd = {r for ranks in kinds.values() if len(ranks) < most for r in ranks}
    why = f"ranks {fold(odd)} are in another collective than ranks {fold(set(prints) - odd)}"
    return Answer(
        tuple(sorted(odd)),
        why,
        "other-collective",
        groups.sizes.plain,
        "" if groups.sizes.plain else "their group",
    )


def _own_device(seen: Sequence[Seen], _groups: Groups) -> Answer | None:
    """A rank whose watchdog ended by an error of its own device, alone, or clearly first."""
    broken: dict[int, float | None] = {}
    texts: dict[int, str] = {}
    for item in seen:
        if item.event.what == "aborted" and item.rank is not None and not is_transport(item.event.reason):
            broken.setdefault(item.rank, item.at)
            texts.setdefault(item.rank, item.event.reason)
    if not broken:
        return None
    times = sorted((t, r) for r, t in broken.items() if t is not None)
    if len(broken) > 1 and (len(times) < len(broken) or times[1][0] - times[0][0] <= 2.0):
        return Answer(unknown=f"which of ranks {fold(broken)} met the device error first")
    rank = times[0][1] if times else next(iter(broken))
    return Answer(
        (rank,),
        f"the watchdog of rank {rank} ended by an error of its own device: {texts[rank][:120]}",
        "named",
    )


def _unique_id(seen: Sequence[Seen], groups: Groups) -> Answer | None:
    """Ranks that waited for the first rank of a group to publish NCCL's unique id."""
    waiters: set[int] = set()
    targets: set[int | None] = set()
    for item in seen:
        event = item.event
        if event.what == "store" and event.reason == "unique-id":
            group = _group(item, groups)
            targets |= {_rank(group, p, groups) for p in event.ranks}
            waiters |= {item.rank} if item.rank is not None else set()
    if not targets:
        return None
    if len(targets) != 1 or None in targets:
        return Answer(unknown="which rank had to publish the NCCL id that others waited for")
    rank = next(iter(t for t in targets if t is not None))
    if rank in waiters:
        return None
    sure = groups.sizes.plain
    why = (
        f"ranks {fold(waiters)} waited for rank {rank} to publish its NCCL id"
        if waiters
        else f"rank {rank} published no NCCL id"
    )
    return Answer((rank,), why, "absent", sure, "" if sure else "whether the group is the default one")


def _group(item: Seen, groups: Groups) -> Group | None:
    return groups.of(item.event, item.rank) if item.event.group else None


def _rank(group: Group | None, position: int, groups: Groups) -> int | None:
    """The rank at a position; without a group the position itself, where the job has no model parallelism."""
    if group is not None:
        return group.rank_at(position)
    return position if groups.sizes.plain else None


_QUESTIONS: tuple[Callable[[Sequence[Seen], Groups], Answer | None], ...] = (
    _trace, _desync, _barrier, _fingerprints, _own_device, _unique_id,
)  # fmt: skip
