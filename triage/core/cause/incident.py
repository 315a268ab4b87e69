"""Incidents: what many ranks say alike, grouped, whatever the order it was read in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from triage.core.cause.clock import SKEW, Bounds
from triage.core.cause.where import Where
from triage.core.events.model import Event, Exit, Link, Message, Trace
from triage.core.lazy import lazy
from triage.core.rules.model import Role, Rule
from triage.core.rules.texts import of_exit
from triage.core.values import dataclass

_ENDED = lazy(r"\*\*\* (?:JOB|STEP) [\d.+\w]{1,50} ON ")
_VARYING = lazy(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b|\d+")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One event that a rule matched."""

    event: Event
    rule: Rule
    link: int | None
    captures: Mapping[str, str]
    where: Where
    bounds: Bounds
    killed: bool = False
    """The launcher saw this process end with this failure."""

    @property
    def place(self) -> tuple[int, int]:
        return (self.event.span.source, self.event.span.first)

    @property
    def exception(self) -> Link | None:
        """The chain link that decides the category."""
        if isinstance(self.event, Trace) and self.event.links:
            return self.event.links[self.link if self.link is not None else -1]
        return None

    @property
    def text(self) -> str:
        """What it says: the deciding exception's message, or the line."""
        if link := self.exception:
            return link.message
        if isinstance(self.event, Message):
            return self.event.text
        return (self.event.reason or of_exit(self.event)) if isinstance(self.event, Exit) else ""


@dataclass(frozen=True, slots=True)
class Incident:
    """Occurrences with one fingerprint, earliest first."""

    fingerprint: str
    rule: Rule
    occurrences: tuple[Occurrence, ...]

    @property
    def role(self) -> Role:
        return self.rule.role

    @property
    def category(self) -> str:
        return self.rule.category

    @property
    def first(self) -> Occurrence:
        return self.occurrences[0]

    @property
    def ranks(self) -> frozenset[int]:
        return frozenset(o.where.rank for o in self.occurrences if o.where.rank is not None)

    @property
    def count(self) -> int:
        """Number of ranks; occurrences whose rank is not known count as one together."""
        return len(self.ranks) + any(o.where.rank is None for o in self.occurrences)

    @property
    def ordered(self) -> bool:
        """Whether lines or clocks tell which rank raised it first."""
        told = [o for o in self.occurrences if o.where.rank is not None]
        others = [o for o in told if o.where.rank != told[0].where.rank]
        return all(o.place[0] == told[0].place[0] or surely_before(told[0], o) for o in others)

    @property
    def bounds(self) -> Bounds:
        """When it was first seen."""
        return Bounds(min(o.bounds.lo for o in self.occurrences), min(o.bounds.hi for o in self.occurrences))


def surely_before(a: Occurrence, b: Occurrence) -> bool:
    """By the clock; two hosts' clocks, or clocks of hosts that are not known, may disagree."""
    one_clock = a.place[0] == b.place[0] or (a.where.node is not None and a.where.node == b.where.node)
    return a.bounds.before(b.bounds, 0.0 if one_clock else SKEW)


def is_statement(rule: Rule, text: str) -> bool:
    """Whether Slurm says that it ends a job or a step of it (src/slurmd/slurmstepd/req.c)."""
    return rule.scheduler and "*** " in text and _ENDED.search(text) is not None


def fingerprint(occurrence: Occurrence) -> str:
    """Equal for the same failure on other ranks: rule, exception, innermost frame and the message without numbers; of
    what Slurm says about a job and again about its steps, the rule."""
    parts = [occurrence.rule.id]
    if is_statement(occurrence.rule, occurrence.text):
        return "|".join((*parts, "job"))
    if isinstance(occurrence.event, Exit):
        return "|".join((*parts, str(occurrence.event.exitcode), str(occurrence.event.signal)))
    if link := occurrence.exception:
        parts.append((link.exception or "").rsplit(".", 1)[-1])
        if link.frames:
            inner = link.frames[-1]
            parts.append(f"{inner.file.rsplit('/', 1)[-1]}:{inner.function}")
    parts.append(masked(occurrence.text))
    return "|".join(parts)


_DIGITS = str.maketrans("023456789", "111111111")


def masked(text: str) -> str:
    """The beginning of a text, numbers taken out: which digits they have matters only where `0x` stands."""
    return _masked(text if "0x" in text or len(text) > 1024 else text.translate(_DIGITS))


@lru_cache(maxsize=1024)
def _masked(text: str) -> str:
    """Remembered, for the ranks of a job say the same with other numbers."""
    return _VARYING.sub("#", text)[:200]


def group(occurrences: Iterable[Occurrence]) -> list[Incident]:
    """Incidents in an order that depends on their content only."""
    by_print: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        by_print[fingerprint(occurrence)].append(occurrence)
    found = []
    for name, members in by_print.items():
        said = _statements(members) if members[0].rule.scheduler else [members]
        found += [Incident(name, members[0].rule, _in_time(one)) for one in said]
    return sorted(found, key=lambda i: (_order(i.first)[:3], i.fingerprint))


def _statements(members: list[Occurrence]) -> list[list[Occurrence]]:
    """What the scheduler says at one time about a job and its steps is one event; a step has its own time limit."""
    said: list[list[Occurrence]] = []
    for o in sorted(members, key=lambda o: (o.bounds.guess, o.place)):
        if said and not said[-1][-1].bounds.before(o.bounds):
            said[-1].append(o)
        else:
            said.append([o])
    return said


def _in_time(members: list[Occurrence]) -> tuple[Occurrence, ...]:
    """One stream's own order whatever its stamps say; across streams the clock. Of those that no clock puts behind
    another one, the lowest rank is the first."""
    if len({o.place[0] for o in members}) == 1:
        return tuple(sorted(members, key=lambda o: o.place))
    end = min(o.bounds.hi for o in members)
    early = [o for o in members if o.bounds.lo <= end]
    first = min(early, key=lambda o: (_order(o)[1], *_order(o)))
    return (first, *sorted((o for o in members if o is not first), key=_order))


def _order(o: Occurrence) -> tuple[float, int, str, int]:
    rank = o.where.rank if o.where.rank is not None else 1 << 30
    return (o.bounds.guess, rank, o.where.node or "", o.event.span.first)


def is_soft(incident: Incident) -> bool:
    return all(
        o.event.logged or o.event.style == "bare"
        if isinstance(o.event, Trace)
        else isinstance(o.event, Message) and o.event.level[:1] in ("W", "I", "D")
        for o in incident.occurrences
    )


def is_bare(incident: Incident) -> bool:
    """Only the last line of a traceback speaks for it."""
    return all(isinstance(o.event, Trace) and o.event.style == "bare" for o in incident.occurrences)


def same_stream_before(a: Incident, b: Incident) -> bool:
    """All of b lies behind a's first in one stream."""
    source, at = a.first.place
    key = a.first.event.tags.stream_key()
    return all(
        o.place[0] == source and o.place[1] > at and o.event.tags.stream_key() == key for o in b.occurrences
    )
