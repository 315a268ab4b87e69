"""Where in a file another attempt begins: by what says so, by a program that starts again, by a launcher that ends twice."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from triage.core.cause.keeper import Kept
from triage.core.events.model import Event, Exit, Mark, Message, Progress, Trace


def borders(kept: Sequence[Kept]) -> dict[int, list[int]]:
    """For each source in which any is, the offsets from which the events are those of another attempt."""
    found: dict[int, list[int]] = defaultdict(list)
    for source, offset in (*_marked(kept), *_ended_and_begun_again(kept), *_launched_again(kept)):
        found[source].append(offset)
    return {source: _counted(kept, source, offsets) for source, offsets in found.items()}


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


RELAUNCH = 30.0
"""Seconds between two failures of a program that was launched again; agents that ran beside each other die at once."""


def _launched_again(kept: Sequence[Kept]) -> list[tuple[int, int]]:
    """(source, offset) behind a launcher's summary where the same one tells of another failure later in the file: an
    agent prints its summary once, when it ends, and no two agents of a world have the same host and first rank."""
    found: list[tuple[int, int]] = []
    seen: dict[object, float] = {}
    source = end = -1
    for k in kept:
        exit_ = k.event
        if not isinstance(exit_, Exit) or exit_.by != "torchrun" or not exit_.first or exit_.time is None:
            continue
        if exit_.span.source != source:
            source, seen = exit_.span.source, {}
        agent = (
            exit_.tags.stream_key(),
            exit_.host,
            exit_.binary,
            (exit_.rank or 0) - (exit_.local_rank or 0),
        )
        at = exit_.time.seconds or 0.0
        if agent in seen and at - seen[agent] >= RELAUNCH:
            found.append((source, end))
            seen = {}
        seen.setdefault(agent, at)
        end = exit_.span.last
    return found


def _of_a_step(event: Event) -> bool:
    """Slurm ends one step, and the job's script may go on: the lines behind it are no other start."""
    return isinstance(event, Message) and "*** STEP " in event.text


def _marked(kept: Sequence[Kept]) -> Iterator[tuple[int, int]]:
    """(source, offset) of what announces a restart, and of a beginning that its stream had already seen, or that follows
    a preemption. A requeue's own line still belongs to the attempt that it ends."""
    seen: dict[object, set[str]] = defaultdict(set)
    for k in kept:
        mark = k.event
        if not isinstance(mark, Mark):
            continue
        source = mark.span.source
        here = seen[source, mark.tags.stream_key()]
        if mark.kind == "preempted":
            here.add(mark.kind)
        elif mark.kind == "begin":
            if not here.isdisjoint(("preempted", mark.what)):
                here.clear()
                yield source, mark.span.first
            here.add(mark.what)
        else:
            here.clear()
            yield source, mark.span.last if mark.kind == "requeue" else mark.span.first


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
