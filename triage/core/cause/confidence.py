"""How sure a verdict may be: high needs a rank known by tag or file (or the scheduler's own statement) and everything
explained."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.cause.outcome import Outcome
from triage.core.cause.rootcause import Selection
from triage.core.cause.verdict import Root
from triage.core.events.model import Trace
from triage.core.rules.model import FALLBACK, SUGGESTIVE, WEAK
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Confidence:
    """`high`, `medium` or `low`, and what stands against more."""

    level: str
    doubts: tuple[str, ...] = ()


def confidence_of(
    selection: Selection, outcome: Outcome, root: Root | None, missing: frozenset[int]
) -> Confidence:
    """How sure the outcome is."""
    if not outcome.failed:
        return Confidence("high" if outcome.ended and not outcome.unexplained else "low")
    if outcome.category == "unknown" or root is None or outcome.rule is None:
        return Confidence("low")
    doubts = [
        *_of_the_rule(outcome),
        *_of_the_place(outcome, root),
        *_of_the_rest(selection, outcome, missing),
    ]
    weight = sum(2 if severe else 1 for severe, _ in doubts)
    return Confidence(("high", "medium", "low")[min(weight, 2)], tuple(why for _, why in doubts))


def _of_the_rule(outcome: Outcome) -> Iterator[tuple[bool, str]]:
    rule = outcome.rule
    if rule is None:
        return
    if rule.specificity <= FALLBACK:
        yield False, "no rule knows this exception"
    elif rule.specificity <= WEAK:
        yield True, "the logs show the symptom, its cause is only likely"
    elif rule.specificity <= SUGGESTIVE:
        yield False, "other failures use such words as well"
    if outcome.category == "hang" and outcome.values.get("zone"):
        yield True, "the silence may only be the difference of two clocks' time zones"
    if outcome.category in ("timeout", "cancelled") and rule.scheduler and "silent_s" not in outcome.values:
        yield outcome.category == "timeout", "no stamped progress line tells whether the run still moved"
    if outcome.values.get("step_only"):
        yield False, "only the step was cancelled, which srun does by itself when a task fails"
    if outcome.values.get("failed_task"):
        yield False, "a task ended badly, and its line may have come late"


def _of_the_place(outcome: Outcome, root: Root) -> Iterator[tuple[bool, str]]:
    rule, culprit = outcome.rule, outcome.culprit
    scheduler = rule is not None and rule.scheduler
    if not scheduler and root.rank is None and root.node is None and not _many_alike(outcome):
        yield False, "neither rank nor node is known"
    if culprit is not None and root.attribution == "inferred" and not culprit.confident:
        yield False, "who is to blame is inferred from others' words"
    if culprit is not None and culprit.rank is None and culprit.node is None:
        yield False, "nothing singles out who is to blame"
    if outcome.values.get("alone"):
        yield False, "a line says so, but nothing shows that a process ended"
    if outcome.values.get("finished"):
        yield (
            True,
            "training finished, and no time tells whether before or after it; no process was seen to fail",
        )
    if outcome.values.get("went_on"):
        yield (
            False,
            "training goes on behind it, and no time stamp tells whether the failure ended its process",
        )
    event = outcome.occurrence.event if outcome.occurrence is not None else None
    if isinstance(event, Trace) and event.style == "bare":
        yield True, "only the exception's last line is there, without its traceback"
    if isinstance(event, Trace) and not event.complete:
        yield False, "the traceback is cut"


def _of_the_rest(
    selection: Selection, outcome: Outcome, missing: frozenset[int]
) -> Iterator[tuple[bool, str]]:
    rivals = {i.category for i in (*outcome.unexplained, *(() if selection.ordered else selection.rivals))}
    if other := rivals - {outcome.category}:
        yield False, f"another failure ({', '.join(sorted(other))}) may have come first"
    elif not (selection.ordered or selection.rivals):
        yield False, "nothing says which came first"
    if missing:
        yield False, "ranks without a line may hide the cause"


def _many_alike(outcome: Outcome) -> bool:
    """One clear failure in one stream: which rank it was does not matter to what it was."""
    return outcome.root is not None and outcome.rule is not None and outcome.rule.specificity > 40
