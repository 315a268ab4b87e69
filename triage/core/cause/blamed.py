"""Whom a launcher's account of its processes blames for a failure that names no rank itself."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.cause.incident import Occurrence
from triage.core.cause.joblog import JobLog, ResolvedExit
from triage.core.cause.where import Where, short
from triage.core.events.model import Exit
from triage.core.values import replace

_TELLING = frozenset({"torchrun", "mpirun", "horovod", "jsrun", "composer", "lightning", "python", "srun"})
"""Launchers that name the process which failed, and not the one that they started last."""
SHELL = 128
"""What a shell adds to the number of the signal that ended its command."""
ENDING = frozenset({9, 15})
"""Signals by which Slurm itself ends a step."""


def named_by_launcher(job: JobLog, o: Occurrence) -> Where | None:
    """The one failing process that the launchers name first, where it can be the one that printed this.

    torchrun speaks before the others, which saw torchrun itself end.
    """
    told = [e for e in job.failing_exits() if e.where.rank is not None and e.exit.by in _TELLING]
    fitting = [e for e in told if _fits(o, e)]
    telling = _near(o, fitting)
    if len(fitting) < len(told):
        telling = [e for e in fitting if e.exit.first] or telling
    failing = [e for e in telling if e.exit.by == "torchrun"]
    if failing:
        return _only(o, failing)
    if o.rule.scheduler:
        return _out_of_memory(job) if o.rule.category == "host-oom" else None
    return _only(o, by_themselves(telling))


def _out_of_memory(job: JobLog) -> Where | None:
    """The task that srun says ran out of memory; else the killed ones, if they are of one node."""
    killed = [e for e in job.exits if e.exit.by == "srun" and len(e.exit.hosts) == 1]
    told = [e for e in killed if e.exit.reason == "Out Of Memory"] or [e for e in killed if e.signal == 9]
    if len({e.exit.host for e in told}) != 1:
        return None
    one = len(told) == 1 and len(told[0].exit.ranks) == 1
    return told[0].where if one else replace(told[0].where, rank=None)


def by_themselves(failing: Sequence[ResolvedExit]) -> list[ResolvedExit]:
    """Without those that were killed, where another process ended with an exit code of its own."""
    return [e for e in failing if not _killed(e)] if any(map(_by_itself, failing)) else list(failing)


def behind_an_exit(killed: Exit, job: JobLog) -> bool:
    """Killed as srun says behind its word that another task ended by itself: it was srun that killed it."""
    own = (e.exit for e in job.failing_exits() if _by_itself(e) and e.exit.by == killed.by == "srun")
    return any(e.span.source == killed.span.source and e.span.first < killed.span.first for e in own)


def _by_itself(e: ResolvedExit) -> bool:
    return (e.exit.exitcode or 0) > 0 and not _killed(e)


def _killed(e: ResolvedExit) -> bool:
    return end_signal(e.exit) in ENDING


def end_signal(event: Exit) -> int:
    """The signal by which a process ended, whether told as such, by a negative code, or by a shell's 128 + N."""
    code = event.exitcode or 0
    return event.signal or (-code if code < 0 else code - SHELL if SHELL < code < SHELL + 65 else 0)


def _fits(o: Occurrence, e: ResolvedExit) -> bool:
    """Whether that process can have named this GPU: its own is the one of its local rank, or all that it sees is GPU 0."""
    gpu = o.captures.get("gpu", "")
    return not gpu.isdecimal() or int(gpu) == 0 or e.where.local_rank in (None, int(gpu))


def _near(o: Occurrence, failing: list[ResolvedExit]) -> list[ResolvedExit]:
    if o.where.node is None:
        return failing
    here = [e for e in failing if e.where.node is not None and short(e.where.node) == short(o.where.node)]
    return here or [e for e in failing if e.where.node in (None, "localhost")]


def _only(o: Occurrence, failing: list[ResolvedExit]) -> Where | None:
    """The failing process, if it is one and its line tells of no other."""
    first = [e for e in failing if e.exit.first] or failing
    alone = [e for e in first if len(e.exit.ranks) < 2]
    if len({e.where.rank for e in first}) == 1:
        return alone[0].where if alone else None
    same = [e for e in alone if e.exit.span.source == o.event.span.source]
    return same[0].where if len({e.where.rank for e in same}) == 1 and len(alone) == len(first) else None
