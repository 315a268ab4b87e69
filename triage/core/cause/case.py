"""The evidence about one failed collective, with what several questions need computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from triage.core.cause.conclusions import is_transport
from triage.core.cause.ends import Loss, losses
from triage.core.cause.groups import MAX_WORLD, Groups
from triage.core.cause.situation import Culprit, Seen, Situation
from triage.core.cause.waiting import WAITING, Chain, follow

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
            size = max(known, default=-1) + 1
        return frozenset(range(min(size, MAX_WORLD)))

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
        nodes = {self.situation.node_of(r) for r in ranks} - {None}
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
