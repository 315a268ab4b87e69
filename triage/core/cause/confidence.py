"""How sure a verdict may be: high needs a rank known by tag or file (or the scheduler's own statement) and everything
explained."""

from __future__ import annotations

from triage.core.cause.outcome import Outcome
from triage.core.cause.rootcause import Selection
from triage.core.cause.verdict import Root
from triage.core.events.model import Trace
from triage.core.rules.model import FALLBACK, WEAK


def confidence_of(selection: Selection, outcome: Outcome, root: Root | None, missing: frozenset[int]) -> str:
    """`high`, `medium` or `low`."""
    if not outcome.failed:
        return "high" if outcome.ended and not outcome.unexplained else "low"
    if outcome.category == "unknown" or root is None or outcome.rule is None:
        return "low"
    rule = outcome.rule
    doubts = 0
    if rule.specificity <= FALLBACK:
        doubts += 1
    elif rule.specificity <= WEAK:
        doubts += 2
    if not rule.scheduler and root.rank is None and root.node is None and not _many_alike(outcome):
        doubts += 1
    if root.attribution == "inferred" and outcome.culprit is not None and not outcome.culprit.confident:
        doubts += 1
    if outcome.culprit is not None and outcome.culprit.rank is None and outcome.culprit.node is None:
        doubts += 1
    rivals = {i.category for i in (*outcome.unexplained, *(() if selection.ordered else selection.rivals))}
    if rivals - {outcome.category} or not (selection.ordered or selection.rivals):
        doubts += 1
    doubts += bool(missing)
    if outcome.occurrence is not None and isinstance(outcome.occurrence.event, Trace):
        doubts += not outcome.occurrence.event.complete
    if outcome.category == "timeout" and rule.scheduler and "silent_s" not in outcome.values:
        doubts += 2
    return ("high", "medium", "low")[min(doubts, 2)]


def _many_alike(outcome: Outcome) -> bool:
    """One clear failure in one stream: which rank it was does not matter to what it was."""
    return outcome.root is not None and outcome.rule is not None and outcome.rule.specificity > 40
