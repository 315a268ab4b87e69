"""What the search for a hang's culprit is told, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping

from triage.core.cause.groups import Sizes
from triage.core.events.model import Collective
from triage.core.values import dataclass, field

MAX_PER_NODE = 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """A collective event with its writer resolved."""

    event: Collective
    rank: int | None
    """Global rank of the process that printed it; None where not known."""
    node: str | None
    time: float | None = None
    """When it was printed, on one scale for all events; None takes the event's own stamp."""

    @property
    def at(self) -> float | None:
        if self.time is not None:
            return self.time
        return self.event.when.at.seconds if self.event.when.at is not None else None


@dataclass(frozen=True, slots=True)
class RankError:
    """A rank raised an exception (a traceback), told apart by what it says of others."""

    rank: int
    kind: str
    """`timeout` (it waited in vain), `closed` (a peer went away), `other` (another complaint about a collective),
    `own` (nothing to do with collectives)."""
    node: str | None = None
    time: float | None = None
    call: str | None = None
    """The collective in which its stack ends, such as `all_reduce`; None where the stack does not tell."""


@dataclass(frozen=True, slots=True)
class RankExit:
    """How a rank's process ended, from its launcher."""

    rank: int | None
    exitcode: int | None
    """Negative for a signal."""
    node: str | None = None
    first: bool = False
    victim: bool = False
    """The launcher ended it."""
    stuck: bool = False
    """It did not end on SIGTERM and had to be killed."""
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """The job around the collective events."""

    sizes: Sizes = field(default_factory=Sizes)
    per_node: int | None = None
    """Processes per node; ranks are dealt out node by node."""
    hosts: Mapping[int, str | None] = field(default_factory=dict)
    """Every rank of which a line was seen -> its host, None where not known."""
    nodes: tuple[str, ...] = ()
    """Hosts whose logs are there."""
    logged: frozenset[int] = frozenset()
    """Ranks whose output would be in the logs given: their own file, or their node's common file, is there."""
    errors: tuple[RankError, ...] = ()
    exits: tuple[RankExit, ...] = ()

    def node_of(self, rank: int) -> str | None:
        """The rank's host: as seen, else that of a rank of the same block of `per_node` ranks."""
        known = self.hosts.get(rank)
        if known is not None or not self.per_node:
            return known
        first = rank // self.per_node * self.per_node
        names = {self.hosts.get(r) for r in range(first, first + min(self.per_node, MAX_PER_NODE))} - {None}
        return names.pop() if len(names) == 1 else None

    def ranks_on(self, node: str) -> tuple[int, ...]:
        """The ranks known to be on a host."""
        on = {r for r, host in self.hosts.items() if host == node}
        if self.per_node and len({r // self.per_node for r in on}) == 1:
            first = min(on) // self.per_node * self.per_node
            end = first + min(self.per_node, MAX_PER_NODE)
            on.update(r for r in range(first, end) if self.hosts.get(r) in (None, node))
        return tuple(sorted(on))


@dataclass(frozen=True, slots=True)
class Culprit:
    """Whom the evidence singles out, and how sure it is."""

    ranks: tuple[int, ...]
    """Empty where the evidence does not single one out."""
    nodes: tuple[str, ...]
    why: str
    """A sentence for the verdict's reasons."""
    how: str
    """`behind`, `absent`, `other-collective`, `named`, `first-exit`, `none`."""
    confident: bool
    began: float | None = None
    """When the hang began: a time-out's stamp minus how long it waited; on the events' own scale."""
    unknown: str = ""
    """What is not known, as a sentence; empty where nothing is missing."""
    peers: tuple[str, ...] = ()
    """Hosts or addresses that lines name as the other end and that no log identifies."""
