"""How a watched job ended: one verdict, one outcome, one exit code, written down once."""

from __future__ import annotations

import contextlib
import os

from triage.core.cause.record import Record, read_record, with_record, without_logs
from triage.core.cause.verdict import Verdict
from triage.core.jobs.cancel import Cause
from triage.core.jobs.identity import JobId
from triage.core.jobs.life import Happening, Life
from triage.core.jobs.state import State
from triage.core.jobs.witness import JobStatus
from triage.core.values import dataclass
from triage.files.records import write_record
from triage.schedulers.interface import Details
from triage.store.actions import Action
from triage.watch.record import record_json, slurm_of
from triage.watch.words import dated, resubmit

COMPLETED, EARLY, FAILED, CANCELLED, UNKNOWN = (
    "completed",
    "completed-early",
    "failed",
    "cancelled",
    "unknown",
)
EXIT_CODES = {COMPLETED: 0, EARLY: 0, FAILED: 10, UNKNOWN: 11, CANCELLED: 12}
"""As the table of all commands has them (`triage/cli/exitcodes.py`)."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a watched job."""

    outcome: str
    verdict: Verdict
    status: JobStatus | None


def ending_of(
    job: JobId, life: Life, logs: Verdict | None, action: Action | None, signal: str | None = None
) -> Ending:
    """The verdict on the logs in the light of the scheduler's record and of what the watcher itself did."""
    status = life.status if life.over is Happening.ENDED else None
    record = record_of(job, status, action)
    early = action is not None and action.cause is Cause.ARTIFACT and record.early is not None
    if early and status is not None and not _ended_by_us(status, signal):
        record = Record(record.job, record.state, record.slurm, None, record.log_failed)
        early = False
    verdict = with_record(logs, record) if logs is not None else without_logs(record)
    return Ending(_outcome(status, verdict, early, action), verdict, status)


def ended_at(life: Life, latest: JobStatus | None, now: float) -> float:
    """When the job ended, at the latest: one whose id was given out again ended before that job's submit, however late
    that is seen."""
    if life.over is Happening.REUSED and latest is not None and latest.submitted is not None:
        return min(now, latest.submitted - 1)
    told = life.status.ended if life.over is Happening.ENDED and life.status is not None else None
    return now if told is None else min(now, told)


def record_of(job: JobId, status: JobStatus | None, action: Action | None) -> Record:
    return read_record(
        record_json(job, None, status, action), slurm_of(job, status) if status is not None else None
    )


def _ended_by_us(status: JobStatus, signal: str | None) -> bool:
    """COMPLETED or CANCELLED after our act, or FAILED with the number of the signal that we sent."""
    if status.state in (State.COMPLETED, State.CANCELLED):
        return True
    if status.state is not State.FAILED or status.exit is None:
        return False
    number = _NUMBERS.get(signal or "", 0)
    return number in (status.exit.signal, status.exit.code - 128, status.exit.code)


_NUMBERS = {"HUP": 1, "INT": 2, "USR1": 10, "USR2": 12, "TERM": 15}


def _outcome(status: JobStatus | None, verdict: Verdict, early: bool, action: Action | None) -> str:
    if early:
        return EARLY
    if status is not None and status.state is State.CANCELLED:
        return FAILED if action is not None and action.stage.is_over and verdict.failed else CANCELLED
    if verdict.category == "unknown" or (status is None and not verdict.failed):
        return UNKNOWN
    return FAILED if verdict.failed else COMPLETED


def leave_record(
    job: JobId, uid: int | None, details: Details | None, status: JobStatus | None, action: Action | None
) -> str | None:
    """Writes `triage-JOBID.json` beside the logs; why that did not work."""
    if details is None or not details.output:
        return None
    folder = os.path.dirname(details.output)
    if not os.path.isdir(folder):
        return None
    try:
        write_record(folder, job.local, record_json(job, uid, status, action))
    except OSError as error:
        return f"has its record in the store only: {error.strerror} beside the logs"
    return None


def leave_word(job: JobId, details: Details, why: str, now: float) -> None:
    """At the end of the log, where the user looks: why it ended, and how to submit it again."""
    lines = [
        f"triage: job {job} was ended early on {dated(now)}, because {why}",
        f"triage: to submit it again: {resubmit(details.folder, details.script)}",
    ]
    with contextlib.suppress(OSError):
        descriptor = os.open(details.output, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write("".join(f"{line}\n" for line in lines))
