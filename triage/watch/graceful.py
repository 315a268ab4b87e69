"""The end that a job's own script offers: its start marker of the attempt, and the signal on which it ends itself."""

from __future__ import annotations

from collections.abc import Callable

from triage.core.jobs.attempt import Attempt
from triage.core.jobs.identity import JobId
from triage.files.handshake import Marked, is_of, marked_attempts
from triage.schedulers.interface import Details
from triage.watch.options import Options


def marker_of(job: JobId, details: Details, attempt: Attempt, clock: Callable[[], float]) -> Marked | None:
    """Of an array that is meant as a whole, no single script speaks for the others."""
    if not details.output or (details.array is not None and job.task is None):
        return None
    raw = details.raw if details.raw is not None else details.job.number
    found = marked_attempts(details.output, raw)
    return next((one for one in found if is_of(one, attempt, clock)), None)


def signal_of(marked: Marked | None, options: Options) -> str | None:
    """As the script says, or as the user does; `None` where nobody offers it."""
    return marked.started.signal if marked is not None and marked.started.signal else options.signal
