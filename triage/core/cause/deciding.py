"""Which of the rules that match an event names it.

Only that one is wanted, so rules are tried in order of preference up to the first that matches: most patterns are
never compiled.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.events.model import Event, Message, Trace
from triage.core.lazy import lazy
from triage.core.rules.engine import Candidate, Engine, Match
from triage.core.rules.model import FALLBACK, Role

_SLURM = lazy(r"DUE TO |oom_kill event|CANCELLED AT ")
_WARNING = lazy(r"\b[A-Z]\w*Warning: ")


def deciding(engine: Engine, event: Event) -> Match | None:
    """A cause before a symptom before a fallback, the more specific rule, the first link on ties."""
    candidates = engine.candidates(event)
    if not candidates:
        return None
    believed = sorted(_believed(event, candidates), key=preference)
    return next((match for c in believed if (match := engine.tried(c)) is not None), None)


def preference(found: Candidate | Match) -> tuple[int, int, int, str]:
    """Sorts what names an event best to the front."""
    return (_weight(found), -found.rule.specificity, found.link or 0, found.rule.id)


def _weight(found: Candidate | Match) -> int:
    if found.rule.specificity <= FALLBACK:
        return 3
    return {Role.ROOT: 0, Role.DOWNSTREAM: 1, Role.TEARDOWN: 2, Role.ADVICE: 2}[found.rule.role]


def _believed(event: Event, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Without rules that the event cannot mean, whatever its words."""
    if isinstance(event, Trace):
        return _raised(candidates, len(event.links) - 1)
    if isinstance(event, Message):
        if "Warning: " in event.text and _WARNING.search(event.text, 0, 400):
            return [c for c in candidates if c.rule.role is Role.ADVICE]
        if (
            any(c.rule.scheduler for c in candidates)
            and _SLURM.search(event.text)
            and not _said_by_slurm(event)
        ):
            return [c for c in candidates if not c.rule.scheduler]
    return candidates


def _raised(candidates: Sequence[Candidate], last: int) -> Sequence[Candidate]:
    """Without the ends of launched commands that a chain went on from: what it raised then is what was meant."""
    return [c for c in candidates if c.rule.role is not Role.TEARDOWN or c.link == last]


def _said_by_slurm(event: Message) -> bool:
    """Whether Slurm itself printed it: a script that echoes or searches for such words quotes them."""
    return event.dialect == "slurm" or event.text.startswith(("*** JOB ", "*** STEP ", "srun: "))
