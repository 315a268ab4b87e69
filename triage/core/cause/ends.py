"""Peers that lines name: from `Connection closed by remote peer host<port>` to a host of the job."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from triage.core.cause.situation import Seen, Situation
from triage.core.lazy import lazy
from triage.core.values import dataclass

_INTERFACE = lazy(r"[-.](?:ib|hsn|eth|opa|roce|data|bond|mgmt)\d*$")
_CLOUD = lazy(r"^ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})$")
LOST = frozenset({"closed", "connect", "link"})


@dataclass(frozen=True, slots=True)
class Loss:
    """Somebody lost the connection to a peer."""

    by_rank: int | None
    by_node: str | None
    node: str | None
    """The peer's host; None where no log says whose address it is."""
    peer: str
    time: float | None
    what: str


class Hosts:
    """Maps what is printed of a peer to a host of the job, and only where that is certain."""

    def __init__(self, names: Iterable[str], addresses: Mapping[str, str]) -> None:
        self._by_name: dict[str, set[str]] = defaultdict(set)
        for name in names:
            for form in _forms(name):
                self._by_name[form].add(name)
        self._by_address = dict(addresses)
        for name in names:
            if found := _CLOUD.match(name.split(".")[0].lower()):
                self._by_address.setdefault(".".join(found.groups()), name)

    def resolve(self, peer: str) -> str | None:
        if peer in self._by_address:
            return self._by_address[peer]
        for form in _forms(peer):
            names = self._by_name.get(form, set())
            if len(names) == 1:
                return next(iter(names))
        return None


def _forms(name: str) -> tuple[str, ...]:
    """A host name as it stands, without its domain, and without the suffix of an interface."""
    name = name.lower()
    if re.fullmatch(r"[0-9.]+|[0-9a-f:]*:[0-9a-f:.]*", name):
        return (name,)
    short = name.split(".")[0]
    return tuple(dict.fromkeys((name, short, _INTERFACE.sub("", short))))


def losses(seen: Sequence[Seen], situation: Situation) -> list[Loss]:
    """The named lost peers, loopback left out (it says nothing about which process it was)."""
    names = (
        set(situation.nodes) | {h for h in situation.hosts.values() if h} | {s.node for s in seen if s.node}
    )
    addresses: dict[str, str] = {}
    for item in seen:
        if item.event.what == "address" and item.node:
            addresses.setdefault(item.event.peer, item.node)
    hosts = Hosts(sorted(names), addresses)
    found = []
    for item in seen:
        event = item.event
        if event.what not in LOST or not event.peer or _is_loopback(event.peer):
            continue
        node = hosts.resolve(event.peer)
        if node is None or node != item.node or len(names) == 1:
            found.append(Loss(item.rank, item.node, node, event.peer, item.at, event.what))
    return found


def _is_loopback(peer: str) -> bool:
    return peer.startswith("127.") or peer in ("localhost", "::1", "0.0.0.0", "::")


def lost_node(found: Sequence[Loss]) -> tuple[str | None, str]:
    """(host, why) where the losses single one out; (None, why not) otherwise."""
    pairs = {
        (item.by_node, item.node) for item in found if item.node is not None and item.by_node != item.node
    }
    named = {node for _, node in pairs if node is not None}
    if not named:
        return None, ""
    reporters = {by for by, _ in pairs if by is not None}
    common = [n for n in named | reporters if all(n in pair for pair in pairs)]
    partners = {n for pair in pairs for n in pair} - {None}
    silent = sorted(named - reporters)
    first = _first(found)
    if first is not None:
        return first, f"the first lost connection named {first}"
    if len(partners) > 2 and len(common) == 1:
        return common[0], f"every lost connection has {common[0]} at one end"
    if len(named) == 1 and silent:
        return silent[0], f"{_count(found)} lost the connection to {silent[0]}, which reported none"
    return None, "the hosts " + ", ".join(sorted(named)) + " lost one another, in no order that the logs show"


def _first(found: Sequence[Loss]) -> str | None:
    """The host named by the earliest reports, where other hosts were named only clearly later."""
    timed = sorted(
        (item.time, item.node) for item in found if item.time is not None and item.node is not None
    )
    if len(timed) != len(found) or not timed:
        return None
    start, node = timed[0]
    later = [time for time, other in timed if other != node]
    return node if later and later[0] - start > SKEW else None


SKEW = 2.0
"""Seconds by which clocks of two hosts may differ."""


def _count(found: Sequence[Loss]) -> str:
    ranks = {item.by_rank for item in found if item.by_rank is not None}
    return f"{len(ranks)} rank{'s' * (len(ranks) != 1)}" if ranks else "others"
