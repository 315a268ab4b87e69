"""What the scheduler says now about a job that is to end early."""

from __future__ import annotations

from triage.core.jobs.attempt import attempt_of
from triage.core.jobs.cancel import Fresh
from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Phase
from triage.core.jobs.witness import Program, Witness, merge
from triage.errors import SchedulerError
from triage.watch.world import World


def look(world: World, job: JobId, *, sent: bool) -> Fresh | None:
    """`None` where it does not answer. scontrol tells of the attempt; that the nodes are free, after an act, only squeue."""
    scheduler = world.scheduler
    try:
        if sent:
            status = scheduler.status([job])[job]
            if not status.answered:
                return None
            if status.released or status.phase in (Phase.ENDED, Phase.UNKNOWN):
                return Fresh(listed=False)
            if not status.reading.is_running:
                return Fresh(listed=True)
        details = scheduler.details(job)
    except SchedulerError:
        return None
    if details is None:
        return Fresh(listed=False)
    told = merge([Witness(Program.SCONTROL, world.clock(), (details.sighting,))])
    running = told.reading.is_running
    return Fresh(
        told.phase is not Phase.ENDED, running, attempt_of(told) if running else None, details.requeue
    )
