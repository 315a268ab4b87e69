"""All that is known of one attempt of one job, resolved: the input of the root-cause selection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from triage.core.cause.clock import Bounds, Clock
from triage.core.cause.incident import Incident, Occurrence
from triage.core.cause.timeline import Timeline
from triage.core.cause.where import Where, World
from triage.core.events.model import Collective, Exit, Manifest, Trace, Words
from triage.core.logs.source import Source
from triage.core.rules.model import Role
from triage.core.rules.ruleset import RuleSet
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence; `{0}`, `{1}` ... become `path:line` of the occurrences' places."""

    text: str
    places: tuple[tuple[int, int], ...] = ()
    """(source, byte offset) each."""


@dataclass(frozen=True, slots=True)
class ResolvedExit:
    exit: Exit
    where: Where
    time: float | None
    """Seconds on the job's axis, as the launcher saw it."""

    @property
    def failing(self) -> bool:
        """It ended by itself, and not well."""
        return not self.exit.victim and bool(self.exit.signal or self.exit.exitcode)

    @property
    def signal(self) -> int | None:
        if self.exit.signal:
            return self.exit.signal
        return -self.exit.exitcode if self.exit.exitcode is not None and self.exit.exitcode < 0 else None


@dataclass(frozen=True, slots=True)
class SeenCollective:
    event: Collective
    where: Where
    bounds: Bounds


@dataclass(frozen=True)
class JobLog:
    """Without slots: what is asked for each failure is computed once."""

    sources: Sequence[Source]
    world: World
    clock: Clock
    timeline: Timeline
    incidents: Sequence[Incident]
    occurrences: Sequence[Occurrence]
    exits: Sequence[ResolvedExit]
    collectives: Sequence[SeenCollective]
    ruleset: RuleSet
    facts: dict[str, int | float | None]
    cut: Sequence[tuple[Trace, Where]] = ()
    """Tracebacks whose exception the log does not show."""
    stamps: Sequence[float] = ()
    """When lines were written, of whatever kind: the latest of each source, sorted."""
    ranks_seen: frozenset[int] = frozenset()
    """Ranks that wrote at least one line."""
    manifests: Sequence[Manifest] = ()
    """How each node was launched, in the order of the nodes."""
    words: Sequence[tuple[Words, Where]] = ()
    """Plain lines right before reports of failures."""

    def failing_exits(self) -> Sequence[ResolvedExit]:
        return self._failing

    @cached_property
    def _failing(self) -> list[ResolvedExit]:
        return [e for e in self.exits if e.failing]

    @cached_property
    def ranks_failed(self) -> frozenset[int]:
        """Ranks that their launcher saw end by themselves, and not well."""
        return frozenset(e.where.rank for e in self._failing if e.where.rank is not None)

    @cached_property
    def ranks_telling(self) -> frozenset[int]:
        """Ranks with a traceback that carries their name and may be a root."""
        return frozenset(
            o.where.rank
            for o in self.occurrences
            if o.where.rank is not None
            and o.where.attribution == "tag"
            and isinstance(o.event, Trace)
            and o.rule.role is Role.ROOT
        )
