"""What is told of the things that happen to a job, where the telling is all that is done about them."""

from __future__ import annotations

from typing import Any, assert_never

from triage.core.jobs.life import Happening, Life
from triage.core.jobs.state import Phase
from triage.core.jobs.witness import JobStatus
from triage.schedulers.interface import Details
from triage.watch.words import end_words, estimate_words, state_words

Told = tuple[str, str, dict[str, Any]]
"""Kind, message and data of an event."""
_REUSED = "is another job now: the site has given its id out again; it is not watched any more"
_LOST = "is gone, and nobody tells how it ended: squeue does not list it and accounting has no end of it"
_BACK = "is known about again: the scheduler answers"


def told_of(
    happening: Happening, life: Life, details: Details | None, answer: JobStatus, now: float
) -> Told | None:
    """`None` where nothing is to be told, or where more than that is to be done."""
    match happening:
        case Happening.FOUND | Happening.CHANGED:
            return _state(happening, life, details, now)
        case Happening.REQUEUED | Happening.STARTED:
            return None
        case Happening.REUSED:
            return "reused", _REUSED, {}
        case Happening.ENDED:
            status = life.status
            return ("ended", end_words(status), {"state": status.state.value}) if status is not None else None
        case Happening.LOST:
            return "lost", _LOST, {}
        case Happening.SILENT:
            why = answer.because[0] if answer.because else "no answer"
            return (
                "scheduler",
                f"is not known about for now: {why}; it is asked again and nothing is concluded",
                {},
            )
        case Happening.BACK:
            return "scheduler", _BACK, {}
        case _:
            assert_never(happening)


def _state(happening: Happening, life: Life, details: Details | None, now: float) -> Told | None:
    status = life.status
    if status is None or life.over is not None:
        return None
    waits = status.phase is Phase.WAITING
    estimate = details.sighting.started if details is not None and waits else None
    kind = "found" if happening is Happening.FOUND else "pending" if waits else "state"
    data = {"state": status.state.value, "reason": status.reason, "nodes": status.nodes}
    return kind, state_words(status) + estimate_words(estimate, now), data
