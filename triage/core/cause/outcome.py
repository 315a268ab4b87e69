"""What a selection means, as a value: the category, whether the run ended, who is to blame."""

from __future__ import annotations

from collections.abc import Mapping

from triage.core.cause.incident import Incident, Occurrence
from triage.core.cause.joblog import Reason
from triage.core.cause.rootcause import Selection
from triage.core.events.model import Exit
from triage.core.rules.model import Rule
from triage.core.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Blame:
    """The silent culprit; rank and node None where the evidence does not single one out."""

    rank: int | None
    node: str | None
    ranks: tuple[int, ...] = ()
    attribution: str = "none"
    confident: bool = False
    reasons: tuple[Reason, ...] = ()
    how: str = "absent"
    """As a `Culprit` says: one that is `behind` or in an `other-collective` is not missing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `judge.outcome_of` decides of one attempt."""

    failed: bool
    category: str
    ended: bool
    rule: Rule | None = None
    rule_id: str | None = None
    root: Incident | None = None
    occurrence: Occurrence | None = None
    culprit: Blame | None = None
    advice: Rule | None = None
    """The rule whose next steps fit, where it is not the one that names the root."""
    downstream: tuple[Incident, ...] = ()
    unexplained: tuple[Incident, ...] = ()
    reasons: tuple[Reason, ...] = ()
    named: Occurrence | None = None
    """Another line about the same failure that knows its rank."""
    alike: tuple[Occurrence, ...] = ()
    """Other lines of the same rule that say the same thing in other words."""
    summary: str = ""
    values: Mapping[str, object] = field(default_factory=dict)


def spokesman(incident: Incident) -> Occurrence:
    """The occurrence that is shown: the first whose rank is known (Megatron prints an error twice, first untagged)."""
    first = next((o for o in incident.occurrences if o.where.rank is not None), incident.first)
    if isinstance(first.event, Exit) and not first.event.reason:
        same = (o for o in incident.occurrences if o.where.rank == first.where.rank)
        return next((o for o in same if isinstance(o.event, Exit) and o.event.reason), first)
    return first


def alike(selection: Selection, root: Incident) -> tuple[Occurrence, ...]:
    others = (*selection.downstream, *selection.unexplained)
    return tuple(o for i in others if i.rule is root.rule for o in i.occurrences)
