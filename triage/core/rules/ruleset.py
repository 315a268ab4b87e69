"""Everything the `rules/` folder says, as one value."""

from __future__ import annotations

from collections.abc import Mapping

from triage.core.rules.model import On, Rule
from triage.core.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Category:
    """One value of the verdict's `category`."""

    name: str
    title: str
    meaning: str
    rank: int
    """Ties between incidents go to the lower rank."""
    failure: bool = True
    """False for `none` and `unknown`, which no rule may carry."""


@dataclass(frozen=True, slots=True)
class CauseEdge:
    """An incident of `cause` explains one of `effect`."""

    cause: str
    """A category or a rule id."""
    effect: str
    """A category or a rule id."""
    same: str
    """`rank`, `node` or `job`: what both must share."""
    why: str
    within: float | None = None
    """Seconds from cause to effect, where the edge holds only for so long."""
    role: str = ""
    """Restricts the effect to incidents of this role; empty: any."""


@dataclass(frozen=True, slots=True)
class FrameRow:
    """What a stack frame says about where the program was."""

    file: str = ""
    """Pattern searched in the frame's path; empty: any path."""
    function: str = ""
    """Pattern that must match the whole function name; empty: any function."""
    phase: str = ""
    owner: str = ""
    outer: bool = False
    """What stands inside such a frame is in its phase, whatever the frames further in say."""
    weak: bool = False
    """Its phase yields to any other but `init` that a frame further out says without being weak."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    rules: tuple[Rule, ...]
    """Sorted by id, ids unique."""
    causes: tuple[CauseEdge, ...] = ()
    frames: tuple[FrameRow, ...] = ()
    taxonomy: Mapping[str, Category] = field(default_factory=dict)

    def literals(self) -> tuple[str, ...]:
        """All literals, each once, sorted. A rule with `raw` gives that instead: its lines are found by their prefix.

        `anchors.missing(ruleset.literals())` is what a raw scan has to look for beside the fixed anchors; rules on
        traces alone do not count, because every traceback is read.
        """
        found: set[str] = set()
        for rule in self.rules:
            if rule.on is not On.TRACE or rule.also_on:
                found.update((rule.raw,) if rule.raw else rule.literals)
        return tuple(sorted(found))

    def get(self, rule_id: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.id == rule_id), None)

    def merged(self, other: RuleSet) -> RuleSet:
        """With the other set's rules added; a rule with the same id is replaced by the other's.

        Edges are added. Frames of the other set are asked first. The taxonomy is this set's.
        """
        rules = {rule.id: rule for rule in (*self.rules, *other.rules)}
        return RuleSet(
            rules=tuple(rules[key] for key in sorted(rules)),
            causes=(*self.causes, *other.causes),
            frames=(*other.frames, *self.frames),
            taxonomy=self.taxonomy or other.taxonomy,
        )

    def explains(self, cause: Rule, effect: Rule) -> tuple[CauseEdge, ...]:
        """The edges from one rule (or its category) to another."""
        return tuple(
            edge
            for edge in self.causes
            if edge.cause in (cause.id, cause.category)
            and edge.effect in (effect.id, effect.category)
            and edge.role in ("", effect.role.value)
        )
