"""One job, several attempts: requeues and torchrun restarts, counted together from 1 in time."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from triage.core.cause.keeper import Kept
from triage.core.events.model import Event, Facts, Mark, Message, Progress, Trace
from triage.core.logs.source import Source
from triage.core.rules.model import Role
from triage.core.values import dataclass
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
    """The events of each attempt. A path's own number counts; else the marks before an event in its source."""
    marks: dict[int, list[int]] = defaultdict(list)
    for k in kept:
        if isinstance(k.event, Mark):
            marks[k.event.span.source].append(_border(k.event))
    for source, offset in _ended_and_begun_again(kept):
        marks[source].append(offset)
    starts = {source: _counted(kept, source, offsets) for source, offsets in marks.items()}
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


GRACE = 600.0
"""Seconds for which a job may go on writing after the scheduler has ended it."""
QUIET = 90.0
"""Seconds without a line after the scheduler ended a job, behind which whatever comes is another start: what the job
still has to say in its grace period it says at once."""


def _ended_and_begun_again(kept: Sequence[Kept]) -> list[tuple[int, int]]:
    """(source, offset) behind each end that the scheduler told and after which the same file went on much later."""
    found: list[tuple[int, int]] = []
    told = before = None
    for k in kept:
        at = k.event.when.at
        if at is None or at.seconds is None or at.utc or not at.has_year:
            continue
        here = (k.event.span.source, at.seconds, k.event.span.last)
        quiet = before is not None and here[1] - before[1] >= QUIET
        if (
            quiet
            and told is not None
            and before is not None
            and told[0] == here[0]
            and before[1] - told[1] <= GRACE
        ):
            found.append((here[0], before[2]))
            told = None
        decided = k.deciding
        if decided is not None and decided.rule.scheduler and not _of_a_step(k.event):
            told = here
        before = here
    return found


def _of_a_step(event: Event) -> bool:
    """Slurm ends one step, and the job's script may go on: the lines behind it are no other start."""
    return isinstance(event, Message) and "*** STEP " in event.text


def _border(mark: Mark) -> int:
    """A requeue's own line still belongs to the attempt that it ends."""
    return mark.span.last if mark.kind == "requeue" else mark.span.first


def _is_empty(kept: Sequence[Kept]) -> bool:
    """Nothing but the end of the attempt before: a requeued job that did not start again."""
    return not any(
        isinstance(k.event, Progress | Facts)
        or (k.deciding is not None and k.deciding.rule.role is Role.ROOT)
        for k in kept
    )


def _counted(kept: Sequence[Kept], source: int, offsets: list[int]) -> list[int]:
    """The marks that begin an attempt: several with nothing but marks and exits between them are one."""
    content = sorted(
        k.event.span.first
        for k in kept
        if k.event.span.source == source and isinstance(k.event, Trace | Progress)
    )
    told = min(
        (k.event.span.first for k in kept if k.event.span.source == source and k.deciding), default=None
    )
    counted: list[int] = []
    last = -1
    for offset in sorted(offsets):
        if bisect_right(content, offset) > bisect_right(content, last) or (
            not counted and told is not None and told < offset
        ):
            counted.append(offset)
            last = offset
    return counted


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
