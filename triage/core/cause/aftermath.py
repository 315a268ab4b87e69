"""Ends that only follow from something else: the watchdog's abort, the scheduler's kill, a crash while being torn down."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.cause.blamed import ENDING, behind_an_exit, end_signal
from triage.core.cause.clock import SKEW
from triage.core.cause.incident import Incident, is_soft, same_stream_before
from triage.core.cause.joblog import JobLog
from triage.core.events.model import Exit, Trace
from triage.core.logs.record import Tags
from triage.core.rules.model import Role

ABORT = 6


def is_aftermath(incident: Incident, live: Sequence[Incident]) -> bool:
    """An abort (SIGABRT) is what the NCCL watchdog does: beside collective failures it is their end, not their cause.
    And a process that raised an exception may crash while it is torn down."""
    event = incident.first.event
    beside = [i for i in live if i.category == "nccl" and not isinstance(i.first.event, Exit)]
    if isinstance(event, Exit):
        number = end_signal(event)
        if event.by == "srun" and number in ENDING and any(i.rule.scheduler for i in live):
            return True
        return (number == ABORT and bool(beside)) or (
            incident.category == "signal" and _raised(incident, live)
        )
    return incident.rule.id == "signal/abort" and any(
        i.ranks & incident.ranks if incident.ranks and i.ranks else _behind_in_one_process(incident, i)
        for i in beside
    )


def _behind_in_one_process(abort: Incident, failure: Incident) -> bool:
    """Each abort stands behind a collective failure that the same process may have printed: the abort's own text
    carries less of the process's labels than c10's logger puts before its lines."""
    return all(
        any(
            told.place[0] == o.place[0]
            and told.place[1] < o.place[1]
            and _agree(told.event.tags, o.event.tags)
            for told in failure.occurrences
        )
        for o in abort.occurrences
    )


def _agree(a: Tags, b: Tags) -> bool:
    return all(x is None or y is None or x == y for x, y in zip(a.stream_key(), b.stream_key(), strict=True))


def _raised(incident: Incident, live: Sequence[Incident]) -> bool:
    """Whether all of its ranks raised one and the same exception."""
    traces = (i for i in live if i.role is Role.ROOT and isinstance(i.first.event, Trace) and not is_soft(i))
    return any(incident.ranks and incident.ranks <= i.ranks and i.category != "signal" for i in traces)


def by_itself(incident: Incident, job: JobLog) -> bool:
    """A signal death that no launcher caused: none of the rank's failures came before it."""
    first = incident.first
    if isinstance(first.event, Exit) and (first.event.victim or behind_an_exit(first.event, job)):
        return False
    exits = [e for e in job.failing_exits() if e.time is not None]
    if not exits or not isinstance(first.event, Exit):
        return True
    earliest = min(e.time for e in exits if e.time is not None)
    mine = [e.time for e in exits if e.exit is first.event and e.time is not None]
    return not mine or mine[0] <= earliest + SKEW or first.event.first


def came_too_late(limit: Incident, live: Sequence[Incident]) -> bool:
    """A time limit behind collectives that had timed out, with no step in between: it only freed what stood still."""
    return limit.category == "timeout" and any(
        i.rule.id == "nccl/watchdog-timeout"
        and (i.bounds.before(limit.bounds) or same_stream_before(i, limit))
        for i in live
    )
