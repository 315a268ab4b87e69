"""What became of a submission, for a terminal or a program (`triage.submit/1`, schemas/submit-1.schema.json)."""

from __future__ import annotations

import enum
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from triage.core.jobs.identity import JobId
from triage.core.jobs.witness import JobStatus
from triage.core.megatron.finding import Finding
from triage.core.values import dataclass
from triage.report.check import finding_objects
from triage.report.mask import one_line, safe


class Outcome(enum.Enum):
    """How a call of `triage submit` ended."""

    SUBMITTED = "submitted"
    FOUND = "found"
    """A call that was interrupted had submitted it already; nothing was submitted now."""
    NOT_FOUND = "not-found"
    """A call that was interrupted had not submitted it, and `--resume` submits nothing."""
    DRY_RUN = "dry-run"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Submission:
    """What there is to tell."""

    outcome: Outcome
    source: str
    """As it was given."""
    message: str = ""
    """Why, where it is not plain success; a sentence."""
    job: JobId | None = None
    others: tuple[JobId, ...] = ()
    status: JobStatus | None = None
    never_starts: str | None = None
    log: str = ""
    """The scheduler's own log, as far as its name is known."""
    record: Mapping[str, Any] | None = None
    record_path: str | None = None
    findings: Sequence[Finding] = ()


def render_text(told: Submission) -> str:
    """The first line says what happened; then what a person looks for next."""
    match told.outcome:
        case Outcome.SUBMITTED:
            first = f"submitted job {told.job}"
        case Outcome.FOUND:
            first = f"job {told.job} was submitted by the earlier call"
        case Outcome.DRY_RUN:
            first = f"{told.source} would be submitted; nothing was done"
        case Outcome.NOT_FOUND | Outcome.REFUSED:
            return ""
    rows = []
    record = told.record or {}
    if told.status is not None and told.status.known:
        reason = told.status.reason
        waits = reason is not None and reason != "None"
        rows.append(("state", told.status.state.value + (f", {reason}" if waits else "")))
    if told.log:
        rows.append(("log", told.log))
    if told.outcome is Outcome.DRY_RUN:
        rows.append(("command", shlex.join(record.get("argv", ()))))
    elif told.record_path:
        rows.append(("record", told.record_path))
    return "\n".join([_told(first), *(f"  {name:8}{_told(value)}" for name, value in rows)]) + "\n"


def render_json(told: Submission) -> str:
    """One object, keys in the contract's order; all but ASCII is escaped."""
    status = told.status if told.status is not None and told.status.known else None
    job = told.job
    data = {
        "schema": "triage.submit/1",
        "outcome": told.outcome.value,
        "source": told.source,
        "message": told.message or None,
        "job_id": None if job is None else job.local,
        "cluster": None if job is None else job.cluster,
        "other_jobs": [str(other) for other in told.others],
        "state": None if status is None else status.state.value,
        "reason": None if status is None or status.reason == "None" else status.reason,
        "never_starts": told.never_starts,
        "log": told.log or None,
        "record_path": told.record_path,
        "record": None if told.record is None else dict(told.record),
        "findings": [*finding_objects(told.findings)],
    }
    return json.dumps(data, indent=2) + "\n"


def _told(text: str) -> str:
    return one_line(safe(text))


SUBMIT_FORMATS: Mapping[str, Callable[[Submission], str]] = MappingProxyType(
    {"text": render_text, "json": render_json}
)
