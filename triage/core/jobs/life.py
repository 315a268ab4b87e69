"""What happens to a watched job, told from one answer to the next. Pure.

A job that the controller does not list and accounting does not know is not over: its end is waited for, and if nobody
ever tells it, it stays UNKNOWN.
"""

from __future__ import annotations

import enum

from triage.core.jobs.attempt import Attempt, Succession, attempt_of, succession
from triage.core.jobs.state import Phase
from triage.core.jobs.witness import JobStatus
from triage.core.values import dataclass, replace

PATIENCE = 90.0
"""Seconds that accounting gets to tell the end of a job that the controller no longer knows."""


class Happening(enum.Enum):
    """What an answer brings."""

    FOUND = "found"
    """The first answer that knows the job."""
    CHANGED = "changed"
    """Its state is another one."""
    REQUEUED = "requeued"
    """It will be, or is, started again under the same id."""
    STARTED = "started"
    """An attempt runs, and which one is known."""
    REUSED = "reused"
    """The id belongs to another job now."""
    ENDED = "ended"
    LOST = "lost"
    """Nobody tells its end."""
    SILENT = "silent"
    """The scheduler does not answer (told once)."""
    BACK = "back"
    """It answers again."""


@dataclass(frozen=True, slots=True)
class Life:
    """A watched job so far."""

    status: JobStatus | None = None
    """The latest that says something."""
    attempt: Attempt | None = None
    """The latest that was seen running."""
    requeues: int = 0
    """Seen by this watcher."""
    changed: float = 0.0
    """When its state last changed; of a job that ran already when it was found, its start."""
    missing: float | None = None
    """Since when nobody knows it."""
    silent: float | None = None
    """Since when the scheduler does not answer."""
    over: Happening | None = None

    @property
    def phase(self) -> Phase:
        return self.status.phase if self.status is not None else Phase.UNKNOWN


def follow(life: Life, status: JobStatus, now: float) -> tuple[Life, tuple[Happening, ...]]:
    """The life after one more answer, and what is new."""
    if life.over is not None:
        return life, ()
    if not status.answered and status.phase is not Phase.ENDED:
        if life.silent is None:
            return replace(life, silent=now), (Happening.SILENT,)
        return life, ()
    news = [Happening.BACK] if life.silent is not None else []
    if life.silent is not None:
        life = replace(life, silent=None)
    if status.phase is Phase.UNKNOWN:
        return _unknown(life, now, news)
    if life.missing is not None:
        life = replace(life, missing=None)
    if status.phase is Phase.ENDED and status.released:
        happened = _changes(life, status)
        over = Happening.REUSED if Happening.REUSED in happened else Happening.ENDED
        ended = replace(life, status=status, changed=now, over=over)
        return ended, (*news, *(h for h in happened if h is Happening.FOUND), over)
    news += _changes(life, status)
    if Happening.REUSED in news:
        return replace(life, over=Happening.REUSED), tuple(news)
    attempt = attempt_of(status)
    if attempt is not None and (
        life.attempt is None or succession(life.attempt, attempt) is Succession.REQUEUED
    ):
        news.append(Happening.STARTED)
    else:
        attempt = life.attempt
    requeues = life.requeues + (Happening.REQUEUED in news)
    changed = now if news else life.changed
    if Happening.FOUND in news and status.started is not None:
        changed = min(now, status.started)
    return replace(life, status=status, attempt=attempt, requeues=requeues, changed=changed), tuple(news)


def _unknown(life: Life, now: float, news: list[Happening]) -> tuple[Life, tuple[Happening, ...]]:
    since = now if life.missing is None or life.missing > now else life.missing
    if now - since < PATIENCE:
        return replace(life, missing=since), tuple(news)
    return replace(life, missing=since, over=Happening.LOST), (*news, Happening.LOST)


def _changes(life: Life, status: JobStatus) -> list[Happening]:
    before = life.status
    if before is None:
        return [Happening.FOUND]
    attempt = attempt_of(status)
    if life.attempt is not None and attempt is not None:
        match succession(life.attempt, attempt):
            case Succession.REUSED:
                return [Happening.REUSED]
            case Succession.REQUEUED if before.phase is not Phase.WAITING:
                return [Happening.REQUEUED]
            case _:
                pass
    if status.phase is Phase.WAITING and before.phase in (Phase.ACTIVE, Phase.ENDING):
        return [Happening.REQUEUED]
    same = (status.reading, status.reason) == (before.reading, before.reason)
    return [] if same else [Happening.CHANGED]


def worth_details(life: Life, status: JobStatus) -> bool:
    """Whether scontrol should be asked about the job too: at first sight, and where squeue cannot tell what happened."""
    if life.status is None or (status.phase is Phase.UNKNOWN and status.answered and life.missing is None):
        return True
    if status.phase is Phase.ENDED and life.phase is not Phase.ENDED:
        return True
    if status.submitted is not None and life.status.submitted not in (None, status.submitted):
        return True
    return status.reading.is_running and (life.attempt is None or not life.status.reading.is_running)


def enriched(status: JobStatus, told: JobStatus | None) -> JobStatus:
    """squeue's and sacct's answer with what scontrol adds: the restarts of a running job, the end of one that only it
    still tells."""
    if told is None:
        return status
    if status.phase is Phase.UNKNOWN and told.phase is Phase.ENDED and status.answered:
        return told
    if (
        told.submitted is not None
        and status.submitted is not None
        and abs(told.submitted - status.submitted) >= 1
    ):
        return status
    return replace(
        status,
        restarts=status.restarts if status.restarts is not None else told.restarts,
        started=status.started or told.started,
        nodes=status.nodes or told.nodes,
        exit=status.exit or told.exit,
    )
