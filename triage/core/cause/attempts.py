"""One job, several attempts: requeues and torchrun restarts, counted together from 1 in time."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from triage.core.cause.borders import borders
from triage.core.cause.keeper import Kept
from triage.core.events.model import Facts, Progress
from triage.core.logs.source import Source
from triage.core.rules.model import Role
from triage.core.values import dataclass, replace
from triage.errors import InputError

if TYPE_CHECKING:
    from triage.core.cause.explain import Explained

AFTERMATH = frozenset({"nccl", "launcher"})
"""What an attempt may die of only because the one before it left something behind."""


@dataclass(frozen=True, slots=True)
class Attempt:
    number: int
    """From 1."""
    kept: tuple[Kept, ...]
    trained: bool = False
    """A file that shows where the attempt begins shows an iteration of it."""


def split_attempts(sources: Sequence[Source], kept: Sequence[Kept]) -> list[Attempt]:
    """The events of each attempt. A path's own number counts; else the borders before an event in its source."""
    starts = borders(kept)
    by_path = sorted({s.attempt for s in sources if s.attempt is not None})
    place = {number: i for i, number in enumerate(by_path)}
    total = max([len(by_path), *(len(s) + 1 for s in starts.values()), 1])
    parts: dict[int, list[Kept]] = defaultdict(list)
    for k in kept:
        source = k.event.span.source
        named = sources[source].attempt
        if named is not None:
            number = place[named]
        elif source in starts:
            number = total - 1 - len(starts[source]) + bisect_right(starts[source], k.event.span.first)
        else:
            number = total - 1
        parts[number].append(k)
    while total > 1 and _is_empty(parts[total - 1]):
        total -= 1
    told = set(starts) | {i for i, s in enumerate(sources) if s.attempt is not None}
    return [Attempt(n + 1, tuple(parts[n]), _trained(parts[n], told)) for n in range(total)]


def _trained(kept: Sequence[Kept], told: Collection[int]) -> bool:
    return any(
        isinstance(k.event, Progress) and k.event.iteration is not None and k.event.span.source in told
        for k in kept
    )


def _is_empty(kept: Sequence[Kept]) -> bool:
    """Nothing but the end of the attempt before: a requeued job that did not start again."""
    return not any(
        isinstance(k.event, Progress | Facts)
        or (k.deciding is not None and k.deciding.rule.role is Role.ROOT)
        for k in kept
    )


def _may_leave(before: str, last: str) -> bool:
    """Whether an attempt that ended with the one category may make the next one end with the other."""
    return before not in AFTERMATH | {"unknown"} or (last == "launcher" and before == "nccl")


def decide(
    attempts: Sequence[Attempt], wanted: int | None, explain: Callable[[Attempt], Explained]
) -> Explained:
    """The asked attempt; else the last, unless it only stumbled over what the one before had left: right after the
    restart, before its first iteration.

    Raises InputError when there is no such attempt.
    """
    if wanted is not None:
        found = next((a for a in attempts if a.number == wanted), None)
        if found is None:
            raise InputError(f"there is no attempt {wanted}: the logs show {len(attempts)}")
        return explain(found)
    last = explain(attempts[-1])
    if len(attempts) == 1 or not last.verdict.failed or last.verdict.category not in AFTERMATH:
        return last
    if attempts[-1].trained:
        return last
    before = explain(attempts[-2])
    if not before.verdict.failed or not _may_leave(before.verdict.category, last.verdict.category):
        return last
    reason = (
        f"attempt {attempts[-1].number} failed only with {last.verdict.rule or last.verdict.category}, right after attempt "
        f"{attempts[-2].number}: its cause decides"
    )
    verdict = replace(before.verdict, reasons=(*before.verdict.reasons, reason))
    return replace(before, verdict=verdict)
