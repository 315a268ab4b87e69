"""The evidence about one failed collective, with what several questions need computed once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from triage.core.cause.conclusions import is_transport
from triage.core.cause.ends import Loss, losses
from triage.core.cause.groups import MAX_WORLD, Groups
from triage.core.cause.situation import MAX_PER_NODE, Culprit, Seen, Situation
from triage.core.cause.waiting import WAITING, Chain, follow
from triage.core.values import dataclass

_COMPLAINTS = WAITING | {"closed", "connect", "link"}


@dataclass
class Case:
    """The evidence with what several questions need computed once."""

    seen: Sequence[Seen]
    situation: Situation

    @cached_property
    def groups(self) -> Groups:
        return Groups(self.situation.sizes, ((s.event, s.rank) for s in self.seen if s.event.what != "comm"))

    @cached_property
    def chain(self) -> Chain:
        return follow(self.seen, self.groups)

    @cached_property
    def losses(self) -> list[Loss]:
        return losses(self.seen, self.situation)

    @cached_property
    def reporters(self) -> frozenset[int]:
        """Ranks that complained about others."""
        ranks = {s.rank for s in self.seen if s.rank is not None and s.event.what in _COMPLAINTS}
        ranks |= {s.rank for s in self.seen if s.rank is not None and _network_abort(s)}
        ranks |= {
            r for r, states in self.chain.states.items() if any(s.timed_out or s.broken for _, s in states)
        }
        ranks |= {e.rank for e in self.situation.errors if e.kind != "own"}
        return frozenset(ranks)

    @cached_property
    def heard(self) -> frozenset[int]:
        """Ranks of which the logs tell anything, or would if there were anything to tell."""
        ended = {e.rank for e in self.situation.exits if e.rank is not None}
        return self.situation.logged | ended | frozenset(self.situation.hosts)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """`timeout` where anybody waited in vain, `closed` where anybody lost a peer."""
        kinds = {"timeout" for s in self.seen if s.event.what in ("timeout", "wait")}
        kinds |= {
            "closed" for s in self.seen if s.event.what in ("closed", "error", "link") or _network_abort(s)
        }
        return frozenset(kinds | ({e.kind for e in self.situation.errors} & {"timeout", "closed"}))

    @cached_property
    def unattributed(self) -> bool:
        """Whether a complaint's rank is not known, and no known rank made the same one (summaries repeat them)."""
        known = {_same(s) for s in self.seen if s.rank is not None}
        return any(
            s.rank is None and _is_personal(s) and self._by_position(s) is None and _same(s) not in known
            for s in self.seen
        )

    def _by_position(self, seen: Seen) -> int | None:
        group = self.groups.of(seen.event, None) if seen.event.group else None
        position = seen.event.group_rank
        return group.rank_at(position) if group is not None and position is not None else None

    @cached_property
    def everyone(self) -> frozenset[int]:
        """All ranks of the job: by the world size where it is known, else up to the highest one seen."""
        size = self.situation.sizes.world
        if size is None:
            known = set(self.situation.hosts) | self.reporters
            known |= {e.rank for e in self.situation.exits if e.rank is not None}
            size = max(max(known, default=-1) + 1, len(self.situation.nodes) * (self.situation.per_node or 0))
        return frozenset(range(min(size, MAX_WORLD)))

    @cached_property
    def _only_place(self) -> tuple[str, range] | None:
        """The one host of which no rank is known, with the one block of ranks of which no host is known."""
        per_node = self.situation.per_node
        if not per_node or per_node > MAX_PER_NODE:
            return None
        used = {host for host in self.situation.hosts.values() if host is not None}
        free = [node for node in self.situation.nodes if node not in used]
        taken = {r // per_node for r, host in self.situation.hosts.items() if host is not None}
        blocks = [b for b in range(len(self.everyone) // per_node) if b not in taken]
        if len(free) != 1 or len(blocks) != 1:
            return None
        return free[0], range(blocks[0] * per_node, (blocks[0] + 1) * per_node)

    def node_of(self, rank: int) -> str | None:
        """The rank's host: as seen, by its block of ranks, or because only one is left."""
        node = self.situation.node_of(rank)
        if node is None and self._only_place is not None and rank in self._only_place[1]:
            return self._only_place[0]
        return node

    def ranks_on(self, node: str) -> frozenset[int]:
        """The ranks known to be on a host."""
        if self._only_place is not None and node == self._only_place[0]:
            return frozenset(self._only_place[1])
        return frozenset(self.situation.ranks_on(node))

    @property
    def began(self) -> float | None:
        """The earliest begin of any wait."""
        times = [
            s.at - s.event.ran_ms / 1000
            for s in self.seen
            if _waited(s) and s.at is not None and s.event.ran_ms
        ]
        return min(times, default=None)

    def of_ranks(
        self, ranks: Sequence[int], why: str, how: str, confident: bool, unknown: str = ""
    ) -> Culprit:
        nodes = {self.node_of(r) for r in ranks} - {None}
        if not nodes:
            nodes = {s.node for s in self.seen if s.rank in ranks} - {None}
        names = tuple(sorted(n for n in nodes if n is not None))
        return Culprit(tuple(sorted(ranks)), names, why, how, confident, self.began, unknown)


def _waited(seen: Seen) -> bool:
    return seen.event.what in ("timeout", "wait", "heartbeat")


def _network_abort(seen: Seen) -> bool:
    return seen.event.what == "aborted" and is_transport(seen.event.reason)


def _is_personal(seen: Seen) -> bool:
    """A complaint that each rank words for itself; NCCL's own lines lack a rank too often to count."""
    event = seen.event
    return event.what in WAITING or (event.what == "closed" and bool(event.shape))


def _same(seen: Seen) -> tuple[object, ...]:
    event = seen.event
    return (event.what, event.seq, event.op, event.ran_ms, event.group_rank, event.peer, event.shape)
